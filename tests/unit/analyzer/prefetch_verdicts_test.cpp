/// Verdicts on the program's own prefetches.
#include "managed_life.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_prefetch_verdicts)

using namespace umadvisor;
using namespace umadvisor::test;

namespace {

constexpr std::uint64_t all = 4 << 20;

}

BOOST_AUTO_TEST_CASE(prefetch_ping_pong) {
    Life nobody, kernels, both;
    nobody.look(0).device_round();
    kernels.look(0).device_round();
    both.look(0).device_round();
    for (int i = 0; i < 3; ++i) {
        nobody.to_host().wait().to_device().wait();
        kernels.to_host().to_device().look(0).device_round(); // the host never waited for it
        both.to_host().wait().to_device().look(0).device_round();
    }
    BOOST_TEST(nobody.names() == "prefetch_ping_pong unused_prefetch");
    BOOST_TEST(kernels.names() == "prefetch_ping_pong");
    BOOST_TEST(both.names() == "");
}

BOOST_AUTO_TEST_CASE(what_the_host_waited_for_is_used_where_its_time_does_not_show) {
    // The host writes between the two prefetches, on a clock that stands still meanwhile.
    const auto rounds = [](bool shows, bool waits) {
        Life life;
        life.terms.host_time_known = shows;
        life.look(0).device_round();
        for (int i = 0; i < 3; ++i) {
            life.to_host();
            if (waits) {
                life.pace = 1;
                life.wait().to_device();
                life.pace = Life::step_ns;
            } else {
                life.to_device();
            }
            life.look(0).device_round();
        }
        return life.names();
    };
    BOOST_TEST(rounds(true, true) == "prefetch_ping_pong"); // no host reads half of it in a nanosecond
    BOOST_TEST(rounds(false, true) == "");
    BOOST_TEST(rounds(false, false) == "prefetch_ping_pong");
}

BOOST_AUTO_TEST_CASE(late_prefetch) {
    Life after, before, apart;
    after.fill().launch().to_device().wait().totals(0, 64).look_after(0);
    BOOST_TEST(after.names() == "late_prefetch");
    BOOST_TEST(after.verdicts()[0].prefetch_stack == ids::StackId(80));
    before.fill().to_device().launch().wait().totals(0, 0).look_after(0);
    BOOST_TEST(before.names() == "");
    // The prefetch brings the next part, and no kernel has had to fault.
    apart.fill()
        .to_device(0, all / 2)
        .launch()
        .to_device(all / 2, all / 2)
        .launch()
        .wait()
        .totals(0, 0)
        .look_after(0);
    BOOST_TEST(apart.names() == "host_populate");
}

BOOST_AUTO_TEST_CASE(redundant_prefetch) {
    Life again, once;
    again.look(0).device_round().to_device().device_round().to_device().device_round();
    BOOST_TEST(again.names() == "redundant_prefetch");
    BOOST_TEST(again.verdicts()[0].times == 2u);
    once.look(0).device_round().to_device().device_round();
    BOOST_TEST(once.names() == "");
}

BOOST_AUTO_TEST_CASE(unused_prefetch) {
    Life unused, used, unknown;
    unused.fill().to_device().wait().to_host().wait();
    BOOST_TEST(unused.names() == "unused_prefetch");
    used.fill().to_device().look(0).device_round().to_host().wait();
    BOOST_TEST(used.names() == "");
    // A kernel whose parameters say nothing may have used it.
    unknown.terms.first_anywhere = 0;
    unknown.terms.last_anywhere = UINT64_MAX;
    unknown.fill().to_device().wait().to_host().wait();
    BOOST_TEST(unknown.names() == "");
}

BOOST_FIXTURE_TEST_CASE(prefetches_of_umadvisor_are_not_the_programs, Life) {
    marks.by_umadvisor = true;
    fill().to_device().wait().to_host().wait();
    BOOST_TEST(names() == "");
}

BOOST_AUTO_TEST_CASE(what_nobody_looked_at_may_be_late) {
    Life judged, unseen, on_time, nothing_faulted, before, by_umadvisor;
    judged.fill().launch().to_device().wait().totals(0, 64).look_after(0);
    BOOST_TEST(judged.late().unseen + judged.late().on_time == 0u);
    unseen.fill().launch().to_device().wait().totals(0, 64);
    BOOST_TEST(unseen.names() == "");
    BOOST_TEST(unseen.late().unseen == 1u);
    BOOST_TEST(unseen.late().unseen_bytes == all);
    BOOST_TEST(unseen.late().on_time == 0u);
    on_time.fill().launch().to_device().wait().totals(0, 64).look_after(all - all / 8);
    BOOST_TEST(on_time.late().unseen == 0u);
    BOOST_TEST(on_time.late().on_time == 1u);
    nothing_faulted.fill().launch().to_device().wait().totals(0, 0);
    BOOST_TEST(nothing_faulted.late().on_time == 1u);
    before.fill().to_device().launch().wait().totals(0, 64);
    BOOST_TEST(before.late().unseen + before.late().on_time == 0u);
    by_umadvisor.marks.by_umadvisor = true;
    by_umadvisor.fill().launch().to_device().wait().totals(0, 64);
    BOOST_TEST(by_umadvisor.late().unseen == 0u);
}

/// Few faults are told where the driver brings what lies around each, and no totals at the next prefetch.
BOOST_AUTO_TEST_CASE(what_came_back_is_known_from_totals_told_after_the_next_prefetch) {
    const auto taken_back = [](bool write, std::uint64_t came) {
        Life life;
        life.fill().to_device().wait().totals(0).host_fault(0, write, 2).to_device().wait().totals(came);
        life.host_fault();
        return life.verdicts().front();
    };
    BOOST_TEST(taken_back(true, all).taken_back == all + Life::granule);
    BOOST_TEST(taken_back(true, all).written == all);
    BOOST_TEST(taken_back(false, all).written == 0u);
    BOOST_TEST(taken_back(false, all / 2).taken_back == all / 2 + Life::granule);
}

BOOST_FIXTURE_TEST_CASE(what_a_prefetch_took_back_is_told_apart, Life) {
    fill().to_device().wait().to_host().wait();
    BOOST_TEST(verdicts().front().prefetched_back == all);
    BOOST_TEST(verdicts().front().taken_back == 0u);
    Life freed;
    freed.fill().to_device().wait().host_fault().to_device();
    BOOST_TEST(freed.verdicts().front().prefetched_back == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
