/// Patterns of work, without the findings that are made from them.
#include "analyzer/rules/transfers/work_patterns.hpp"

#include <boost/test/unit_test.hpp>

using namespace umadvisor;

namespace {

/// A stretch of one thread, with a download that waits for it.
void download(rules::WorkPatterns& patterns, std::uint64_t duration, std::uint64_t sample = 0) {
    trace::Copy down{.bytes = 8,
                     .source_memory = trace::Memory::device,
                     .destination_memory = trace::Memory::pinned,
                     .source_allocation = trace::AllocationId{1},
                     .sample = sample};
    down.duration = duration;
    patterns.add(down, 1);
}

} // namespace

BOOST_AUTO_TEST_SUITE(analyzer_work_patterns)

/// Beside work that is not known a copy may take longer.
BOOST_AUTO_TEST_CASE(stretches_that_are_not_followed_tell_no_times) {
    facts::Samples samples;
    rules::WorkPatterns patterns(samples);
    download(patterns, 100);
    download(patterns, 300);
    patterns.add(trace::HostFunction{}, 1);
    download(patterns, 7'000);
    const std::vector<rules::WorkPattern> found = patterns.patterns();
    BOOST_TEST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found[0].times == 2u);
    BOOST_TEST(found[0].work[0].time->count == 2u);
    BOOST_TEST(found[0].work[0].time->ticks == 400u);
}

BOOST_AUTO_TEST_CASE(sampled_copies_tell_their_device_times_wherever_they_are) {
    facts::Samples samples;
    rules::WorkPatterns patterns(samples);
    patterns.add(trace::HostFunction{}, 1);
    download(patterns, 7'000, 3);
    download(patterns, 100);
    samples.measured(3, 50);
    const std::vector<rules::WorkPattern> found = patterns.patterns();
    BOOST_TEST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found[0].work[0].time->measured == 1u);
    BOOST_TEST(found[0].work[0].time->measured_ns == 50u);
}

BOOST_AUTO_TEST_SUITE_END()
