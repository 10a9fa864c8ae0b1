#include "analyzer/cli/command.hpp"
#include "analyzer/cli/rule_pages.hpp"
#include "analyzer/cli/run/child_process.hpp"
#include "analyzer/cli/run/launcher.hpp"
#include "analyzer/cli/run/program_file.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/trace_names.hpp"
#include "analyzer/reader/whole_file.hpp"
#include "analyzer/rules/rule.hpp"
#include "analyzer/tables/api_names.hpp"
#include "command_run.hpp"
#include "scenario.hpp"

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(analyzer_cli)

using namespace umadvisor;
using namespace umadvisor::test;

namespace {

std::string script(const std::string& name, const std::string& text, int mode = 0755) {
    const std::string path = temporary_path(name);
    std::ofstream(path) << text;
    ::chmod(path.c_str(), static_cast<mode_t>(mode));
    return path;
}

} // namespace

BOOST_AUTO_TEST_CASE(wrong_usage_is_one_line_and_status_2) {
    check_one_line(run({}), 2, "subcommand is required");
    check_one_line(run({"frobnicate"}), 2, "frobnicate");
    check_one_line(run({"dump"}), 2, "FILE");
    check_one_line(run({"explain", "frobnicate"}), 2, "UMA-101 pageable-copy, UMA-102 ");
    check_one_line(run({"help", "frobnicate"}), 2, "topics are: env, coverage, man, man-shim");
    check_one_line(run({"report", "--frobnicate", "x"}), 2, "--frobnicate");
    check_one_line(run({"run"}), 2, "no program");
    check_one_line(run({"ab"}), 2, "no program");
    check_one_line(run({"ab", "--frobnicate", "--", "ls"}), 2, "--frobnicate");
    check_one_line(run({"ab", "-n", "3", "--", "ls"}), 2, "4 to 100, not 3");
    check_one_line(run({"ab", "-n", "many", "--", "ls"}), 2, "4 to 100, not many");
    check_one_line(run({"prove", "--", "ls"}), 2, "DIFF is required");
    check_one_line(run({"prove", "x.diff"}), 2, "no program");
    check_one_line(run({"prove", "x.diff", "ls"}), 2, "unexpected ls before --");
    check_one_line(run({"prove", "x.diff", "--frobnicate", "--", "ls"}), 2, "--frobnicate");
    check_one_line(run({"prove", "x.diff", "-n", "3", "--", "ls"}), 2, "4 to 100, not 3");
    check_one_line(run({"prove", "x.diff", "--ignore", "[", "--", "ls"}), 2, "no regular expression");
    check_one_line(run({"run", "--frobnicate", "ls"}), 2, "--frobnicate");
    check_one_line(run({"run", "--frobnicate", "--", "ls"}), 2, "--frobnicate");
    check_one_line(run({"run", "--summary=x", "--", "ls"}), 2, "--summary takes no value");
    check_one_line(run({"run", "--summary=false", "--", "ls"}), 2, "--summary takes no value");
    check_one_line(run({"export", "--perfetto", "--limit", "3", "-o", "x", "y"}), 2,
                   "--limit goes with --memory-viz");
    check_one_line(run({"export", "--sqlite", "--at-oom", "-o", "x", "y"}), 2,
                   "--at-oom goes with --memory-viz");
    for (const char* jobs : {"0", "-1", "1025", "2x", "many"})
        check_one_line(run({"report", "--jobs", jobs, "x"}), 2,
                       std::string("--jobs takes a number of threads from 1 to 1024, not ") + jobs);
    check_one_line(run({"run", "stray", "--", "ls"}), 2, "stray");
    check_one_line(run({"run", "--stacks", "many", "--", "ls"}), 2, "--stacks");
    check_one_line(run({"run", "--pretend-memory", "lots", "--", "ls"}), 2, "--pretend-memory");
    check_one_line(
        run({"run", "--act", "prefetch,spill", "--", "ls"}), 2,
        "rewrite=SIZE+, rewrite=spill, stage, reuse, pinned, pools, join, batch, skip, auto, plan=FILE "
        "(several with commas between), not spill");
    for (const char* act : {"rewrite=64+M", "rewrite=+", "rewrite=64MB+", "rewrite=64M"})
        check_one_line(run({"run", "--act", act, "--", "ls"}), 2, std::string("not ") + act);
    check_one_line(run({"run", "--budget", "half", "--", "ls"}), 2, "--budget");
    check_one_line(run({"ab", "--act", "stages", "--", "ls"}), 2, "not stages");
    check_one_line(run({"run", "--um", "nvml", "--", "ls"}), 2, "auto, queue, cupti, pagemap or off, not nvml");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_done_is_one_line_and_status_1) {
    check_one_line(run({"report", "/nowhere/trace"}), 1, "No such file");
    check_one_line(run({"dump", "/"}), 1, "is a directory");
    const std::string path = Scenario().path();
    check_one_line(run({"report", "--debug-dir", "/nowhere", path}), 1, "/nowhere: is not a directory");
    check_one_line(run({"report", "--sysroot", "/dev/null", path}), 1, "/dev/null: is not a directory");
    ::unsetenv("DEBUGINFOD_URLS");
    check_one_line(run({"report", "--debuginfod", path}), 1, "DEBUGINFOD_URLS");
}

