/// Traces that were cut, damaged or filled up: every command says so in one line, and none that is to fail
/// passes.
#include "command_run.hpp"
#include "every_record.hpp"
#include "scenario.hpp"
#include "trace/segment.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_missing_records)

using namespace umadvisor;
using namespace umadvisor::test;
using nlohmann::json;
using Bytes = std::vector<std::uint8_t>;

namespace {

constexpr std::size_t chunk = trace::chunk_bytes, begin = trace::header_bytes;

/// A program with a pageable copy in its second chunk of events; definitions stand in the first chunk.
TraceBuilder program() {
    Scenario s;
    const std::uint64_t stack = s.stack();
    s.copy(64, 1000, {.stack = stack});
    s.builder.next_chunk();
    s.copy_often(256 * mib, 25 * ms, {.stack = stack});
    s.builder.last = {s.now, s.now};
    return s.builder;
}

std::string written(const std::string& name, const Bytes& bytes) {
    return temporary_file(name, bytes);
}

Bytes cut(Bytes bytes, std::size_t length) {
    bytes.resize(length);
    return bytes;
}

Bytes damaged(Bytes bytes, std::size_t at) {
    bytes[at] ^= 0xff;
    return bytes;
}

/// Nothing is missing, and nothing that is to fail does.
void check_whole(const std::string& path) {
    for (std::vector<std::string> command : readers) {
        command.push_back(path);
        BOOST_TEST(run(command).err.find("missing") == std::string::npos, command.front());
    }
    BOOST_TEST(run({"report", "--fail-on", "low", "--ignore", "UMA-101", path}).status == 0);
    BOOST_TEST(run({"check", "--baseline", path, path}).status == 0);
    BOOST_TEST(run({"diff", path, path}).err == "");
}

/// Every command says what, in one line; gates fail.
void check_missing(const std::string& path, const std::string& whole, const std::string& what) {
    for (std::vector<std::string> command : readers) {
        command.push_back(path);
        const Result result = run(command);
        if (command.front() == "whatif" && result.status != 0) { // nothing is left to foretell from
            check_one_line(result, 1, "no record of the trace could be read");
            continue;
        }
        BOOST_TEST(result.status == 0, command.front());
        if (command.front() != "dump") // which has a line for each
            BOOST_TEST(times(result.err, path + ": records are missing: ") == 1u, command.front()
                                                                                      << result.err);
        BOOST_TEST(result.err.find(what) != std::string::npos, command.front() << ": " << result.err);
    }
    const Result report = run({"report", "--fail-on", "low", "--ignore", "UMA-101", path});
    BOOST_TEST(report.status == 1, what);
    BOOST_TEST(contains(report.err, "--fail-on: "));
    BOOST_TEST(run({"report", "--ignore", "UMA-101", path}).status == 0); // no gate
    const json document = json::parse(run({"report", "--json", path}).out);
    BOOST_TEST(document["completeness"]["records_lacking"] == true);
    const json log = json::parse(run({"report", "--sarif", path}).out)["runs"][0]["invocations"][0];
    BOOST_TEST(log["executionSuccessful"] == false);
    BOOST_TEST(log["toolExecutionNotifications"].dump().find(what) != std::string::npos, log.dump());
    const std::string told = path + ".json";
    std::ofstream(told) << document.dump();
    for (const auto& [before, after] : {std::pair(path, whole), std::pair(whole, path), std::pair(path, path),
                                        std::pair(told, whole), std::pair(whole, told)}) {
        const Result check = run({"check", "--baseline", before, "--ignore", "UMA-101", after});
        BOOST_TEST(check.status == 1, before << " " << after << " " << check.out << check.err);
        BOOST_TEST(check.err.find(before == told || after == told ? "lacks records" : what) !=
                       std::string::npos,
                   check.err);
        BOOST_TEST(lacks(check.out, "none is new\n"));
        BOOST_TEST(run({"diff", before, after}).err.find("records") != std::string::npos);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_trace_that_was_cut_anywhere_passes_no_gate) {
    const Bytes bytes = program().bytes();
    const std::string whole = written("whole.umtrace", bytes);
    check_whole(whole);
    BOOST_TEST_REQUIRE(bytes.size() == begin + 3 * chunk);
    for (const std::size_t length :
         {std::size_t{128}, std::size_t{4096}, begin - 1, begin, begin + 40, begin + 70, begin + chunk,
          begin + chunk + 70, begin + 2 * chunk, begin + 2 * chunk + 80})
        check_missing(written("cut.umtrace", cut(bytes, length)), whole, "the file ");
    check_one_line(run({"report", written("cut.umtrace", cut(bytes, 127))}), 1, "cut inside its header");
    // What no chunk has begun may go.
    check_whole(written("short.umtrace", cut(bytes, begin + 3 * chunk - 1000)));
}

BOOST_AUTO_TEST_CASE(a_trace_of_which_no_record_is_left_is_foretold_nothing_of_and_is_no_rank) {
    const Bytes bytes = program().bytes();
    const std::string empty = written("empty.umtrace", cut(bytes, begin + chunk)),
                      part = written("part.umtrace", cut(bytes, begin + 2 * chunk)),
                      job = temporary_path("empty.umjob");
    check_one_line(run({"whatif", "--gpu-memory", "1GiB", empty}), 1, "no record of the trace could be read");
    BOOST_TEST(run({"whatif", "--gpu-memory", "1GiB", part}).status == 0);
    const Result merged = run({"merge", "-f", "-o", job, empty});
    BOOST_TEST(merged.status == 1);
    BOOST_TEST(contains(merged.err, "0 ranks and 1 trace without a readable call in "));
    const Result alone = run({"report", job});
    BOOST_TEST(alone.status == 1);
    BOOST_TEST(contains(alone.out, "no call of a rank could be read\n"
                                   "  - not known: 1 trace damaged so that no call is left\n"));
    BOOST_TEST(run({"report", "--json", job}).status == 1);
}

BOOST_AUTO_TEST_CASE(a_chunk_that_is_damaged_or_lost_passes_no_gate) {
    const Bytes bytes = program().bytes();
    const std::string whole = written("whole.umtrace", bytes);
    for (std::size_t number = 0; number < 3; ++number) {
        const std::size_t at = begin + number * chunk;
        check_missing(written("damaged.umtrace", damaged(bytes, at)), whole, "1 chunk damaged");
        check_missing(written("damaged.umtrace", damaged(bytes, at + sizeof(trace::ChunkHeader))), whole,
                      "1 chunk damaged");
    }
    Bytes lost = bytes; // as a hole in the file reads; the chunk behind it tells
    std::fill_n(lost.begin() + static_cast<std::ptrdiff_t>(begin + chunk), chunk, 0);
    check_missing(written("lost.umtrace", lost), whole, "1 chunk that a thread had written lost");
}

BOOST_AUTO_TEST_CASE(a_program_that_was_killed_or_did_nothing_passes) {
    TraceBuilder killed = program();
    killed.closed = killed.sealed = false;
    check_whole(written("killed.umtrace", killed.bytes()));
    const Scenario nothing;
    const std::string path = written("nothing.umtrace", nothing.builder.bytes());
    BOOST_TEST(run({"report", "--fail-on", "low", path}).status == 0);
    BOOST_TEST(run({"check", "--baseline", path, path}).status == 0);
}

/// As a container that ended leaves it, or as a copy is that was made before the trace was read.
BOOST_AUTO_TEST_CASE(a_killed_program_whose_end_is_gone_passes_no_gate) {
    const std::string whole = written("whole.umtrace", program().bytes());
    TraceBuilder killed = program();
    killed.closed = killed.sealed = false;
    Bytes bytes = killed.bytes();
    trace::SegmentName name{.bytes = trace::segment_bytes(trace::most_slots)};
    name.id = -1; // no segment has this one
    std::memcpy(bytes.data() + trace::segment_name_offset, &name, sizeof name);
    const std::string path = written("lost.umtrace", bytes);
    check_missing(path, whole, "its last moments were in memory that is gone");
    BOOST_TEST(run({"report", path}).out.find("trace cut: its last moments are missing") != std::string::npos);
}

/// What found no room is missing, too. A cap was asked for: it is told, and what was recorded up to it stands.
BOOST_AUTO_TEST_CASE(records_that_were_dropped) {
    const std::string whole = written("whole.umtrace", program().bytes());
    for (const auto& [reason, words] : {std::pair(trace::DropReason::disk_full, "the disk was full"),
                                        std::pair(trace::DropReason::no_memory, "no memory was available")}) {
        TraceBuilder full = program();
        full.dropped[reason] = 5;
        check_missing(written("full.umtrace", full.bytes()), whole, words);
    }
    TraceBuilder capped = program();
    capped.dropped[trace::DropReason::size_cap] = 5;
    const std::string path = written("capped.umtrace", capped.bytes());
    const Result report = run({"report", "--fail-on", "low", "--ignore", "UMA-101", path});
    BOOST_TEST(report.status == 0);
    BOOST_TEST(contains(report.err, "records are missing: 5 records dropped: the trace reached its size cap"));
    BOOST_TEST(run({"check", "--baseline", whole, path}).status == 0);
}

/// What is there is found all the same, and is worse than what is not.
BOOST_AUTO_TEST_CASE(a_finding_that_is_there_counts) {
    const Bytes bytes = program().bytes();
    TraceBuilder more = program();
    more.next_chunk();
    more.add(trace::Clock{});
    const std::string path = written("cut.umtrace", cut(more.bytes(), begin + 3 * chunk));
    BOOST_TEST(run({"report", "--fail-on", "low", path}).status == 3);
    const std::string base = path + ".none.json";
    std::ofstream(base) << R"({"schema":"umadvisor-report-2","findings":[]})";
    BOOST_TEST(run({"check", "--baseline", base, "--fail-on", "low", path}).status == 3);
}

BOOST_AUTO_TEST_SUITE_END()
