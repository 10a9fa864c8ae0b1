#include "analyzer/cli/run/recording_trial.hpp"

#include "analyzer/cli/command.hpp"
#include "analyzer/cli/run/child_process.hpp"
#include "analyzer/cli/run/launcher.hpp"
#include "analyzer/cli/run/working_folder.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reader/trace.hpp"
#include "analyzer/rules/words.hpp"

#include <csignal>
#include <dlfcn.h>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <sys/resource.h>

namespace umadvisor::cli {
namespace {

using std::chrono::milliseconds;

/// The line of `text` that has `word`, else its first.
std::string line_with(const std::string& text, std::string_view word) {
    const std::size_t at = std::min(text.find(word), text.size());
    const std::size_t begin = at == text.size() ? 0 : text.rfind('\n', at) + 1;
    return text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin);
}

/// Why a process that asks the driver was ended by `signal`. `early`: it had not come to the driver.
std::string signal_text(int signal, bool early) {
    const std::string process =
        early ? "a process that is to call cuInit" : "a process that opens libcuda.so.1 and calls cuInit";
    const std::string text = fmt::format("{} was killed by signal {}", process, signal);
    rlimit limit{};
    if (signal == SIGXFSZ && ::getrlimit(RLIMIT_FSIZE, &limit) == 0) // its answers are a file, too
        return fmt::format("{}: files may have no more than {} bytes here; raise the limit (ulimit -f)", text,
                           limit.rlim_cur);
    return text + (early ? " before it comes to that" : "; reinstall the NVIDIA driver");
}

DriverTrial run_trial(const Environment& environment, milliseconds allowed) {
    const ChildResult result =
        run_child("/proc/self/exe", {"umadvisor", "doctor", std::string(trial_flag)}, environment, allowed);
    DriverTrial trial;
    trial.words = line_with(result.err, "ld.so");
    bool answered = false;
    trial.cut_short = !result.ended || result.status > 128;
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) { // a driver may have written others
        const auto answer = nlohmann::json::parse(line, nullptr, false);
        if (!answer.is_object())
            continue;
        if (answer.contains("preloaded")) {
            trial.preloaded = answer.value("preloaded", false);
            trial.cut_short = false;
        }
        if (answer.contains("driver")) {
            answered = true;
            trial.probe = probe_of(answer.at("driver"));
        }
    }
    if (result.ended && result.status == 0 && answered) {
        return trial;
    } else if (!result.ended) {
        trial.probe.trouble =
            fmt::format("libcuda.so.1 did not answer within {}; check whether nvidia-smi hangs too, and what "
                        "dmesg says about NVRM and Xid (--timeout waits longer)",
                        text::time_text(std::chrono::nanoseconds(allowed).count()));
    } else if (result.status > 128) {
        trial.probe.trouble = signal_text(result.status - 128, trial.cut_short);
    } else {
        trial.probe.trouble =
            fmt::format("a process that opens libcuda.so.1 and calls cuInit ends with status {}{}",
                        result.status, trial.words.empty() ? "" : ": " + trial.words);
    }
    return trial;
}

/// Why the trace does not show what the program did; empty: it does.
std::string trace_trouble(const reader::Trace& trace) {
    if (!trace.file.completeness().closed || !trace.file.completeness().whole() ||
        trace.dictionary.drivers.empty())
        return "the trace of a preloaded process is not complete";
    const auto& counters = trace.file.header().counters;
    if (std::accumulate(counters.begin(), counters.end(), std::uint64_t{0}) == 0)
        return "a preloaded process called the driver, and none of its calls was seen";
    return {};
}

} // namespace

int run_trial_program(const std::string& shim) {
    const auto tell = [](const nlohmann::json& answer) {
        std::cout << answer.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) << std::endl;
    };
    // Before the driver is asked: whether the shim is here is known whatever becomes of that.
    tell({{"preloaded", ::dlopen(shim.c_str(), RTLD_LAZY | RTLD_NOLOAD) != nullptr}});
    tell({{"driver", to_json(probe_driver())}});
    return done;
}

DriverTrial try_driver(milliseconds allowed) {
    return run_trial({{"LD_PRELOAD", ""}}, allowed);
}

RecordingTrial try_recording(const std::string& shim, milliseconds allowed) {
    RecordingTrial trial;
    try {
        const WorkingFolder folder("doctor");
        trial.tried = true;
        const std::string path = folder / "trial.umtrace";
        trial.driver = run_trial(preload_environment(shim, path), allowed);
        trial.trouble = trial.driver.probe.trouble;
        if (!trial.trouble.empty())
            return trial;
        std::error_code failed;
        if (!std::filesystem::exists(path, failed)) {
            trial.trouble = "a preloaded process called cuInit and left no trace" +
                            (trial.driver.words.empty() ? "" : ": " + trial.driver.words);
            return trial;
        }
        const reader::Trace trace(path);
        trial.trouble = trace_trouble(trace);
        trial.simulated = trace.dictionary.is_simulated();
    } catch (const reader::Error& error) {
        trial.trouble = error.what();
    }
    return trial;
}

} // namespace umadvisor::cli
