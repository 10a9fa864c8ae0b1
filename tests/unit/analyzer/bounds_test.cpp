/// What the model keeps of a trace does not grow with the number of its events.
#include "analyzer/model/awaited.hpp"
#include "analyzer/model/cached_map.hpp"
#include "analyzer/model/waits.hpp"
#include "analyzer/model/work_patterns.hpp"
#include "analyzer/reader/event_stream.hpp"
#include "trace_builder.hpp"

#include <boost/test/unit_test.hpp>

#include <map>

BOOST_AUTO_TEST_SUITE(analyzer_bounds)

using namespace umadvisor;

namespace {

/// A stretch of one thread: an upload of so many bytes, and a download that waits for it.
void copy_there_and_back(model::WorkPatterns& patterns, std::uint64_t bytes, std::uint32_t thread = 1) {
    trace::Copy up;
    up.bytes = bytes;
    up.source_memory = trace::Memory::pinned;
    up.destination_memory = trace::Memory::device;
    up.destination_allocation = 1;
    patterns.add(up, thread);
    trace::Copy down;
    down.bytes = 8;
    down.source_memory = trace::Memory::device;
    down.destination_memory = trace::Memory::pinned;
    down.source_allocation = 1;
    patterns.add(down, thread);
}

bool has(const model::WorkPatterns& patterns, std::uint64_t bytes) {
    for (const model::WorkPattern& pattern : patterns.patterns())
        if (pattern.work.front().action->bytes == bytes)
            return true;
    return false;
}

} // namespace

BOOST_AUTO_TEST_CASE(sites_that_share_a_place_in_the_cache_are_apart) {
    model::CachedMap<std::map<model::CallSite, int>> map;
    for (int round = 0; round < 2; ++round)
        for (std::uint64_t stack = 0; stack < 10'000; ++stack)
            ++map[{stack, 1}];
    BOOST_TEST(map.map().size() == 10'000u);
    for (const auto& [site, count] : map.map())
        BOOST_TEST_REQUIRE(count == 2);
}

BOOST_AUTO_TEST_CASE(samples_that_wait_longest_are_forgotten) {
    constexpr std::uint64_t most = model::Awaited<int>::most;
    model::Awaited<int> awaited;
    for (std::uint64_t sample = 1; sample <= 2 * most; ++sample)
        awaited.add(sample, static_cast<int>(sample));
    BOOST_TEST(!awaited.take(1).has_value());
    BOOST_TEST(!awaited.take(most).has_value());
    BOOST_TEST(awaited.take(2 * most - most / 2 + 1).value() == static_cast<int>(2 * most - most / 2 + 1));
    BOOST_TEST(awaited.take(2 * most).value() == static_cast<int>(2 * most));
    BOOST_TEST(!awaited.take(2 * most).has_value());
}

BOOST_AUTO_TEST_CASE(copies_of_ever_other_sizes_are_no_patterns_for_ever) {
    model::WorkPatterns patterns;
    copy_there_and_back(patterns, 1 << 20);
    BOOST_TEST(has(patterns, 1 << 20));
    // Sizes whose stretches are not kept: the upload alone is an action.
    for (std::uint64_t bytes = 1; bytes < model::WorkPatterns::most_actions; ++bytes) {
        trace::Copy up;
        up.bytes = bytes;
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
    model::WorkPatterns patterns;
    for (std::uint32_t thread = 1; thread <= model::WorkPatterns::most_threads; ++thread)
        copy_there_and_back(patterns, 1 << 20, thread);
    copy_there_and_back(patterns, 2 << 20, 1'000'000);
    BOOST_TEST(!has(patterns, 2 << 20));
    copy_there_and_back(patterns, 2 << 20, 1'000'000);
    BOOST_TEST(has(patterns, 2 << 20));
}

/// A thread is opened twice, to see when it begins and to be read: what it lacks is counted once.
BOOST_AUTO_TEST_CASE(losses_count_once) {
    test::TraceBuilder builder;
    trace::Sync sync;
    for (std::uint32_t thread = 1; thread <= 3; ++thread) {
        builder.add_raw({1, 1}, thread); // a launch shape that is cut short
        builder.next_chunk(thread);
        sync.start = 10'000 * (4 - thread);
        builder.add(sync, thread);
    }
    const std::string path = test::temporary_file("losses.umtrace", builder.bytes());
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
