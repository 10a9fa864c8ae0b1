#include "analyzer/advice/report.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reader/event_stream.hpp"
#include "analyzer/reader/trace.hpp"
#include "analyzer/reports/dump/dump.hpp"
#include "analyzer/reports/text/text.hpp"
#include "scenario.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>
#include <variant>

BOOST_AUTO_TEST_SUITE(analyzer_reader)

using namespace umadvisor;
using namespace umadvisor::test;

namespace {

bool mentions(const reader::Error& error, const std::string& text) {
    BOOST_TEST_INFO(error.what());
    return std::string(error.what()).find(text) != std::string::npos;
}

/// Everything a command would do with a file. True: a report; false: one clear error.
bool read_all(const std::string& path) {
    try {
        advice::Report report(path);
        std::ostringstream out;
        reports::write_text(report, out);
        reports::write_json_dump(report.trace, out);
        return true;
    } catch (const reader::Error&) {
        return false;
    }
}

std::uint64_t events_in(reader::Trace& trace) {
    reader::EventStream events(trace.file);
    std::uint64_t count = 0;
    while (events.next() != nullptr)
        ++count;
    return count;
}

Scenario small_scenario() {
    Scenario scenario;
    scenario.builder.make_small();
    const auto function = scenario.function("_Z6kernelPf");
    const auto managed = scenario.allocate(8 * mib, trace::Memory::managed, scenario.stack());
    scenario.residency(managed, 8 * mib, 8 * mib, trace::SampleMoment::before_launch);
    scenario.launch(function, {managed}, 1);
    scenario.synchronize();
    scenario.device_time(1, 5 * ms);
    scenario.residency(managed, 8 * mib, 0, trace::SampleMoment::after_synchronize);
    for (int i = 0; i < 5; ++i)
        scenario.copy(64 * mib, 6 * ms, {});
    return scenario;
}

/// Of zeros behind the file header, padding for the most part, one in 61 stands for the others.
bool stands_for_itself(const std::vector<std::uint8_t>& bytes, std::size_t at) {
    return bytes[at] != 0 || at <= sizeof(trace::FileHeader) || at % 61 == 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(whole_trace_is_complete) {
    Scenario scenario = small_scenario();
    reader::Trace trace(scenario.path());
    BOOST_TEST(events_in(trace) == 12u);
    BOOST_TEST(trace.file.completeness().whole());
    BOOST_TEST(trace.file.completeness().closed);
    BOOST_TEST(trace.dictionary.processes.at(0).executable == "/home/user/program");
}

BOOST_AUTO_TEST_CASE(cut_at_every_byte_gives_a_report_or_an_error) {
    Scenario scenario = small_scenario();
    const std::string path = scenario.path();
    const std::vector<std::uint8_t> bytes = scenario.builder.bytes();
    std::size_t reports = 0, errors = 0;
    for (std::size_t cut = bytes.size(); cut-- > 0;) {
        if (!stands_for_itself(bytes, cut))
            continue;
        BOOST_REQUIRE(::truncate(path.c_str(), static_cast<off_t>(cut)) == 0);
        BOOST_TEST_CONTEXT("cut at " << cut) {
            const bool read = read_all(path);
            ++(read ? reports : errors);
            BOOST_TEST(read == (cut >= sizeof(trace::FileHeader)));
        }
    }
    BOOST_TEST(errors == sizeof(trace::FileHeader));
    BOOST_TEST(reports > 500u);
}

BOOST_AUTO_TEST_CASE(cut_trace_says_so_and_keeps_what_is_before) {
    Scenario scenario = small_scenario();
    const std::string path = scenario.path();
    // The file ends 40 bytes into the records of the event chunk, the second one.
    const auto body = scenario.builder.header_bytes + scenario.builder.chunk_size + sizeof(trace::ChunkHeader);
    BOOST_REQUIRE(::truncate(path.c_str(), static_cast<off_t>(body + 40)) == 0);
    reader::Trace trace(path);
    const std::uint64_t events = events_in(trace);
    BOOST_TEST(events > 0u);
    BOOST_TEST(events < 12u);
    BOOST_TEST(trace.file.completeness().chunks_cut == 1u);
    BOOST_TEST(trace.file.completeness().chunks_damaged == 0u);
}

BOOST_AUTO_TEST_CASE(every_flipped_byte_is_survived) {
    Scenario scenario = small_scenario();
    const std::vector<std::uint8_t> good = [&] {
        scenario.builder.last = {scenario.now, scenario.now};
        return scenario.builder.bytes();
    }();
    scenario.builder.sealed = false; // no checksum stands in the way of the decoder
    const std::vector<std::uint8_t> open = scenario.builder.bytes();
    for (const auto& bytes : {good, open})
        for (std::size_t at = 0; at < bytes.size(); ++at) {
            if (!stands_for_itself(bytes, at))
                continue;
            std::vector<std::uint8_t> bad = bytes;
            bad[at] ^= static_cast<std::uint8_t>(0x81 + at);
            read_all(temporary_file("flipped", bad));
        }
}

BOOST_FIXTURE_TEST_CASE(damaged_chunk_is_left_out_and_counted, Scenario) {
    copy(1, 1, {});
    builder.next_chunk();
    copy(2, 1, {});
    std::vector<std::uint8_t> bytes = builder.bytes();
    // Chunk 0 is the dictionary, chunk 1 the first of the thread.
    bytes[trace::header_bytes + trace::chunk_bytes + sizeof(trace::ChunkHeader) + 3] ^= 1;
    reader::Trace trace(temporary_file("damaged", bytes));
    reader::EventStream events(trace.file);
    const reader::ThreadCursor* cursor = events.next();
    BOOST_REQUIRE(cursor != nullptr);
    BOOST_TEST(std::get<trace::Copy>(cursor->event()).bytes == 2u);
    BOOST_TEST(events.next() == nullptr);
    BOOST_TEST(trace.file.completeness().chunks_damaged == 1u);
}

BOOST_AUTO_TEST_CASE(random_bytes_are_refused) {
    std::mt19937 random(7);
    for (int round = 0; round < 50; ++round) {
        std::vector<std::uint8_t> bytes(random() % 70'000);
        for (std::uint8_t& byte : bytes)
            byte = static_cast<std::uint8_t>(random());
        BOOST_TEST(!read_all(temporary_file("random", bytes)));
    }
}

BOOST_AUTO_TEST_CASE(random_records_are_survived) {
    std::mt19937 random(11);
    for (int round = 0; round < 300; ++round) {
        TraceBuilder builder;
        builder.make_small();
        std::vector<std::uint8_t> bytes(random() % 4000);
        for (std::uint8_t& byte : bytes)
            byte = static_cast<std::uint8_t>(random() % 4 == 0 ? random() : random() % 80);
        builder.add_raw(bytes);
        builder.write(temporary_path("noise"));
        BOOST_TEST(read_all(temporary_path("noise")));
    }
}

BOOST_AUTO_TEST_CASE(empty_file) {
    BOOST_CHECK_EXCEPTION(reader::Trace(temporary_file("empty", {})), reader::Error,
                          [](const auto& error) { return mentions(error, "is empty"); });
}

BOOST_AUTO_TEST_CASE(directory) {
    const std::string path = temporary_path("folder");
    std::filesystem::create_directory(path);
    BOOST_CHECK_EXCEPTION(reader::Trace{path}, reader::Error,
                          [](const auto& error) { return mentions(error, "is a directory"); });
}

BOOST_AUTO_TEST_CASE(missing_file) {
    BOOST_CHECK_EXCEPTION(reader::Trace{temporary_path("nowhere")}, reader::Error,
                          [](const auto& error) { return mentions(error, "No such file"); });
}

BOOST_AUTO_TEST_CASE(fifo_does_not_block) {
    const std::string path = temporary_path("fifo");
    BOOST_REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    BOOST_CHECK_EXCEPTION(reader::Trace{path}, reader::Error,
                          [](const auto& error) { return mentions(error, "not a regular file"); });
}

BOOST_FIXTURE_TEST_CASE(newer_major_version_is_refused, TraceBuilder) {
    major = trace::version_major + 1;
    BOOST_CHECK_EXCEPTION(reader::Trace(temporary_file("newer", bytes())), reader::Error,
                          [](const auto& error) { return mentions(error, "format version 2"); });
}

BOOST_FIXTURE_TEST_CASE(newer_minor_version_is_read_and_unknown_records_are_skipped, Scenario) {
    builder.minor = 9;
    copy(1, 1, {});
    builder.add_raw({50, 3, 1, 2, 3}); // a type this version does not know
    copy(2, 1, {});
    reader::Trace trace(path());
    BOOST_TEST(events_in(trace) == 2u);
    BOOST_TEST(trace.file.completeness().records_unknown == 1u);
    BOOST_TEST(trace.file.completeness().whole());
}

BOOST_AUTO_TEST_CASE(impossible_sizes_in_the_header) {
    for (const std::uint32_t chunk_size : {0u, 64u, 0xffff'ffffu}) {
        TraceBuilder builder;
        std::vector<std::uint8_t> bytes = builder.bytes();
        std::memcpy(bytes.data() + offsetof(trace::FileHeader, chunk_size), &chunk_size, 4);
        BOOST_CHECK_EXCEPTION(reader::Trace(temporary_file("sizes", bytes)), reader::Error,
                              [](const auto& error) { return mentions(error, "impossible sizes"); });
    }
}

/// A file with a hole costs nothing to make: its length says nothing of what may be held in memory.
BOOST_AUTO_TEST_CASE(a_header_larger_than_any_is_refused) {
    const auto trace_with = [](std::uint32_t header_bytes, std::uint32_t counters) {
        std::vector<std::uint8_t> bytes = TraceBuilder().bytes();
        std::memcpy(bytes.data() + offsetof(trace::FileHeader, header_bytes), &header_bytes, 4);
        std::memcpy(bytes.data() + offsetof(trace::FileHeader, counters), &counters, 4);
        const std::string path = temporary_file("sparse.umtrace", bytes);
        std::filesystem::resize_file(path, std::uint64_t{header_bytes} + 4096);
        return path;
    };
    for (const auto& [header_bytes, counters] : {std::pair(1200u << 20, (1200u << 20) / 8 - 1024),
                                                 {1200u << 20, 2048u},
                                                 {66u << 20, 2048u},
                                                 {1u << 20, (1u << 16) + 1}})
        BOOST_CHECK_EXCEPTION(reader::Trace{trace_with(header_bytes, counters)}, reader::Error,
                              [](const auto& error) { return mentions(error, "impossible sizes"); });
    BOOST_TEST(reader::Trace(trace_with(64u << 20, 1u << 16)).file.header().counters.size() == 1u << 16);
}

BOOST_FIXTURE_TEST_CASE(chunk_count_may_lie, Scenario) {
    copy(1, 1, {});
    std::vector<std::uint8_t> bytes = builder.bytes();
    const std::uint32_t chunks = 0xffff'ffff;
    std::memcpy(bytes.data() + offsetof(trace::FileHeader, chunks), &chunks, 4);
    reader::Trace trace(temporary_file("count", bytes));
    BOOST_TEST(events_in(trace) == 1u);
    BOOST_TEST(trace.file.completeness().chunks_missing == chunks - 2);
}

BOOST_FIXTURE_TEST_CASE(threads_are_merged_by_time, Scenario) {
    const auto add = [&](std::uint32_t thread, std::uint64_t start) {
        trace::Sync sync;
        sync.start = start;
        builder.add(sync, thread);
    };
    for (const std::uint64_t start : {5'000, 8'000, 9'000})
        add(1, start);
    for (const std::uint64_t start : {2'000, 8'500, 20'000})
        add(2, start);
    builder.next_chunk(1);
    add(1, 15'000);
    add(3, 100'000);
    reader::Trace trace(path());
    reader::EventStream events(trace.file);
    std::vector<std::uint64_t> starts;
    std::vector<std::uint32_t> threads;
    while (const auto* cursor = events.next()) {
        starts.push_back(std::get<trace::Sync>(cursor->event()).start);
        threads.push_back(cursor->thread());
    }
    const std::vector<std::uint64_t> expected{2'000, 5'000, 8'000, 8'500, 9'000, 15'000, 20'000, 100'000};
    const std::vector<std::uint32_t> from{2, 1, 1, 2, 1, 1, 2, 3};
    BOOST_TEST(starts == expected, boost::test_tools::per_element());
    BOOST_TEST(threads == from, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(shapes_have_places_without_gaps, Scenario) {
    const auto define = [&](std::uint64_t number) { builder.add(trace::LaunchShape{.shape = number}); };
    for (const std::uint64_t number : {70, 3, 70, 500, 3})
        define(number);
    builder.next_chunk();
    define(3);
    reader::Trace trace(path());
    reader::EventStream events(trace.file);
    std::vector<std::uint32_t> places;
    while (const auto* cursor = events.next())
        if (std::holds_alternative<trace::LaunchShape>(cursor->event()))
            places.push_back(cursor->defined()->place);
    const std::vector<std::uint32_t> expected{0, 1, 0, 2, 1, 0};
    BOOST_TEST(places == expected, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(what_is_told_late_is_merged_by_when_it_happened, Scenario) {
    const auto sync_at = [&](std::uint64_t start) {
        trace::Sync record;
        record.start = start;
        builder.add(record, 1);
    };
    const auto event_at = [&](std::uint64_t start) { builder.add(trace::ManagedEvent{.start = start}, 2); };
    for (const std::uint64_t start : {10'000, 30'000, 50'000})
        sync_at(start);
    trace::Clock woken; // what the writing thread's chunk begins with
    woken.start = 60'000;
    builder.add(woken, 2);
    event_at(20'000);
    event_at(40'000);
    builder.add(trace::ManagedDetail{.start = 60'000}, 2);
    event_at(45'000); // too late, and told all the same
    reader::Trace trace(path());
    reader::EventStream events(trace.file);
    std::vector<std::uint64_t> starts;
    while (const auto* cursor = events.next())
        std::visit(
            [&starts](const auto& record) {
                if constexpr (requires { record.start; } &&
                              !std::is_same_v<decltype(record), const trace::Clock&>)
                    starts.push_back(record.start);
            },
            cursor->event());
    const std::vector<std::uint64_t> expected{10'000, 20'000, 30'000, 40'000, 50'000, 60'000, 45'000};
    BOOST_TEST(starts == expected, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(lost_chunk_of_a_thread_is_counted, Scenario) {
    for (int i = 0; i < 3; ++i) {
        copy(1, 1, {});
        builder.next_chunk();
    }
    std::vector<std::uint8_t> bytes = builder.bytes();
    // The middle chunk was handed out, but its page never reached the disk.
    std::fill_n(bytes.begin() + trace::header_bytes + 2 * trace::chunk_bytes, trace::chunk_bytes, 0);
    reader::Trace trace(temporary_file("gap", bytes));
    BOOST_TEST(events_in(trace) == 2u);
    BOOST_TEST(trace.file.completeness().sequences_missing == 1u);
}

BOOST_FIXTURE_TEST_CASE(ticks_of_the_tsc_become_nanoseconds, Scenario) {
    builder.clock = trace::ClockKind::tsc;
    copy(1, 3'000'000, {});
    builder.first = {1'000, 50};
    builder.last = {3'000'001'000, 1'000'000'050}; // 3 GHz
    reader::Trace trace(temporary_file("tsc", builder.bytes()));
    BOOST_TEST(trace.time.certain());
    BOOST_TEST(trace.time.length(3'000'000) == 1'000'000u);
    BOOST_TEST(trace.time.at(1'000) == 0);
}

BOOST_FIXTURE_TEST_CASE(rate_is_taken_from_clock_records_after_a_kill, Scenario) {
    builder.clock = trace::ClockKind::tsc;
    builder.first = builder.last = {1'000, 50};
    trace::Clock clock{.start = 2'000'001'000};
    clock.monotonic_ns = 1'000'000'050; // 2 GHz
    builder.add(clock);
    builder.closed = false;
    reader::Trace trace(temporary_file("killed", builder.bytes()));
    BOOST_TEST(trace.time.certain());
    BOOST_TEST(trace.time.length(2'000'000) == 1'000'000u);
}

BOOST_AUTO_TEST_SUITE_END()
