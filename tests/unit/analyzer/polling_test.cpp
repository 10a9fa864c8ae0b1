/// Findings on streams that are asked again and again whether they are done.
#include "busy_device.hpp"
#include "rendered.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_polling, *umadvisor::test::on_rules("UMA-504"))

using namespace umadvisor;
using namespace umadvisor::test;
using trace::SyncKind;

/// `in_vain` queries, each followed by host work, and one that was not.
static Found ask(int in_vain, std::uint64_t between, int ready = 1) {
    Scenario s;
    const std::uint64_t line = s.stack();
    s.launch(s.function("step"), {s.allocate(4096, trace::Memory::device)}, 0, s.stack());
    const auto query = [&](std::uint64_t status) {
        s.synchronize({.kind = SyncKind::stream_query, .stack = line, .duration = 1000, .status = status});
    };
    for (int i = 0; i < in_vain; ++i) {
        query(600);
        s.now += between;
    }
    for (int i = 0; i < ready; ++i)
        query(0);
    return findings_of(s);
}

BOOST_AUTO_TEST_CASE(between_pieces_of_work) {
    const Finding finding = lone(ask(1000, 3000), "UMA-504");
    BOOST_TEST(finding.saving_ns == 1e6, boost::test_tools::tolerance(0.01));
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(a_program_without_the_runtime_is_advised_in_the_driver_s_names) {
    Scenario s;
    s.builder = TraceBuilder();
    const auto line = s.stack();
    s.launch(s.function("step"), {});
    for (int i = 0; i < 1001; ++i) {
        s.synchronize(
            {.kind = SyncKind::stream_query, .stack = line, .duration = 1000, .status = i < 1000 ? 600u : 0u});
        s.now += 3000;
    }
    const Finding finding = lone(findings_of(s), "UMA-504");
    BOOST_TEST(contains(finding.advice, "cuEventRecord(event, stream)"));
    BOOST_TEST(lacks(finding.advice, "cuda"));
}

BOOST_AUTO_TEST_CASE(with_nothing_else_to_do_nothing_is_done_sooner) {
    BOOST_TEST(ask(2000, 0).empty());
    lone(ask(2000, 500), "UMA-504");
}

BOOST_AUTO_TEST_CASE(now_and_then) {
    BOOST_TEST(ask(999, 3000).empty());
    BOOST_TEST(ask(1000, 3000, 101).empty());
}

BOOST_AUTO_TEST_SUITE_END()
