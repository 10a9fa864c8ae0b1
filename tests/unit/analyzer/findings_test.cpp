#include "found.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_findings)

using namespace umadvisor;
using findings::Confidence;
using findings::Finding;
using test::evidence;
using test::findings_of;
using test::mib;
using test::ms;
using test::Scenario;
using trace::Memory;

namespace {

std::vector<std::string> rules_of(Scenario& scenario) {
    return test::rules_of(findings_of(scenario));
}

using Rules = std::vector<std::string>;

} // namespace

BOOST_AUTO_TEST_SUITE(pageable_copy)

BOOST_AUTO_TEST_CASE(synchronous_copies_from_the_heap) {
    Scenario s;
    trace::HostRange heap;
    heap.id = 1;
    heap.kind = trace::HostRangeKind::heap;
    s.builder.add(heap);
    const auto stack = s.stack();
    for (int i = 0; i < 40; ++i)
        s.copy(256 * mib, 26 * ms, {.stack = stack, .host_range = 1});
    const auto found = findings_of(s);
    BOOST_REQUIRE(found.size() == 1u);
    const Finding& finding = found.front();
    BOOST_TEST(finding.rule->id == "UMA-101");
    BOOST_TEST(finding.stack == stack);
    BOOST_TEST(evidence(finding, "copies") == 40);
    BOOST_TEST(evidence(finding, "bytes") == 40.0 * 256 * mib);
    BOOST_TEST(finding.summary.find("cudaMemcpy 256 MiB x 40 from the heap, 10.3 GB/s") != std::string::npos,
               finding.summary);
    // 40 x (26 ms - 256 MiB at 55.5 GB/s)
    BOOST_TEST(finding.saving_ns == 40 * (26e6 - 256 * mib / 55.5), boost::test_tools::tolerance(0.001));
    BOOST_TEST((finding.confidence == Confidence::high));
}

BOOST_AUTO_TEST_CASE(the_link_as_measured_in_this_trace) {
    Scenario s;
    s.copy(256 * mib, 10 * ms, {.source = Memory::pinned});
    s.copy(256 * mib, 26 * ms, {});
    const auto found = findings_of(s);
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found.front().saving_ns == 16e6, boost::test_tools::tolerance(0.001));
    BOOST_TEST(found.front().basis.find("in this trace") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(link_measured_by_device_times_of_asynchronous_copies) {
    Scenario s;
    s.copy(256 * mib, 4000,
           {.symbol = "cuMemcpyHtoDAsync_v2", .source = Memory::pinned, .sample = 7, .asynchronous = true});
    s.device_time(7, 10 * ms);
    s.copy(256 * mib, 26 * ms, {});
    const auto found = findings_of(s);
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found.front().saving_ns == 16e6, boost::test_tools::tolerance(0.001));
}

