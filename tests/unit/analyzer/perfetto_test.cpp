/// Runs as timelines of Perfetto's.
#include "analyzer/reader/trace_file.hpp"
#include "analyzer/reports/perfetto/perfetto_file.hpp"
#include "command_run.hpp"
#include "perfetto_trace.hpp"
#include "scenario.hpp"
#include "trace/plain_text.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <set>

BOOST_AUTO_TEST_SUITE(analyzer_perfetto)

using namespace umadvisor;
using namespace umadvisor::test;
using trace::Memory;

namespace {

constexpr std::int64_t began = 1'700'000'000'000'000'000 - 1000; ///< tick 0

PerfettoTrace exported(std::vector<std::string> traces) {
    const std::string output = temporary_path("timeline.pftrace");
    traces.insert(traces.begin(), {"export", "--perfetto", "-f", "-o", output});
    const Result result = run(traces);
    BOOST_TEST_REQUIRE(result.status == 0, result.err);
    return PerfettoTrace(output);
}

struct Slice {
    PerfettoEvent event;
    std::int64_t begin = 0, end = 0; ///< ticks
};

/// In the order in which they begin; each that begins has to end.
std::vector<Slice> slices(const PerfettoTrack& track) {
    std::vector<Slice> all;
    std::vector<std::size_t> open;
    for (const PerfettoEvent& event : track.events)
        if (event.type == 1) {
            open.push_back(all.size());
            all.push_back({event, event.at - began, 0});
        } else if (event.type == 2) {
            BOOST_TEST_REQUIRE(!open.empty());
            all[open.back()].end = event.at - began;
            open.pop_back();
        }
    BOOST_TEST(open.empty());
    return all;
}

std::vector<std::int64_t> values(const PerfettoTrack& track) {
    std::vector<std::int64_t> all;
    for (const PerfettoEvent& event : track.events)
        all.push_back(event.value);
    return all;
}

void check_values(const PerfettoTrack& track, const std::vector<std::int64_t>& expected) {
    BOOST_TEST(track.counter);
    const std::vector<std::int64_t> all = values(track);
    BOOST_TEST(all == expected, boost::test_tools::per_element());
}

void name_range(Scenario& s, trace::RangeAction action, std::uint64_t text, std::uint64_t id = 0) {
    s.builder.add(trace::Range{.start = s.now += 1000, .action = action, .text = text, .id = id});
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_flow_leads_from_each_call_to_its_kernel_or_copy, Scenario) {
    const std::uint64_t line = stack();
    const std::uint64_t memory = allocate(mib, Memory::device);
    copy(mib, 200'000, {.source = Memory::pinned, .stack = line, .to = memory});
    const std::uint64_t launched = now;
    launch(function("_Z5saxpyIfEvPT_i"), {memory}, 7, line);
    synchronize({.duration = 320'000});
    device_time(7, 300'000);
    synchronize();
    const PerfettoTrace trace = exported({path()});
    std::vector<Slice> calls = slices(trace.track("thread 1"));
    std::erase_if(calls, [](const Slice& call) { return call.event.flow == 0; });
    const std::vector<Slice> work = slices(trace.track("default stream"));
    BOOST_TEST_REQUIRE(work.size() == 2u);
    BOOST_TEST_REQUIRE(calls.size() == 2u);
    BOOST_TEST(work[0].event.name == "copy host to device");
    BOOST_TEST(work[0].event.arguments.at("bytes") == std::to_string(mib));
    BOOST_TEST(work[0].event.arguments.at("from") == "pinned");
    BOOST_TEST(work[1].event.name == "saxpy<float>");
    BOOST_TEST(work[1].event.category == "device, measured");
    BOOST_TEST(std::abs(work[1].end - work[1].begin - 300'000) <= 1);
    BOOST_TEST(work[1].begin >= static_cast<std::int64_t>(launched));
    for (std::size_t i = 0; i < work.size(); ++i) {
        BOOST_TEST(work[i].event.flow_end != 0u);
        BOOST_TEST(work[i].event.flow_end == calls[i].event.flow);
        BOOST_TEST(calls[i].begin < work[i].begin);
        BOOST_TEST(calls[i].event.frames.size() == 1u);
        BOOST_TEST(!calls[i].event.location.empty());
    }
    const PerfettoTrack& device = trace.track("device 0: NVIDIA H200");
    BOOST_TEST(trace.track("default stream").parent == device.uuid);
    BOOST_TEST(device.parent == trace.track("program (pid 4242)").uuid);
}

BOOST_FIXTURE_TEST_CASE(a_flow_has_its_number_alone_until_it_ends, Scenario) {
    for (int round = 0; round < 2; ++round) {
        launch(function("_Z1kv"), {}, 3 + round);
        launch(function("_Z1kv"), {}, 5 + round); // behind the first one
        synchronize({.duration = 400'000});
        device_time(3 + round, 190'000);
        device_time(5 + round, 190'000);
    }
    const std::vector<Slice> calls = slices(exported({path()}).track("thread 1"));
    BOOST_TEST_REQUIRE(calls.size() == 6u);
    BOOST_TEST(calls[0].event.flow != calls[1].event.flow);
    BOOST_TEST(calls[3].event.flow != calls[4].event.flow);
    BOOST_TEST(calls[3].event.flow ==
               calls[0].event.flow); // taken again: events that are alike take little room
}

BOOST_FIXTURE_TEST_CASE(a_call_has_its_time_and_what_it_waited, Scenario) {
    launch(function("_Z1kv"), {}, 3);
    const std::uint64_t begin = now;
    synchronize({.duration = 400'000});
    device_time(3, 390'000);
    copy(4096, 7000, {.stack = stack(), .status = 1});
    const std::vector<Slice> calls = slices(exported({path()}).track("thread 1"));
    BOOST_TEST_REQUIRE(calls.size() == 3u);
    BOOST_TEST(calls[1].event.name == "cudaDeviceSynchronize");
    BOOST_TEST(calls[1].begin == static_cast<std::int64_t>(begin));
    BOOST_TEST(calls[1].end - calls[1].begin == 400'000);
    BOOST_TEST(std::stoll(calls[1].event.arguments.at("waited ns")) > 300'000);
    BOOST_TEST(calls[2].event.arguments.at("CUresult") == "1");
    BOOST_TEST(calls[2].event.flow == 0u);
}

BOOST_FIXTURE_TEST_CASE(ranges_lie_on_tracks_of_their_own, Scenario) {
    name_range(*this, trace::RangeAction::push, text("step"));
    const std::uint64_t forward = text("forward");
    name_range(*this, trace::RangeAction::push, forward);
    name_range(*this, trace::RangeAction::start, text("load"), 1);
    name_range(*this, trace::RangeAction::start, text("store"), 2);
    name_range(*this, trace::RangeAction::pop, 0);
    name_range(*this, trace::RangeAction::end, 0, 1);
    name_range(*this, trace::RangeAction::mark, text("here"));
    name_range(*this, trace::RangeAction::pop, 0);
    name_range(*this, trace::RangeAction::pop, 0); // one too many
    name_range(*this, trace::RangeAction::end, 0, 2);
    name_range(*this, trace::RangeAction::push, forward);
    synchronize();
    const PerfettoTrace trace = exported({path()});
    const std::vector<Slice> pushed = slices(trace.track("NVTX"));
    BOOST_TEST_REQUIRE(pushed.size() == 3u);
    BOOST_TEST(pushed[0].event.name == "step");
    BOOST_TEST(pushed[0].end - pushed[0].begin == 7000);
    BOOST_TEST(pushed[1].event.name == "forward");
    BOOST_TEST(pushed[1].end - pushed[1].begin == 3000);
    BOOST_TEST(trace.track("NVTX").parent == trace.track("thread 1").uuid);
    std::set<std::string> started;
    for (const PerfettoTrack& track : trace.tracks)
        if (track.name == "NVTX ranges")
            for (const Slice& each : slices(track))
                started.insert(each.event.name + " " + std::to_string(each.end - each.begin));
    BOOST_TEST((started == std::set<std::string>{"load 3000", "store 6000"}));
}

BOOST_FIXTURE_TEST_CASE(counters_tell_what_a_device_holds_and_what_moved, Scenario) {
    const std::uint64_t memory = allocate(4 * mib, Memory::device, stack());
    const std::uint64_t other = allocate(mib, Memory::device);
    copy(mib, 1000, {.source = Memory::pinned, .to = memory});
    copy(2 * mib, 1000, {.source = Memory::pinned, .to = memory});
    download(mib, 1000, {.from = memory});
    free(memory);
    free(other);
    const PerfettoTrace trace = exported({path()});
    constexpr auto m = static_cast<std::int64_t>(mib);
    check_values(trace.track("memory in use, without managed memory"), {4 * m, 5 * m, m, 0});
    std::map<std::string, std::vector<std::int64_t>> of_line;
    const std::uint64_t group = trace.track("memory by allocating line").uuid;
    for (const PerfettoTrack& track : trace.tracks)
        if (track.parent == group && !track.name.starts_with("no stack recorded"))
            of_line[track.name.substr(track.name.find(": ") + 2)] = values(track);
    BOOST_TEST((of_line["on the device"] == std::vector<std::int64_t>{4 * m, 0}));
    BOOST_TEST((of_line["moved to the device"] == std::vector<std::int64_t>{m, 3 * m}));
    BOOST_TEST((of_line["moved to the host"] == std::vector<std::int64_t>{m}));
}

BOOST_FIXTURE_TEST_CASE(moves_of_managed_memory_are_counted_though_they_are_told_late, Scenario) {
    const std::uint64_t memory = allocate(4 * mib, Memory::managed);
    trace::ManagedEvent move{.start = now + 1000,
                             .kind = trace::ManagedEventKind::migration,
                             .address = 0x7f00'0000'0000 + (memory << 32),
                             .bytes = 2 * mib,
                             .to = 1,
                             .duration = 500};
    trace::ManagedEvent back = move;
    back.start += 2000;
    back.from = 1;
    back.to = 0;
    back.bytes = mib;
    now += 10'000;
    free(memory);
    allocate(mib, Memory::device, stack());
    builder.add(move); // by the thread that frees
    builder.add(back);
    const PerfettoTrace trace = exported({path()});
    constexpr auto m = static_cast<std::int64_t>(mib);
    check_values(trace.track("no stack recorded: on the device"), {2 * m, m, 0});
    check_values(trace.track("no stack recorded: moved to the host"), {m});
    const std::vector<Slice> moves = slices(trace.track("managed memory: moves to device 0"));
    BOOST_TEST_REQUIRE(moves.size() == 1u);
    BOOST_TEST(moves[0].end - moves[0].begin == 500);
    BOOST_TEST(moves[0].event.arguments.at("allocated at") == "no stack recorded");
}

BOOST_FIXTURE_TEST_CASE(a_finding_stands_at_the_longest_call_of_its_line, Scenario) {
    const std::uint64_t line = stack();
    std::int64_t longest = 0;
    for (int i = 0; i < 6; ++i) {
        if (i == 3)
            longest = static_cast<std::int64_t>(now);
        copy(64 * mib, i == 3 ? 12'000'000 : 9'000'000, {.stack = line});
    }
    const PerfettoTrace trace = exported({path()});
    const PerfettoTrack& findings = trace.track("findings");
    BOOST_TEST_REQUIRE(findings.events.size() == 1u);
    BOOST_TEST(findings.events[0].name == "UMA-101 pageable copies, host to device");
    BOOST_TEST(findings.events[0].at - began == longest);
    BOOST_TEST(!findings.events[0].arguments.at("advice").empty());
}

/// As of two hosts.
BOOST_AUTO_TEST_CASE(two_processes_of_one_number_stay_two) {
    const auto trace_of = [](std::uint64_t realtime) {
        Scenario s;
        s.builder.realtime_ns = realtime;
        s.synchronize();
        return s.builder.written(std::to_string(realtime) + ".umtrace");
    };
    const std::string first = trace_of(1'700'000'000'000'000'000), second = trace_of(1'700'000'005'000'000'000);
    std::set<std::int64_t> pids, tids;
    std::set<std::uint64_t> uuids;
    std::vector<std::int64_t> begins;
    std::size_t tracks = 0;
    for (const PerfettoTrack& track : exported({first, second}).tracks) {
        ++tracks;
        uuids.insert(track.uuid);
        if (track.tid != 0) {
            tids.insert(track.tid);
            begins.push_back(track.events.front().at);
        } else if (track.pid != 0) {
            pids.insert(track.pid);
        }
    }
    BOOST_TEST(pids.size() == 2u);
    BOOST_TEST(tids.size() == 2u);
    BOOST_TEST(uuids.size() == tracks);
    BOOST_TEST_REQUIRE(begins.size() == 2u);
    BOOST_TEST(begins[1] - begins[0] == 5'000'000'000);
}

BOOST_FIXTURE_TEST_CASE(names_are_text_of_a_bounded_length, Scenario) {
    const std::string hostile = "<script>\033]0;x\a\xe2\x80\xae\xff\n" + std::string(65'000 / 4, 'x');
    launch(function(hostile), {});
    name_range(*this, trace::RangeAction::mark, text(hostile));
    synchronize();
    std::size_t long_names = 0;
    for (const PerfettoTrack& track : exported({path()}).tracks)
        for (const PerfettoEvent& event : track.events)
            if (event.name.starts_with("<script>")) {
                ++long_names;
                BOOST_TEST(event.name.size() <= 1024u + 3);
                std::string plain = event.name;
                plain.resize(trace::make_plain(plain.data(), plain.size(), trace::Plain::line));
                BOOST_TEST(plain == event.name);
            }
    BOOST_TEST(long_names == 2u);
}

/// Another slice of the track begins before it has ended: of calls that were timed, in it.
BOOST_AUTO_TEST_CASE(slices_of_a_track_never_lie_across_each_other) {
    std::string bytes;
    reports::perfetto::PacketFile file([&](std::string_view part) { bytes += part; });
    reports::perfetto::Texts texts(1 << 20);
    {
        reports::perfetto::SliceTrack track(file, texts, 5, began, {.name = "t"});
        track.slice(100, 200, {.name = "a"});
        track.slice(150, 300, {.name = "b"});
        track.slice(120, 130, {.name = "c"}); // told late
        track.slice(400, 900, {.name = "estimated"}, false);
        track.slice(500, 600, {.name = "d"});
        track.finish(1000);
        file.finish();
    }
    const std::string path = temporary_file("slices", {bytes.begin(), bytes.end()});
    const PerfettoTrace trace(path);
    std::string told;
    for (const Slice& each : slices(trace.track("t")))
        told += each.event.name + " " + std::to_string(each.begin) + "-" + std::to_string(each.end) + "; ";
    BOOST_TEST(told == "a 100-200; b 150-200; c 150-150; estimated 400-500; d 500-600; ");
}

BOOST_AUTO_TEST_CASE(long_texts_and_deep_stacks_are_not_repeated_without_bound) {
    reports::perfetto::Texts texts(2000);
    const std::uint64_t number = texts.number(std::string(1000, 'x'));
    BOOST_TEST(texts.written(number).size() == 1000u);
    BOOST_TEST(texts.written(number).size() == 1000u);
    BOOST_TEST(texts.written(number).size() <= 64u + 3);
    BOOST_TEST(texts.written(texts.number("short")) == "short");
    reports::perfetto::Texts others(1 << 20);
    BOOST_TEST(others.written(others.number(std::string(65'536, 'x'))).size() <= 1024u + 3);
    for (int i = 0; i < 262; ++i)
        BOOST_TEST_REQUIRE(texts.take_frames(1000));
    BOOST_TEST(!texts.take_frames(1000));
    BOOST_TEST(texts.take_frames(144));
}

BOOST_FIXTURE_TEST_CASE(what_cannot_be_written_is_said, Scenario) {
    synchronize();
    const std::string trace = path(), output = temporary_path("no.pftrace");
    check_one_line(run({"export", "--perfetto", "-o", trace, trace}), 1, "is the trace itself");
    check_one_line(run({"export", "--perfetto", "--sqlite", "-o", output, trace}), 2, "takes one format");
    check_one_line(run({"export", "--memory-viz", "-o", output, trace, trace}), 2, "one trace at a time");
    check_one_line(run({"export", "--perfetto", "-o", output, trace, "nothing.umtrace"}), 1, "nothing.umtrace");
    BOOST_TEST(!std::filesystem::exists(output));
}

#if !defined(__SANITIZE_ADDRESS__) &&                                                                          \
    !defined(__SANITIZE_THREAD__) // they keep memory of their own, and take minutes
namespace {

std::uint64_t peak_memory() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmHWM:"))
            return std::stoull(line.substr(6)) * 1024;
    return 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_million_events_take_15_megabytes_and_no_memory) {
    constexpr std::uint64_t launches = 950'000, each_round = 19;
    Scenario s;
    const std::uint64_t function = s.function("_Z6kernelPf"), line = s.stack(),
                        memory = s.allocate(mib, Memory::device);
    std::uint64_t random = 1;
    for (std::uint64_t i = 0; i < launches; ++i) {
        random = random * 6364136223846793005 + 1442695040888963407;
        s.now += (random >> 33) % 20'000;
        s.launch(function, {memory}, 0, line);
        if (i % 1000 == 999)
            s.builder.next_chunk();
        if (i % each_round == each_round - 1)
            s.synchronize({.duration = 20'000 + (random >> 40) % 60'000});
    }
    const std::string trace = s.path(), output = temporary_path("million.pftrace");
    std::ofstream("/proc/self/clear_refs") << "5"; // proc(5): the peak is what is resident now
    const std::uint64_t before = peak_memory();
    const Result result = run({"export", "--perfetto", "-f", "-o", output, trace});
    BOOST_TEST(result.status == 0, result.err);
    BOOST_TEST(std::filesystem::file_size(output) <= 15'000'000u);
    BOOST_TEST(peak_memory() - before <= 48 * mib);
    // A database has a cache of 32 MiB, and sorts with as much.
    BOOST_TEST(run({"export", "--sqlite", "-f", "-o", output, trace}).status == 0);
    BOOST_TEST(peak_memory() - before <= 96 * mib);
}
#endif

BOOST_AUTO_TEST_SUITE_END()
