#include "analyzer/cli/act_modes.hpp"
#include "analyzer/cli/command.hpp"
#include "analyzer/cli/commands/shim.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/run/live_options.hpp"
#include "analyzer/cli/run/program_file.hpp"
#include "analyzer/cli/run/recorded_run.hpp"
#include "analyzer/cli/run/run_summary.hpp"
#include "analyzer/cli/summary_file.hpp"
#include "analyzer/cli/trace_names.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reader/source.hpp"
#include "trace/act_modes.hpp"
#include "trace/size_text.hpp"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>

namespace umadvisor::cli {
namespace {

int complain(int status, const std::string& text) {
    say(text);
    return status;
}

bool is_number(const std::string& text) {
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_seconds(const std::string& text) {
    const std::size_t point = text.find('.');
    return is_number(text.substr(0, point)) &&
           (point == std::string::npos || is_number(text.substr(point + 1)));
}

/// "a, b or c".
std::string list_of(const std::vector<std::string>& words) {
    std::string text = words.front();
    for (std::size_t i = 1; i < words.size(); ++i)
        text += (i + 1 < words.size() ? ", " : " or ") + words[i];
    return text;
}

/// What is wrong with the options; empty: nothing.
std::string usage_trouble(const Arguments& arguments) {
    if (arguments.rest.empty())
        return "no program given: umadvisor run [options] -- PROGRAM [arguments]";
    const std::string stacks = arguments.value("--stacks");
    if (arguments.has("--stacks") && stacks != "off" && !is_number(stacks))
        return "--stacks takes a number of frames or off, not " + stacks;
    for (const char* flag : {"--budget", "--pretend-memory"})
        if (std::uint64_t bytes = 0; arguments.has(flag) && !trace::parse_size(arguments.value(flag), bytes))
            return fmt::format("{} takes a size such as 512MiB or 8GiB, not {}", flag, arguments.value(flag));
    if (const std::string trouble = act_trouble(arguments.value("--act"), trace::act_words); !trouble.empty())
        return trouble;
    const std::string range = arguments.value("--capture-range");
    if (arguments.has("--capture-range") && range != "none" && range != "cudaProfilerApi")
        return "--capture-range takes none or cudaProfilerApi, not " + range;
    for (const auto& [flag, words] :
         {std::pair{"--um", std::vector<std::string>{"auto", "queue", "cupti", "pagemap", "off"}},
          {"--um-detail", {"auto", "light", "faults", "full"}},
          {"--hash", {"off", "sample", "full"}}})
        if (arguments.has(flag) && std::ranges::find(words, arguments.value(flag)) == words.end())
            return fmt::format("{} takes {}, not {}", flag, list_of(words), arguments.value(flag));
    for (const char* flag : {"--delay", "--duration"})
        if (arguments.has(flag) && !is_seconds(arguments.value(flag)))
            return fmt::format("{} takes a number of seconds such as 2 or 0.5, not {}", flag,
                               arguments.value(flag));
    if (arguments.has("--output") && arguments.value("--output").empty())
        return "--output takes the name of a file";
    return live_trouble(arguments);
}

std::string output_name(const Arguments& arguments) {
    const char* given = std::getenv("UMADVISOR_OUTPUT");
    const std::string name = arguments.has("--output") ? arguments.value("--output")
                             : given != nullptr        ? given
                                                       : "";
    // The program may change its working directory before it enters CUDA.
    return name.empty() ? name : std::filesystem::absolute(name).string();
}

bool forced(const Arguments& arguments) {
    const char* given = std::getenv("UMADVISOR_FORCE");
    return arguments.has("--force") || (given != nullptr && std::string(given) == "1");
}

Environment environment_of(const Arguments& arguments, const std::string& shim, const std::string& output) {
    Environment environment = preload_environment(shim, output);
    add_live_settings(environment, arguments);
    if (arguments.has("--follow-fork"))
        environment.emplace_back("UMADVISOR_FOLLOW_FORK", "1");
    if (arguments.has("--quiet"))
        environment.emplace_back("UMADVISOR_QUIET", "1");
    if (arguments.value("--capture-range") == "cudaProfilerApi")
        environment.emplace_back("UMADVISOR_CAPTURE_RANGE", "1");
    for (const auto& [flag, variable] : {std::pair{"--act", "UMADVISOR_ACT"},
                                         {"--budget", "UMADVISOR_BUDGET"},
                                         {"--delay", "UMADVISOR_DELAY"},
                                         {"--duration", "UMADVISOR_DURATION"},
                                         {"--pretend-memory", "UMADVISOR_PRETEND_MEMORY"},
                                         {"--stacks", "UMADVISOR_STACKS"},
                                         {"--um", "UMADVISOR_UM"},
                                         {"--um-detail", "UMADVISOR_UM_DETAIL"},
                                         {"--hash", "UMADVISOR_HASH"}})
        if (arguments.has(flag))
            environment.emplace_back(variable, arguments.value(flag));
    return environment;
}

/// What a killed program has left in memory goes to its trace, as it does whenever a trace is opened.
void write_what_is_left(const std::string& path) {
    try {
        const reader::Source opened(path);
    } catch (const reader::Error&) { // the command that reads the trace reports it
    }
}

/// So that a limit on the size of files (RLIMIT_FSIZE) ends neither this process nor, as an ignored signal
/// would be (execve(2)), anything in the program's.
void outlive_file_limit() {
    if (::signal(SIGXFSZ, [](int) {}) == SIG_IGN)
        ::signal(SIGXFSZ, SIG_IGN);
}

int run(const Arguments& arguments) {
    if (const std::string trouble = usage_trouble(arguments); !trouble.empty())
        return complain(usage_error, trouble);
    const ProgramFile program = find_program(arguments.rest.front());
    if (!program.trouble.empty())
        return complain(program.status, program.trouble);
    const std::string named = output_name(arguments); // each process adds its own rank
    const std::string output = rank_output(named);
    if (const std::string trouble = output_trouble(output, forced(arguments)); !trouble.empty())
        return complain(operational_error, trouble);
    const std::string shim = find_shim();
    if (const std::string trouble = shim_trouble(shim); !trouble.empty())
        return complain(operational_error, trouble);

    if (!output.empty() && forced(arguments)) {
        write_what_is_left(output); // or its segment would stay for good
        std::error_code failed;     // should it stay, the program says so
        std::filesystem::remove(output, failed);
        if (const std::string summary = summary_name(output); ranks::holds_summaries(summary))
            std::filesystem::remove(summary, failed); // of the trace that was there
    }
    const bool quiet = arguments.has("--quiet");
    outlive_file_limit();
    drop_unread_messages();
    const RecordedRun ran =
        record_run(program.path, arguments.rest, environment_of(arguments, shim, named), output, quiet);
    if (!ran.known)
        return ran.status;
    if (!ran.listed && records_on_request(arguments)) { // what was written meanwhile is another run's
        if (!quiet)
            say("no trace: no process recorded; umadvisor attach PID begins a recording while the program "
                "runs");
        return ran.status;
    }
    // After the program has ended: what measures its device would disturb it.
    for (const std::string& line : add_rates(ran, !arguments.has("--no-calibrate")))
        if (!quiet)
            say(line);
    if (!quiet)
        summarize(ran.processes, ran.listed, arguments.has("--summary"));
    else if (arguments.has("--summary"))
        keep_summaries(ran.processes);
    else
        for (const RunProcess& process : ran.processes)
            write_what_is_left(process.path);
    return ran.status;
}

} // namespace

const Command run_command{
    "run",
    "Run a program under the advisor: umadvisor run [options] -- PROGRAM [arguments]",
    "PROGRAM",
    1,
    0,
    with_live_options(
        {{"-o,--output", "FILE",
          "Trace file; a rank of a job adds its rank before the suffix, a further process its pid. Default: "
          "PROGRAM.PID.umtrace in the working directory, for a rank PROGRAM.RANK.PID.umtrace"},
         {"-f,--force", "", "Replace an existing trace file"},
         {"-c,--capture-range", "none|cudaProfilerApi",
          "cudaProfilerApi: record only between cudaProfilerStart and cudaProfilerStop"},
         {"-y,--delay", "SECONDS", "Start recording after the program has run this long"},
         {"-d,--duration", "SECONDS", "Stop recording after this many seconds"},
         {"--follow-fork", "", "Also trace forked children of a process that had initialised CUDA"},
         {"--act", "LIST",
          "Change what the program does: "
#define MODE(name, words, ...) words ", "
#include "trace/act.def"
          "auto (all that give up what does not pay), plan=FILE (of umadvisor plan)"},
         {"--budget", "SIZE",
          "Device memory that --act rewrite may make managed, on each device; default: the card's memory, for "
          "rewrite=spill half of the host's free memory"},
         {"--pretend-memory", "SIZE", "Pretend that the card has less memory"},
         {"--stacks", "off|N", "Frames recorded with each call"},
         {"--um", "SOURCE",
          "Source of events of managed memory: auto (queue where the driver was tested, otherwise pagemap; "
          "with "
          "--act but without relieve pagemap), queue (the driver's tools queue, also with an untested "
          "release), "
          "cupti (no other profiler can then use CUPTI), pagemap, off"},
         {"--um-detail", "LEVEL",
          "Events read from the queue: auto (light, and full in short windows while memory moves; with --act "
          "light), light, faults, full"},
         {"--hash", "LEVEL",
          "Hash the bytes of copies between host and device to find repeated ones: sample (some bytes, all "
          "where "
          "they may repeat; the default without --act), full, off"},
         {"--no-calibrate", "",
          "Do not calibrate an uncalibrated device after the program has ended (calibration takes 1 to 2 s, "
          "once "
          "for each kind of device)"},
         {"--summary", "",
          "Write a summary beside each trace (.umsum, at most 100 KB), with which umadvisor merge compares the "
          "ranks of a job"},
         {"-q,--quiet", "", "Print no messages, neither here nor in the program"}}),
    &run,
    true};

} // namespace umadvisor::cli
