/// Long waits that keep a core busy: a note of the text report, and figures of JSON.
#include "command_run.hpp"
#include "scenario.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_spinning_waits)

using namespace umadvisor;
using namespace umadvisor::test;

/// Waits of 50 ms, for two seconds.
struct Waits : Scenario {
    static constexpr std::uint64_t flags_blocking = 4, event_blocks = 1, rounds = 40;
    trace::SyncKind kind = trace::SyncKind::context;
    std::uint64_t wait_ns = 50 * ms;

    void retain(std::uint64_t flags, bool known = true) {
        trace::Context record;
        record.action = trace::ContextAction::retain_primary;
        record.context = 0x7000;
        record.flags = flags;
        record.flags_known = known;
        call(record, "cuDevicePrimaryCtxRetain");
    }
    void set_flags(std::uint64_t flags) {
        trace::Context record;
        record.action = trace::ContextAction::set_flags;
        record.flags = flags;
        record.flags_known = 1;
        call(record, "cuDevicePrimaryCtxSetFlags_v2");
    }
    void make_event(std::uint64_t flags) {
        trace::Event record;
        record.event = 0x600;
        record.flags = flags;
        call(record, "cuEventCreate");
    }
    void wait(std::uint64_t count = rounds) {
        for (std::uint64_t i = 0; i < count; ++i)
            synchronize(
                {.kind = kind, .object = kind == trace::SyncKind::event ? 0x600u : 0u, .duration = wait_ns});
    }
    bool is_noted() { return run({"report", path()}).out.find("keep a core busy") != std::string::npos; }
    nlohmann::json counted() {
        return nlohmann::json::parse(run({"report", "--json", path()}).out)["spinning_waits"];
    }
};

BOOST_FIXTURE_TEST_CASE(they_spin_by_default, Waits) {
    retain(0);
    wait();
    BOOST_TEST(is_noted());
    BOOST_TEST(counted()["count"] == rounds);
    BOOST_TEST(counted()["time_ns"] == rounds * wait_ns);
}

BOOST_FIXTURE_TEST_CASE(the_context_lets_them_sleep, Waits) {
    retain(flags_blocking);
    wait();
    BOOST_TEST(!is_noted());
    BOOST_TEST(counted().is_null());
}

BOOST_FIXTURE_TEST_CASE(flags_are_set_later, Waits) {
    retain(0);
    set_flags(flags_blocking);
    wait();
    BOOST_TEST(!is_noted());
}

/// As in traces of before.
BOOST_FIXTURE_TEST_CASE(flags_are_not_known, Waits) {
    retain(0, false);
    wait();
    BOOST_TEST(!is_noted());
    BOOST_TEST(counted().is_null());
}

BOOST_FIXTURE_TEST_CASE(an_event_that_blocks, Waits) {
    kind = trace::SyncKind::event;
    retain(0);
    make_event(event_blocks);
    wait();
    BOOST_TEST(!is_noted());
    BOOST_TEST(counted()["count"] == 0);
}

BOOST_FIXTURE_TEST_CASE(an_event_that_does_not, Waits) {
    kind = trace::SyncKind::event;
    retain(0);
    make_event(0);
    wait();
    BOOST_TEST(is_noted());
}

BOOST_FIXTURE_TEST_CASE(short_waits, Waits) {
    wait_ns = 9 * ms;
    retain(0);
    wait(200);
    BOOST_TEST(!is_noted());
}

BOOST_FIXTURE_TEST_CASE(less_than_a_second, Waits) {
    retain(0);
    wait(19);
    BOOST_TEST(!is_noted());
    BOOST_TEST(counted()["count"] == 19);
}

BOOST_FIXTURE_TEST_CASE(a_small_share_of_the_run, Waits) {
    retain(0);
    wait();
    now += 10'000 * ms;
    wait(1);
    BOOST_TEST(!is_noted());
}

BOOST_AUTO_TEST_SUITE_END()
