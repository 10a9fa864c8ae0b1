#include "analyzer/text/shell_word.hpp"
#include "command_run.hpp"
#include "rendered.hpp"
#include "scenario.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_report)

using namespace umadvisor;
using namespace umadvisor::test;
using nlohmann::json;
using trace::Memory;

BOOST_FIXTURE_TEST_CASE(copies_are_counted_by_direction_class_and_kind, Scenario) {
    copy(10, 100, {});
    copy(1000, 200, {});
    copy(2 * mib, 300, {.source = Memory::pinned});
    copy(3 * mib, 400, {.source = Memory::pinned, .asynchronous = true});
    copy(500, 50,
         {.symbol = "cuMemcpyDtoH_v2_ptds", .source = Memory::device, .destination = Memory::pageable});
    copy(600, 60, {.symbol = "cuMemcpy", .source = Memory::device, .destination = Memory::device});
    copy(700, 70, {.symbol = "cuMemcpy", .source = Memory::pageable, .destination = Memory::managed});
    copy(800, 80, {.status = 700});
    copy(900, 90, {.origin = trace::Origin::umadvisor});
    const json report = json_of(path());
    const auto row = [&](const char* direction, const char* source, const char* destination,
                         bool asynchronous) {
        for (const json& each : report["copies"])
            if (each["direction"] == direction && each["source_memory"] == source &&
                each["destination_memory"] == destination && each["asynchronous"] == asynchronous)
                return each;
        return json{{"count", 0}, {"bytes", 0}, {"time_ns", 0}};
    };
    BOOST_TEST(report["copies"].size() == 6u);
    BOOST_TEST(row("HtoD", "pageable", "device", false)["count"] == 2);
    BOOST_TEST(row("HtoD", "pageable", "device", false)["bytes"] == 1010);
    BOOST_TEST(row("HtoD", "pageable", "device", false)["time_ns"] == 300);
    BOOST_TEST(row("HtoD", "pinned", "device", false)["bytes"] == 2 * mib);
    BOOST_TEST(row("HtoD", "pinned", "device", true)["count"] == 1);
    BOOST_TEST(row("DtoH", "device", "pageable", false)["bytes"] == 500);
    BOOST_TEST(row("DtoD", "device", "device", false)["bytes"] == 600);
    BOOST_TEST(row("HtoD", "pageable", "managed", false)["bytes"] == 700);
    BOOST_TEST(report["copies_failed"] == 1);
    BOOST_TEST(report["copies_by_umadvisor"]["bytes"] == 900);
}

BOOST_FIXTURE_TEST_CASE(staged_copies_are_told_with_their_rate, Scenario) {
    copy(512 * mib, 10'000'000, {.staged = true});
    copy(512 * mib, 15'000'000, {.staged = true});
    copy(512 * mib, 50'000'000, {});
    download(4 * mib, 1'000'000, {.destination = Memory::pageable, .staged = true});
    const std::string file = path();
    const json staged = json_of(file)["copies_staged"];
    BOOST_TEST(staged["HtoD"]["count"] == 2);
    BOOST_TEST(staged["HtoD"]["bytes"] == 1024 * mib);
    BOOST_TEST(staged["HtoD"]["time_ns"] == 25'000'000);
    BOOST_TEST(staged["DtoH"]["count"] == 1);
    const std::string text = text_of(file);
    BOOST_TEST(contains(text, "copies staged to the device: 2 calls, 1 GiB, 25 ms in calls"));
    BOOST_TEST(contains(text, "copies staged to the host: 1 call, 4 MiB, 1 ms in calls"));
}

