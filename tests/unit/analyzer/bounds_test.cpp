/// What the model keeps of a trace does not grow with the number of its events.
#include "analyzer/facts/awaited.hpp"
#include "analyzer/facts/cached_map.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/event_stream.hpp"
#include "analyzer/rules/device_contents.hpp"
#include "analyzer/rules/transfers/work_patterns.hpp"
#include "analyzer/tables/lifetimes.hpp"
#include "trace_builder.hpp"

#include <boost/test/unit_test.hpp>

#include <map>

BOOST_AUTO_TEST_SUITE(analyzer_bounds)

using namespace umadvisor;
using namespace umadvisor::test;

namespace {

/// A stretch of one thread: an upload of so many bytes, and a download that waits for it.
void copy_there_and_back(rules::WorkPatterns& patterns, std::uint64_t bytes, std::uint32_t thread = 1) {
    trace::Copy up{.bytes = bytes,
                   .source_memory = trace::Memory::pinned,
                   .destination_memory = trace::Memory::device,
                   .destination_allocation = trace::AllocationId{1}};
    patterns.add(up, thread);
    trace::Copy down{.bytes = 8,
                     .source_memory = trace::Memory::device,
                     .destination_memory = trace::Memory::pinned,
                     .source_allocation = trace::AllocationId{1}};
    patterns.add(down, thread);
}

trace::Alloc allocated(std::uint64_t allocation, std::uint64_t bytes, std::uint64_t start) {
    trace::Alloc record{.allocation = trace::AllocationId{allocation},
                        .address = allocation << 32,
                        .bytes = bytes,
                        .memory = trace::Memory::device};
    record.start = start;
    return record;
}

trace::Free freed(std::uint64_t allocation, std::uint64_t start) {
    trace::Free record{.allocation = trace::AllocationId{allocation}};
    record.start = start;
    return record;
}

/// Whether memory is told to be reusable that was done with before another of its size was made, after so many
/// allocations of other sizes.
bool reusable_after(std::uint64_t others) {
    const reader::Dictionary dictionary;
    tables::Lifetimes lifetimes(1.0, dictionary);
    lifetimes.add(allocated(1, 1 << 30, 1'000));
    trace::Set set{.address = std::uint64_t{1} << 32, .bytes = 1 << 30, .allocation = trace::AllocationId{1}};
    set.start = 2'000;
    lifetimes.add(set);
    trace::Sync wait;
    wait.start = 3'000;
    lifetimes.add(wait);
    lifetimes.add(allocated(2, 1 << 30, 10'000));
    lifetimes.add(allocated(3, 1 << 20, 11'000)); // the peak
    lifetimes.add(freed(3, 12'000));
    for (std::uint64_t i = 1; i <= others; ++i) {
        lifetimes.add(allocated(3 + i, i, 20'000 + i));
        lifetimes.add(freed(3 + i, 20'000 + i));
    }
    lifetimes.add(freed(1, 1'000'000'000));
    for (const auto& [site, totals] : lifetimes.sites())
        if (totals.find(tables::Waste::reusable) != nullptr)
            return true;
    return false;
}

/// Whether an upload that is freed unused is told to be, after as many others, that nobody has used either.
bool unused_after(std::uint64_t others) {
    const reader::Dictionary dictionary;
    rules::DeviceContents contents(1, dictionary);
    trace::Copy up{
        .bytes = 16, .source_memory = trace::Memory::pinned, .destination_memory = trace::Memory::device};
    for (std::uint64_t i = 0; i <= others; ++i) {
        const std::uint64_t to = 1 + i / 60;
        if (i % 60 == 0)
            contents.add(allocated(to, 4096, 0));
        up.destination_allocation = trace::AllocationId{to};
        up.destination = (to << 32) + i % 60 * 64;
        contents.add(up, 1);
    }
    contents.add(freed(1, 0));
    return !contents.sites().empty();
}

bool has(const rules::WorkPatterns& patterns, std::uint64_t bytes) {
    for (const rules::WorkPattern& pattern : patterns.patterns())
        if (pattern.work.front().action->bytes == bytes)
            return true;
    return false;
}

} // namespace

BOOST_AUTO_TEST_CASE(sites_that_share_a_place_in_the_cache_are_apart) {
    facts::CachedMap<std::map<ids::CallSite, int>> map;
    for (int round = 0; round < 2; ++round)
        for (std::uint64_t stack = 0; stack < 10'000; ++stack)
            ++map[{ids::StackId(stack), 1}];
    BOOST_TEST(map.map().size() == 10'000u);
    for (const auto& [site, count] : map.map())
        BOOST_TEST_REQUIRE(count == 2);
}

BOOST_AUTO_TEST_CASE(samples_that_wait_longest_are_forgotten) {
    constexpr std::uint64_t most = facts::Awaited<int>::most;
    facts::Awaited<int> awaited;
    for (std::uint64_t sample = 1; sample <= 2 * most; ++sample)
        awaited.add(sample, static_cast<int>(sample));
    BOOST_TEST(!awaited.take(1).has_value());
    BOOST_TEST(!awaited.take(most).has_value());
    BOOST_TEST(awaited.take(2 * most - most / 2 + 1).value() == static_cast<int>(2 * most - most / 2 + 1));
    BOOST_TEST(awaited.take(2 * most).value() == static_cast<int>(2 * most));
    BOOST_TEST(!awaited.take(2 * most).has_value());
}

BOOST_AUTO_TEST_CASE(uses_of_samples_that_wait_longest_are_forgotten) {
    constexpr std::uint64_t most = facts::Samples::most;
    facts::Samples samples;
    std::uint64_t sum = 0;
    const auto add = [&sum](std::uint64_t ns) { sum += ns; };
    for (std::uint64_t i = 0; i < most; ++i) // of one, as a damaged trace may have it
        samples.await(1, add);
    for (std::uint64_t sample = 2; sample < 2 + most / 2; ++sample)
        samples.await(sample, add);
    samples.measured(1, 1);
    BOOST_TEST(sum == most / 2);
    samples.measured(2, 10);
    samples.measured(2, 10);
    samples.measured(0, 100);
    BOOST_TEST(sum == most / 2 + 10);
}

BOOST_AUTO_TEST_CASE(copies_of_ever_other_sizes_are_no_patterns_for_ever) {
    facts::Samples samples;
    rules::WorkPatterns patterns(samples);
    copy_there_and_back(patterns, 1 << 20);
    BOOST_TEST(has(patterns, 1 << 20));
    // Sizes whose stretches are not kept: each upload whose time will be told is an action.
    for (std::uint64_t bytes = 1; bytes < rules::WorkPatterns::most_actions; ++bytes) {
        trace::Copy up;
        up.bytes = up.sample = bytes;
        up.source_memory = trace::Memory::pinned;
        up.destination_memory = trace::Memory::device;
        patterns.add(up, 1);
    }
    patterns.add(trace::Sync{}, 1);
    copy_there_and_back(patterns, 2 << 20);
    BOOST_TEST(!has(patterns, 2 << 20));
}

/// A stretch of a thread that was forgotten may begin in the middle.
BOOST_AUTO_TEST_CASE(patterns_of_threads_without_number) {
    facts::Samples samples;
    rules::WorkPatterns patterns(samples);
    for (std::uint32_t thread = 1; thread <= rules::WorkPatterns::most_threads; ++thread)
        copy_there_and_back(patterns, 1 << 20, thread);
    copy_there_and_back(patterns, 2 << 20, 1'000'000);
    BOOST_TEST(!has(patterns, 2 << 20));
    copy_there_and_back(patterns, 2 << 20, 1'000'000);
    BOOST_TEST(has(patterns, 2 << 20));
}

BOOST_AUTO_TEST_CASE(sizes_without_number) {
    BOOST_TEST(reusable_after(60'000));
    BOOST_TEST(!reusable_after(140'000));
}

BOOST_AUTO_TEST_CASE(uploads_without_number) {
    BOOST_TEST(unused_after(100'000));
    BOOST_TEST(!unused_after(140'000));
}

/// A thread is opened twice, to see when it begins and to be read: what it lacks is counted once.
BOOST_FIXTURE_TEST_CASE(losses_count_once, TraceBuilder) {
    trace::Sync sync;
    for (std::uint32_t thread = 1; thread <= 3; ++thread) {
        add_raw({1, 1}, thread); // a launch shape that is cut short
        next_chunk(thread);
        sync.start = 10'000 * (4 - thread);
        add(sync, thread);
    }
    const std::string path = temporary_file("losses.umtrace", bytes());
    reader::TraceFile file(path);
    reader::EventStream events(file);
    for (std::uint32_t thread = 3; thread >= 1; --thread) {
        const reader::ThreadCursor* const event = events.next();
        BOOST_TEST_REQUIRE(event != nullptr);
        BOOST_TEST(event->thread() == thread);
    }
    BOOST_TEST(events.next() == nullptr);
    BOOST_TEST(file.completeness().chunks_damaged == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