BOOST_AUTO_TEST_CASE(asynchronous_in_name_only) {
    Scenario s;
    for (int i = 0; i < 4; ++i)
        s.copy(256 * mib, 25 * ms, {.symbol = "cuMemcpyHtoDAsync_v2", .asynchronous = true});
    const auto found = findings_of(s);
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found.front().rule->id == "UMA-102");
    BOOST_TEST(found.front().title == "asynchronous in name only: pageable copies, host to device");
    BOOST_TEST(found.front().summary.find("cudaMemcpyAsync") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(directions_and_lines_are_told_apart) {
    Scenario s;
    const auto upload = s.stack(), download = s.stack();
    for (int i = 0; i < 4; ++i) {
        s.copy(64 * mib, 6 * ms, {.stack = upload});
        s.copy(64 * mib, 4 * ms,
               {.symbol = "cuMemcpyDtoH_v2",
                .source = Memory::device,
                .destination = Memory::pageable,
                .stack = download});
    }
    const auto found = findings_of(s);
    BOOST_REQUIRE(found.size() == 2u);
    BOOST_TEST(found[0].stack == upload); // saves more
    BOOST_TEST(found[1].stack == download);
    BOOST_TEST(found[1].title == "pageable copies, device to host");
}

BOOST_AUTO_TEST_CASE(one_line_reached_by_many_ways_is_one_finding) {
    Scenario s;
    for (std::uint64_t stack = 1; stack <= 20; ++stack)
        s.copy(64 * mib, 6 * ms, {.stack = stack});
    reader::Trace trace(s.path());
    const model::Profile profile(trace);
    const auto found = findings::find_all(profile, [](std::uint64_t stack) { return stack % 2; });
    BOOST_REQUIRE(found.size() == 2u);
    BOOST_TEST(evidence(found.front(), "copies") == 10);
}

BOOST_AUTO_TEST_CASE(pinned_and_registered_copies_are_right) {
    Scenario s;
    for (int i = 0; i < 10; ++i) {
        s.copy(256 * mib, 5 * ms, {.source = Memory::pinned});
        s.copy(256 * mib, 5 * ms, {.source = Memory::registered});
    }
    BOOST_TEST(rules_of(s) == Rules{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(rows_and_arrays_are_copies_too) {
    Scenario s;
    s.copy(256 * mib, 26 * ms, {.symbol = "cuMemcpy2D_v2", .stack = s.stack(), .height = 1024});
    s.copy(256 * mib, 26 * ms,
           {.symbol = "cuMemcpy3D_v2", .destination = Memory::array, .stack = s.stack(), .height = 1024});
    BOOST_TEST(rules_of(s) == (Rules{"UMA-101", "UMA-101"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_small_copy_is_nothing) {
    Scenario s;
    s.copy(4, 5000, {});
    s.copy(mib, 70'000, {});
    BOOST_TEST(rules_of(s) == Rules{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(copies_by_umadvisor_and_failed_ones_do_not_count) {
    Scenario s;
    for (int i = 0; i < 10; ++i) {
        s.copy(256 * mib, 26 * ms, {.origin = trace::Origin::umadvisor});
        s.copy(256 * mib, 26 * ms, {.status = 1});
    }
    BOOST_TEST(rules_of(s) == Rules{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(small_copies)

BOOST_AUTO_TEST_CASE(many_from_one_line) {
    Scenario s;
    const auto stack = s.stack();
    for (int i = 0; i < 1000; ++i)
        s.copy(1024, 5000, {.source = Memory::pinned, .stack = stack});
    const auto found = findings_of(s);
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found.front().rule->id == "UMA-103");
    BOOST_TEST(found.front().stack == stack);
    BOOST_TEST(evidence(found.front(), "copies") == 1000);
    BOOST_TEST(found.front().saving_ns == 1000 * 5000.0 - 5000 - 1000 * 1024 / 55.5,
               boost::test_tools::tolerance(0.001));
    BOOST_TEST(found.front().advice.find("cudaMemcpyBatchAsync") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(rows_are_copies_like_others) {
    Scenario s;
    const auto stack = s.stack();
    for (int i = 0; i < 1000; ++i)
        s.copy(1024, 5000,
               {.symbol = "cuMemcpy2DAsync_v2", .source = Memory::pinned, .stack = stack, .height = 4});
    const auto found = findings_of(s);
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found.front().rule->id == "UMA-103");
    BOOST_TEST(found.front().summary.find("cudaMemcpy2DAsync") != std::string::npos, found.front().summary);
}

/// `calls` calls of `copies` copies each, every second one from pageable memory, the time on the first.
void add_batches(Scenario& s, int calls, int copies) {
    const auto stack = s.stack();
    for (int call = 0; call < calls; ++call)
        for (int copy = 0; copy < copies; ++copy)
            s.copy(1024, copy == 0 ? 5000 : 0,
                   {.symbol = "cuMemcpyBatchAsync_v2",
                    .source = copy % 2 == 0 ? Memory::pinned : Memory::pageable,
                    .stack = stack,
                    .asynchronous = true,
                    .batch = static_cast<std::uint64_t>(copy) + 1});
}

BOOST_AUTO_TEST_CASE(what_is_batched_is_not_to_be_batched) {
    Scenario s;
    add_batches(s, 1, 500);
    add_batches(s, 200, 2);
    BOOST_TEST(rules_of(s) == Rules{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(batches_of_one_are_calls_like_others) {
    Scenario s;
    add_batches(s, 1000, 1);
    BOOST_TEST(rules_of(s) == Rules{"UMA-103"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(fewer_than_a_hundred_are_left_alone) {
    Scenario s;
    for (int i = 0; i < 99; ++i)
        s.copy(1024, 50'000, {.source = Memory::pinned});
    BOOST_TEST(rules_of(s) == Rules{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(many_large_ones_are_not_small) {
    Scenario s;
    for (int i = 0; i < 200; ++i)
        s.copy(mib, 26'000, {.source = Memory::pinned});
    BOOST_TEST(rules_of(s) == Rules{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_hundred_lines_with_one_copy_each_are_not_one_line) {
    Scenario s;
    for (int i = 0; i < 150; ++i)
        s.copy(1024, 5000, {.source = Memory::pinned, .stack = s.stack()});
    BOOST_TEST(rules_of(s) == Rules{}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(what_saves_most_comes_first) {
    Scenario s;
    for (int i = 0; i < 1000; ++i)
        s.copy(1024, 5000, {.source = Memory::pinned, .stack = 1});
    s.copy(1024 * mib, 100 * ms, {.stack = 2});
    const Rules expected{"UMA-101", "UMA-103"};
    BOOST_TEST(rules_of(s) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