BOOST_FIXTURE_TEST_CASE(copies_are_counted_by_line, Scenario) {
    const auto line = stack(), other = stack();
    copy(10, 100, {.stack = line});
    copy(2 * mib, 200, {.stack = line});
    copy(30, 300, {.source = Memory::pinned, .stack = line});
    copy(40, 400, {.stack = other});
    copy(50, 500, {});
    const json rows = json_of(path())["copy_lines"];
    BOOST_TEST_REQUIRE(rows.size() == 4u);
    const auto count = [&rows](const char* text, const char* source) {
        for (const json& row : rows)
            if ((row["line"].is_null() ? "" : row["line"]["text"]) == text && row["source_memory"] == source)
                return row["count"].get<int>() * 1'000'000 + row["time_ns"].get<int>();
        return 0;
    };
    BOOST_TEST(count("0x400010", "pageable") == 2'000'300);
    BOOST_TEST(count("0x400010", "pinned") == 1'000'300);
    BOOST_TEST(count("0x400020", "pageable") == 1'000'400);
    BOOST_TEST(count("", "pageable") == 1'000'500);
    BOOST_TEST(rows[0]["direction"] == "HtoD");
    BOOST_TEST(rows[0]["destination_memory"] == "device");
}

BOOST_FIXTURE_TEST_CASE(of_thousands_of_lines_those_that_took_longest_are_listed, Scenario) {
    for (std::uint64_t i = 1; i <= 1'002; ++i)
        copy(10, i % 1'001 + 1, {.stack = stack()});
    const json report = json_of(path());
    BOOST_TEST_REQUIRE(report["copy_lines"].size() == 1'000u);
    BOOST_TEST(report["copy_lines"].front()["time_ns"] == 1'001);
    BOOST_TEST(report["copy_lines"].back()["time_ns"] == 2);
    BOOST_TEST(report["copy_lines_left_out"] == 2);
}

struct Asking : Scenario {
    bool is_noted(std::uint64_t launches, std::uint64_t questions) {
        const std::uint64_t kernel = function("_Z6kernelv");
        for (std::uint64_t i = 0; i < launches; ++i)
            launch(kernel, {});
        builder.counters[entry("cuOccupancyMaxActiveBlocksPerMultiprocessor", false)] = questions;
        builder.counters[entry("cuCtxGetCurrent", false)] = 100 * launches;
        const std::string text = text_of(path());
        BOOST_TEST(text.find("cuCtxGetCurrent") == std::string::npos, text);
        return text.find("driver queries, counted and not timed: cuOccupancyMaxActiveBlocksPerMultiprocessor x "
                         "2500, 2.5 a launch") != std::string::npos;
    }
};

BOOST_FIXTURE_TEST_CASE(questions_that_are_only_counted_stand_beside_the_launches, Asking) {
    BOOST_TEST(is_noted(1000, 2500));
}

BOOST_FIXTURE_TEST_CASE(questions_of_a_start_are_not_noted, Asking) {
    BOOST_TEST(!is_noted(999, 2500));
}

BOOST_FIXTURE_TEST_CASE(fewer_questions_than_launches_are_not_noted, Asking) {
    BOOST_TEST(!is_noted(1000, 999));
}

BOOST_FIXTURE_TEST_CASE(document_has_every_key_of_the_schema, Scenario) {
    copy_often(256 * mib, 26 * ms, {.stack = stack()});
    launch(function("_Z6kernelv"), {});
    builder.add(trace::UnknownLookup{.symbol = "cuBrandNew"});
    builder.add(trace::Notice{.text = "act refused"});
    trace::Driver driver{.version = 13000, .simulated = 1};
    builder.add(driver);
    builder.counters[entry("cuMemcpy3D_v2", false)] = 4;
    builder.counters[entry("cuCtxGetCurrent", false)] = 40;
    const json report = json_of(path());
    for (const char* key : {"schema",
                            "file",
                            "process",
                            "devices",
                            "driver",
                            "completeness",
                            "interpreters",
                            "dropped",
                            "recording_cost_ns",
                            "records",
                            "findings",
                            "why_empty",
                            "copies",
                            "copy_lines",
                            "copies_failed",
                            "copies_by_umadvisor",
                            "copies_staged",
                            "launches",
                            "allocations",
                            "page_locked",
                            "spinning_waits",
                            "calls",
                            "counted",
                            "unknown_lookups",
                            "options",
                            "notices",
                            "warnings"})
        BOOST_TEST(report.contains(key), key);
    BOOST_TEST(report["schema"] == "umadvisor-report-2");
    BOOST_TEST(report["process"]["program"] == "program");
    BOOST_TEST(report["process"]["command_line"] == "program --size");
    BOOST_TEST(report["completeness"]["complete"] == true);
    BOOST_TEST(report["driver"]["simulated"] == true);
    BOOST_REQUIRE(report["findings"].size() == 1u);
    for (const char* key : {"rule", "title", "summary", "details", "evidence", "line", "stack", "allocation",
                            "places", "advice", "saving_ns", "basis", "confidence"})
        BOOST_TEST(report["findings"][0].contains(key), key);
    BOOST_TEST(report["why_empty"].is_null());
    BOOST_TEST(report["counted"][0]["entry"] == "cuCtxGetCurrent");
    BOOST_TEST(report["counted"][0]["moves_memory"] == false);
    BOOST_TEST(report["counted"][1]["moves_memory"] == true);
    BOOST_TEST(report["unknown_lookups"][0]["symbol"] == "cuBrandNew");
    BOOST_TEST(report["notices"][0] == "act refused");
    BOOST_TEST(report["launches"][0]["function"] == "kernel()");
}

BOOST_AUTO_TEST_CASE(a_report_without_findings_says_what_could_not_be_seen) {
    Scenario seen, unseen;
    seen.copy(mib, 10 * us, {.source = Memory::device, .destination = Memory::pinned, .part = 7});
    BOOST_TEST(json_of(seen.path())["why_empty"] ==
               "no problem was found: checked 1 copy, 0 launches and 0 managed allocations");
    unseen.copy(mib, 10 * us, {.source = Memory::device, .destination = Memory::pinned, .asynchronous = true});
    const std::string text = json_of(unseen.path())["why_empty"];
    BOOST_TEST(
        text.ends_with(
            ". Not visible in this run: whether 1 copy repeats bytes (not compared); "
            "what the host reads while a download still runs (reads of page-locked memory are not recorded)"),
        text);
}

BOOST_FIXTURE_TEST_CASE(device_times_say_how_they_are_known, Scenario) {
    const auto all = function("_Z3allv"), some = function("_Z4somev"), none = function("_Z4nonev");
    launch(all, {}, 1);
    device_time(1, 100'000);
    launch(some, {}, 2);
    launch(some, {}, 3);
    device_time(2, 300'000);
    device_time(3, 100'000);
    synchronize();
    launch(none, {});
    synchronize();
    for (int i = 0; i < 10; ++i)
        launch(some, {});
    const json report = json_of(path());
    std::map<std::string, json> kernels;
    for (const json& each : report["launches"])
        kernels[each["function"]] = each;
    BOOST_TEST(kernels["all()"]["device_time_basis"] == "measured");
    BOOST_TEST(kernels["all()"]["device_time_ns"] == 100'000.0);
    BOOST_TEST(kernels["some()"]["device_time_basis"] == "extrapolated");
    // The slowest sample, which may have paid for faults, does not stand for the others.
    BOOST_TEST(kernels["some()"]["device_time_ns"] == 400'000.0 + 10 * 100'000.0);
    BOOST_TEST(kernels["none()"]["device_time_basis"] == "inferred");
    BOOST_TEST(kernels["none()"]["device_time_ns"] == 1e6);
}

BOOST_FIXTURE_TEST_CASE(headline_says_what_is_missing, Scenario) {
    copy(1, 1, {});
    builder.closed = false;
    builder.dropped[trace::DropReason::disk_full] = 3;
    builder.add(trace::UnknownLookup{.symbol = "cuBrandNew"});
    builder.counters[entry("cuMemcpy2D_v2", false)] = 4;
    const std::string text = text_of(path());
    BOOST_TEST(contains(text, "program · pid 4242 · "));
    BOOST_TEST(contains(text, "trace cut: the program was killed or still runs, 3 records dropped"));
    BOOST_TEST(contains(text, "4 calls that move memory counted but not recorded: cuMemcpy2D_v2 x 4"));
    BOOST_TEST(contains(text, "1 unknown look-up"));
    BOOST_TEST(contains(text, "cuBrandNew"));
    BOOST_TEST(contains(text, "3 records dropped: the disk was full"));
}

BOOST_FIXTURE_TEST_CASE(an_interpreter_whose_frames_are_missing_is_named, Scenario) {
    copy(1, 1, {});
    trace::Interpreter good, bad;
    good.implementation = "CPython 3.11.2";
    bad.implementation = "CPython 3.14.0";
    bad.trouble = "free-threaded build";
    builder.add(good).add(bad);
    const std::string file = path(), text = text_of(file);
    const std::string sentence = "no Python frames were recorded: CPython 3.14.0: free-threaded build; "
                                 "stacks show the interpreter's own C code instead";
    BOOST_TEST(contains(text, "\n  ! " + sentence + "\n"), text);
    BOOST_TEST(lacks(text, "CPython 3.11.2"));
    const json report = json_of(file);
    BOOST_TEST(report["completeness"]["lines"] == json::array({sentence}));
    BOOST_TEST(report["completeness"]["complete"] == true); // all that was to be in the trace is
    BOOST_TEST(report["interpreters"][0]["frames_recorded"] == true);
    BOOST_TEST(report["interpreters"][1] == json({{"implementation", "CPython 3.14.0"},
                                                  {"frames_recorded", false},
                                                  {"trouble", "free-threaded build"}}));
}

BOOST_FIXTURE_TEST_CASE(the_text_says_which_calls_took_how_long, Scenario) {
    BOOST_TEST(lacks(text_of(path()), "time in calls"));
    copy(1, 70'000, {});
    copy(1, 30'000, {.symbol = "cuMemcpyHtoD_v2_ptds", .status = 700}); // the runtime's name is the same
    synchronize();
    BOOST_TEST(contains(text_of(path()),
                        "\n  - time in calls: cudaDeviceSynchronize 1 ms (1), cudaMemcpy 100 us (2)\n"));
    launch(function("_Z6kernelv"), {});
    trace::Launch unmeasured{.shape = 1, .start = now};
    for (int i = 0; i < 99; ++i)
        builder.add(unmeasured);
    copy(1, 50'000, {.symbol = "cuMemcpyPeer"});
    copy(1, 5'000, {.symbol = "cuMemcpyDtoHAsync_v2"}); // less than one percent
    const std::string text = text_of(path());
    BOOST_TEST(contains(text, "cudaDeviceSynchronize 1 ms (1), "
                              "cudaLaunchKernel about 240 us (100, 1 of them measured), "
                              "cudaMemcpy 100 us (2), "));
    BOOST_TEST(contains(text, " (1), 1 other 5 us\n"));
    copy(1, 40'000, {.symbol = "cuMemcpyAtoA_v2"}); // more, but the fifth
    BOOST_TEST(contains(text_of(path()), " (1), 2 others 45 us\n"));
}

BOOST_FIXTURE_TEST_CASE(empty_result_says_why, Scenario) {
    BOOST_TEST(contains(text_of(path()), "no CUDA call was recorded"));
    Scenario s;
    s.copy(10 * mib, ms, {.source = Memory::pinned});
    s.allocate(mib, Memory::managed);
    s.launch(s.function("_Z6kernelv"), {});
    const std::string text = text_of(s.path());
    BOOST_TEST(contains(text, "checked 1 copy, 1 launch and 1 managed allocation; the residency of 1 "
                              "of them was never sampled"));
}

BOOST_FIXTURE_TEST_CASE(driver_names_where_the_program_uses_no_runtime, TraceBuilder) {
    add(trace::Entry{.id = 1, .recorded = 1, .symbol = "cuMemcpyHtoD_v2"});
    trace::Copy copy{
        .bytes = 256 * mib, .source_memory = Memory::pageable, .destination_memory = Memory::device};
    copy.entry = 1;
    copy.duration = 26 * ms;
    for (copy.start = 2000; copy.start < 100 * ms; copy.start += 27 * ms)
        add(copy);
    const std::string text = text_of(written("driver"));
    BOOST_TEST(contains(text, "cuMemcpyHtoD 256 MiB x 4"));
    BOOST_TEST(contains(text, "cuMemAllocHost instead of malloc"));
}

BOOST_AUTO_TEST_CASE(a_process_of_python_is_called_by_what_it_runs) {
    using namespace std::string_view_literals;
    const auto name = [](std::string_view words) { return text::program_name("/usr/bin/python3.12", words); };
    BOOST_TEST(name("python\0train.py\0--epochs\0"sv) == "train.py");
    BOOST_TEST(name("python3\0-u\0-X\0dev\0-Wignore\0/home/user/train.py\0"sv) == "train.py");
    BOOST_TEST(name("python3\0/opt/venv/bin/torchrun\0train.py\0"sv) == "torchrun");
    BOOST_TEST(name("python3\0-um\0pytest\0tests\0"sv) == "pytest");
    BOOST_TEST(name("python3\0--check-hash-based-pycs\0never\0a.py\0"sv) == "a.py");
    for (const std::string_view words : {""sv, "python3\0"sv, "python3\0-c\0import torch\0"sv,
                                         "python3\0-\0x.py\0"sv, "python3\0-Sc\0text\0"sv, "python3\0-m\0"sv})
        BOOST_TEST(name(words) == "python3.12");
    BOOST_TEST(text::program_name("/usr/bin/python3.13t", "x\0a.py\0"sv) == "a.py");
    BOOST_TEST(text::program_name("/home/user/pythonic", "x\0a.py\0"sv) == "pythonic");
    BOOST_TEST(text::program_name("/home/user/program", "x\0a.py\0"sv) == "program");
}

BOOST_AUTO_TEST_CASE(a_report_calls_a_run_of_python_by_its_script) {
    Scenario s;
    s.builder = TraceBuilder();
    s.builder.add(trace::Process{.pid = 7,
                                 .executable = "/usr/bin/python3.12",
                                 .command_line = std::string_view("python\0train.py\0", 16)});
    const std::string path = s.path();
    BOOST_TEST(text_of(path).starts_with("train.py · pid "), text_of(path));
    const json process = json_of(path)["process"];
    BOOST_TEST(process["program"] == "train.py");
    BOOST_TEST(process["executable"] == "/usr/bin/python3.12");
}

BOOST_AUTO_TEST_CASE(a_report_names_another_umadvisor_that_recorded) {
    const std::string own = run({"--version"}).out; // "umadvisor 1.0.0 (commit ..."
    const auto summary = [](std::string_view recorder) {
        Scenario s;
        s.builder = TraceBuilder();
        s.builder.add(trace::Process{.pid = 7, .executable = "/bin/app", .recorder = recorder});
        const std::string path = s.path(), text = json_of(path)["completeness"]["summary"];
        BOOST_TEST(contains(text_of(path), " · " + text + " · "));
        return text;
    };
    BOOST_TEST(summary(own.substr(10, own.find(' ', 10) - 10)) == "trace complete");
    BOOST_TEST(summary("0.9\n") == "trace complete, recorded by umadvisor 0.9?");
    BOOST_TEST(summary("") == "trace complete, recorded by umadvisor 1.0.0 or older");
}

BOOST_AUTO_TEST_SUITE_END()