BOOST_AUTO_TEST_CASE(programs_that_cannot_be_advised) {
    check_one_line(run({"run", "--", "no-such-program"}), 127, "no such program");
    check_one_line(run({"run", "--", "/nowhere/program"}), 127, "no such program");
    check_one_line(run({"run", "--", "/"}), 126, "is a directory");
    check_one_line(run({"run", "--", script("plain", "text", 0644)}), 126, "not executable");
    // The header of a static program: no PT_INTERP among its segments.
    std::string header(64, '\0');
    header.replace(0, 6,
                   std::string("\x7f"
                               "ELF\x02\x01",
                               6));
    header[54] = 56; // e_phentsize
    check_one_line(run({"run", "--", script("static", header)}), 2, "statically linked");
    header[4] = 1;
    check_one_line(run({"run", "--", script("small", header)}), 2, "32-bit");
}

BOOST_AUTO_TEST_CASE(outputs_that_cannot_be_written) {
    const std::string there =
        script("there.umtrace", "", 0644); // cut to nothing: a trace that a full disk left
    check_one_line(run({"run", "-o", there, "--", "true"}), 1, "-f replaces it");
    check_one_line(run({"run", "-o", "/nowhere/x.umtrace", "--", "true"}), 1, "cannot be written");
    check_one_line(run({"run", "-o", "/dev/null", "-f", "--", "true"}), 1, "not a regular file");
    BOOST_TEST(cli::output_trouble(there, true) == "");
    BOOST_TEST(cli::output_trouble(temporary_path("fresh.umtrace"), false) == "");
    // Further processes put a pid before the suffix.
    const std::string suffix = ".umtrace";
    BOOST_TEST(cli::output_trouble(temporary_path(std::string(236, 'x') + suffix), false) == "");
    BOOST_TEST(cli::output_trouble(temporary_path(std::string(237, 'x') + suffix), false).find("too long") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(help_and_version_are_no_errors) {
    BOOST_TEST(run({"--help"}).status == 0);
    BOOST_TEST(run({"--help"}).out.find("Exit status") != std::string::npos);
    BOOST_TEST(run({"run", "--help"}).status == 0);
    BOOST_TEST(run({"--version"}).out.starts_with("umadvisor "));
    const Result topics = run({"help"});
    BOOST_TEST(topics.status == 0);
    for (const char* topic : {"help env", "help coverage", "help man", "help man-shim", "explain", "--help"})
        BOOST_TEST(topics.out.find(std::string("umadvisor ") + topic) != std::string::npos, topics.out);
    const Result variables = run({"help", "env"});
    BOOST_TEST(variables.status == 0);
    for (const char* name : {"UMADVISOR_OUTPUT", "UMADVISOR_QUIET", "UMADVISOR_ACT"})
        BOOST_TEST(variables.out.find(name) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(help_has_two_examples_and_the_statuses_that_are_special) {
    for (const cli::Command* const each : cli::commands()) {
        const std::string help = run({std::string(each->name), "--help"}).out;
        const std::size_t examples = help.find("Examples:\n");
        BOOST_TEST_REQUIRE(examples != std::string::npos, each->name);
        std::size_t lines = 0;
        const std::string begin = "\n  umadvisor " + std::string(each->name);
        for (std::size_t at = help.find(begin, examples); at != std::string::npos;
             at = help.find(begin, at + 1))
            ++lines;
        BOOST_TEST(lines == 2u, help);
    }
    BOOST_TEST(run({"check", "--help"}).out.find("Exit status") != std::string::npos);
    BOOST_TEST(lacks(run({"pack", "--help"}).out, "Exit status"));
}

BOOST_AUTO_TEST_CASE(a_mistyped_word_gets_its_nearest) {
    check_one_line(run({"reprot", "x"}), 2, "unknown command reprot; did you mean report?");
    check_one_line(run({"report", "--jsno", "x"}), 2, "; did you mean --json?");
    check_one_line(run({"run", "--stack", "3", "--", "ls"}), 2, "; did you mean --stacks?");
    const Result far = run({"optimise", "x"});
    check_one_line(far, 2, "unknown command optimise");
    BOOST_TEST(lacks(far.err, "did you mean"));
}

BOOST_AUTO_TEST_CASE(help_says_plainly_how_many_files_there_may_be) {
    for (const auto& [command, usage] : {std::pair{"report", "[FILE...]"},
                                         {"check", "FILE..."},
                                         {"plan", "FILE..."},
                                         {"diff", "FILE FILE"},
                                         {"tree", "FILE"},
                                         {"explain", "[RULE]"},
                                         {"help", "[TOPIC]"}}) {
        const std::string help = run({command, "--help"}).out;
        BOOST_TEST(help.find(std::string("Usage: umadvisor ") + command + " [OPTIONS] " + usage + "\n") !=
                       std::string::npos,
                   help);
        BOOST_TEST(lacks(help, "TEXT"));
    }
}

BOOST_AUTO_TEST_CASE(a_rule_goes_by_its_number_its_id_in_any_case_and_its_name) {
    const std::string page = run({"explain", "UMA-101"}).out;
    for (const char* name : {"101", "uma-101", "Uma-101", "pageable-copy", "Pageable-Copy"})
        BOOST_TEST(run({"explain", name}).out == page, name);
    for (const char* name : {"", "1", "uma-", "UMA-1", "uma-pageable-copy", "101 "})
        BOOST_TEST(run({"explain", name}).status == 2, name);
}

BOOST_AUTO_TEST_CASE(every_rule_has_its_page) {
    for (const rules::Rule* const rule : rules::rules) {
        const Result page = run({"explain", std::string(rule->id)});
        BOOST_TEST(page.status == 0, rule->id);
        BOOST_TEST(page.out.starts_with("# " + std::string(rule->id) + " " + std::string(rule->name) + ": " +
                                        std::string(rule->title) + "\n"),
                   page.out.substr(0, 80));
        BOOST_TEST(lacks(page.out, "## Tests"), rule->id);
        for (const char* part : {"**Seen as**", "**Why it costs.**", "**Before**\n\n    ", "**After**\n\n    ",
                                 "**When to ignore it.**", "**The estimate** is"})
            BOOST_TEST((page.out.find(part) != std::string::npos), rule->id << " has no " << part);
        BOOST_TEST(run({"explain", std::string(rule->name)}).out == page.out);
    }
    BOOST_TEST(cli::rule_pages().size() == rules::rules.size());
}

BOOST_AUTO_TEST_CASE(without_a_rule_there_is_a_line_for_each) {
    std::string headings;
    for (const rules::Rule* const rule : rules::rules) {
        const std::string page = run({"explain", std::string(rule->id)}).out;
        headings += page.substr(2, page.find('\n') - 1);
    }
    const Result list = run({"explain"});
    BOOST_TEST(list.status == 0);
    BOOST_TEST(list.out == headings);
}

BOOST_AUTO_TEST_CASE(the_document_on_recording_counts_the_entry_points_that_the_coverage_lists) {
    std::istringstream table(run({"help", "coverage"}).out);
    std::string all;
    for (std::string line; std::getline(table, line);)
        if (line.starts_with("| all |"))
            all = line;
    int recorded = 0, counted = 0, passed = 0;
    BOOST_TEST_REQUIRE(std::sscanf(all.c_str(), "| all | %d | %d | %d |", &recorded, &counted, &passed) == 3);
    const std::string told = std::to_string(recorded) + " of the " +
                             std::to_string(recorded + counted + passed) + " entry points that umadvisor knows";
    BOOST_TEST(reader::read_whole_file(UMADVISOR_DOCUMENTS "/recording.md", 1 << 20).find(told) !=
                   std::string::npos,
               told);
}

BOOST_AUTO_TEST_CASE(the_document_on_commands_names_all_options_of_run) {
    const std::string commands = reader::read_whole_file(UMADVISOR_DOCUMENTS "/commands.md", 1 << 20);
    const std::size_t start = commands.find("## umadvisor run");
    const std::string table =
        commands.substr(start, commands.find("When the program has ended", start) - start);
    for (const cli::OptionSpec& option : cli::run_command.options) {
        const std::string flag(option.flags.substr(0, option.flags.find(',')));
        BOOST_TEST(table.find("`" + flag) != std::string::npos, flag);
    }
}

BOOST_FIXTURE_TEST_CASE(report_takes_several_files, Scenario) {
    copy(1, 1, {});
    const std::string file = path();
    const Result one = run({"report", "--json", file}), two = run({"report", "--json", file, file});
    BOOST_TEST(one.status == 0);
    BOOST_TEST(nlohmann::json::parse(one.out).is_object());
    BOOST_TEST(nlohmann::json::parse(two.out).size() == 2u);
    BOOST_TEST(run({"report", file, file}).out.find("pid 4242") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(exit_status_and_signals_come_through) {
    BOOST_TEST(cli::run_program(script("seven", "#!/bin/sh\nexit 7\n"), {"seven"}, {}) == 7);
    BOOST_TEST(cli::run_program(script("killed", "#!/bin/sh\nkill -9 $$\n"), {"killed"}, {}) == 128 + SIGKILL);
    BOOST_TEST(cli::run_program(script("bare", "exit 9\n"), {"bare"}, {}) == 9); // no #! line
    BOOST_TEST(
        cli::run_program(script("asks", "#!/bin/sh\n[ \"$UMADVISOR_TEST\" = 'a b' ] && [ \"$1\" = '--x' ]\n"),
                         {"asks", "--x"}, {{"UMADVISOR_TEST", "a b"}}) == 0);
    // SIGINT at the parent is for the program to answer; SIGTERM is passed on.
    BOOST_TEST(cli::run_program(script("interrupts", "#!/bin/sh\nkill -INT $PPID\nsleep 0.1\nexit 3\n"), {"i"},
                                {}) == 3);
    BOOST_TEST(
        cli::run_program(
            script("term", "#!/bin/sh\ntrap 'exit 5' TERM\nkill -TERM $PPID\nwhile :; do sleep 0.05; done\n"),
            {"t"}, {}) == 5);
}

/// What a child writes is collected in files that must not take the place of its standard streams.
BOOST_AUTO_TEST_CASE(a_child_is_heard_by_a_parent_without_standard_streams) {
    const std::string program = script("speaks", "#!/bin/sh\necho out\necho err >&2\n");
    for (const std::vector<int>& closed : {std::vector{0}, {0, 1}, {1}, {0, 1, 2}}) {
        std::vector<int> kept;
        for (const int stream : closed) {
            kept.push_back(::fcntl(stream, F_DUPFD_CLOEXEC, 10));
            ::close(stream);
        }
        const cli::ChildResult result = cli::run_child(program, {"speaks"}, {}, std::chrono::seconds(10));
        for (std::size_t i = 0; i < closed.size(); ++i) {
            ::dup2(kept[i], closed[i]);
            ::close(kept[i]);
        }
        BOOST_TEST(result.status == 0);
        BOOST_TEST(result.out == "out\n");
        BOOST_TEST(result.err == "err\n");
    }
}

BOOST_AUTO_TEST_CASE(preload_keeps_what_is_there) {
    const auto preloaded = [](const std::string& shim) {
        return cli::preload_environment(shim, "").front().second;
    };
    ::unsetenv("LD_PRELOAD");
    BOOST_TEST(preloaded("/a/shim.so") == "/a/shim.so");
    ::setenv("LD_PRELOAD", "libjemalloc.so:b.so", 1);
    BOOST_TEST(preloaded("/a/shim.so") == "/a/shim.so:libjemalloc.so:b.so");
    ::unsetenv("LD_PRELOAD");
}

BOOST_AUTO_TEST_CASE(traces_of_further_processes_are_found) {
    const std::string folder = temporary_path("traces");
    std::filesystem::create_directory(folder);
    for (const char* name : {"run.umtrace", "run.123.umtrace", "run.0.77.umtrace", "run.notes.umtrace",
                             "other.umtrace", "run.txt"})
        std::ofstream(folder + "/" + name) << "x";
    const auto found = cli::find_traces(folder + "/run.umtrace");
    const std::vector<std::string> expected{folder + "/run.umtrace", folder + "/run.0.77.umtrace",
                                            folder + "/run.123.umtrace"};
    BOOST_TEST(found == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(calls_are_named_as_the_program_wrote_them) {
    using tables::call_name;
    BOOST_TEST(call_name("cuMemcpyHtoD_v2", true) == "cudaMemcpy");
    BOOST_TEST(call_name("cuMemcpyDtoHAsync_v2_ptsz", true) == "cudaMemcpyAsync");
    BOOST_TEST(call_name("cuMemAlloc_v2", true) == "cudaMalloc");
    BOOST_TEST(call_name("cuMemAllocManaged", true) == "cudaMallocManaged");
    BOOST_TEST(call_name("cuMemPrefetchAsync_v2_ptsz", true) == "cudaMemPrefetchAsync");
    BOOST_TEST(call_name("cuMemHostAlloc", true) == "cudaMallocHost");
    BOOST_TEST(call_name("cuMemAlloc_v2", false) == "cuMemAlloc");
    BOOST_TEST(call_name("cuSomethingElse_v3", true) == "cuSomethingElse");
    for (const char* moving :
         {"cuMemcpy2D_v2", "cuMemcpyBatchAsync_v2", "cuGraphLaunch", "cuMemsetD2D8", "cuMemCreate", "cuMemMap"})
        BOOST_TEST(tables::moves_memory(moving), moving);
    for (const char* asking :
         {"cuMemGetInfo_v2", "cuCtxGetCurrent", "cuGraphAddMemcpyNode", "cuPointerGetAttribute"})
        BOOST_TEST(!tables::moves_memory(asking), asking);
}

BOOST_FIXTURE_TEST_CASE(options_that_may_be_repeated_take_one_value_each, Scenario) {
    copy_often(256 * mib, 26 * ms, {.stack = stack()});
    const std::string file = path();
    const Result result = run({"report", "--hide", "one", "--hide", "two", "--show", "three", file});
    BOOST_TEST(result.status == 0);
    BOOST_TEST(contains(result.out, "pageable copies"));
    check_one_line(run({"report", "--sysroot", "/", "--sysroot", "/", file}), 2, "--sysroot");
}

BOOST_AUTO_TEST_CASE(symbols_are_kept_where_the_environment_says) {
    const std::string folder = temporary_path("xdg");
    ::setenv("XDG_CACHE_HOME", folder.c_str(), 1);
    BOOST_TEST(cli::stack_options().cache == folder + "/umadvisor/symbols");
    ::setenv("XDG_CACHE_HOME", "relative", 1);
    ::setenv("HOME", "/home/someone", 1);
    BOOST_TEST(cli::stack_options().cache == "/home/someone/.cache/umadvisor/symbols");
    ::unsetenv("XDG_CACHE_HOME");
    BOOST_TEST(cli::stack_options().cache == "/home/someone/.cache/umadvisor/symbols");
    ::unsetenv("HOME");
    BOOST_TEST(cli::stack_options().cache.empty());
    cli::Arguments arguments;
    ::setenv("HOME", "/home/someone", 1);
    arguments.set("--no-cache", {});
    arguments.set("--sysroot", {"/usr/"});
    BOOST_TEST(cli::stack_options(arguments).cache.empty());
    BOOST_TEST(cli::stack_options(arguments).sysroot == "/usr");
}

BOOST_AUTO_TEST_SUITE_END()
