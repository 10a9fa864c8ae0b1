#include "analyzer/cli/act_modes.hpp"
#include "analyzer/cli/command.hpp"
#include "analyzer/cli/commands/shim.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/run/launcher.hpp"
#include "analyzer/cli/run/program_file.hpp"
#include "analyzer/cli/run/run_results.hpp"
#include "analyzer/cli/run/speed_ratio.hpp"
#include "analyzer/cli/run/working_folder.hpp"
#include "analyzer/cli/trace_names.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/text/json_text.hpp"
#include "trace/act_modes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

namespace umadvisor::cli {
namespace {

constexpr const char* usual_act = "prefetch";
constexpr std::size_t usual_runs = 5;

/// The program that one arm of a trial runs.
struct Side {
    std::string program;
    std::vector<std::string> command;
};

/// Two builds of a program, or one program bare and repaired. Repaired runs are what `umadvisor run --act`
/// would make them, recording and all: that is what a user would run, and its cost counts. Builds are not
/// recorded.
struct Plan {
    Side sides[2]; ///< by arm
    ArmNames names;
    bool builds = false;
    std::string act, shim, kept_trace; ///< without builds

    const Side& side(Arm arm) const { return sides[static_cast<int>(arm)]; }
    const char* name(Arm arm) const { return names[static_cast<int>(arm)]; }
};

/// The time that simcuda's clock showed at the end of a run, from the report that it writes (SIMCUDA_REPORT);
/// nothing: the run did not use it. Its model takes the time that a device would, and the host's time says
/// nothing there.
std::optional<double> take_simulated_seconds(const std::string& report) {
    std::ifstream file(report, std::ios::binary);
    const nlohmann::json document = nlohmann::json::parse(file, nullptr, false);
    std::error_code ignored;
    std::filesystem::remove(report, ignored);
    if (!document.is_object() || !document.contains("clock_ns") || !document["clock_ns"].is_number())
        return std::nullopt;
    return document["clock_ns"].get<double>() / 1e9;
}

/// Runs both sides time after time.
class Trial {
public:
    Trial(Plan plan, const std::vector<std::string>& compared)
        : plan_(std::move(plan)),
          results_(folder_ / ".", folder_ / "output", compared,
                   plan_.builds ? ArmNames{"--before", "--after"} : plan_.names) {}

    /// One run of that arm. False: it ended otherwise than the first run, so that its time says nothing.
    bool run(Arm arm, bool warm_up, bool last = false) {
        StandardStreams streams{"/dev/null", folder_ / "output", folder_ / "errors"};
        const std::string report = folder_ / "simulated.json";
        Environment environment;
        if (std::getenv("SIMCUDA_REPORT") == nullptr)
            environment.emplace_back("SIMCUDA_REPORT", report);
        const bool recorded = !plan_.builds && arm == Arm::repaired;
        if (recorded) {
            const std::string trace = folder_ / "run.umtrace";
            for (auto& variable :
                 preload_environment(plan_.shim, last && !plan_.kept_trace.empty() ? plan_.kept_trace : trace))
                environment.push_back(std::move(variable));
            environment.emplace_back("UMADVISOR_ACT", plan_.act);
        }
        results_.expect();
        const auto begin = std::chrono::steady_clock::now();
        const int status = run_program(plan_.side(arm).program, plan_.side(arm).command, environment, streams);
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
        const std::optional<double> simulated = take_simulated_seconds(report);
        if (recorded && !last)
            entered_cuda_ |= remove_traces();
        if (warm_up || status != 0)
            show_errors(streams.err);
        if (!first_status_)
            first_status_ = status;
        if (first_status_ != 0)
            return false;
        results_.add(arm, status);
        if (status != 0)
            return false;
        if (!warm_up) {
            seconds_[static_cast<int>(arm)].push_back(time.count());
            if (simulated)
                simulated_[static_cast<int>(arm)].push_back(*simulated);
        }
        return true;
    }

    const Plan& plan() const { return plan_; }
    int first_status() const { return first_status_.value_or(0); }
    bool entered_cuda() const { return entered_cuda_; }
    /// The times are those of simcuda's clock: each run used it.
    bool simulated() const {
        return !seconds_[0].empty() && simulated_[0].size() == seconds_[0].size() &&
               simulated_[1].size() == seconds_[1].size();
    }
    const RunResults& results() const { return results_; }
    const std::vector<double>& seconds(Arm arm) const {
        return (simulated() ? simulated_ : seconds_)[static_cast<int>(arm)];
    }

private:
    bool remove_traces() {
        const std::vector<std::string> traces = find_traces(folder_ / "run.umtrace");
        std::error_code ignored; // they go with the folder
        for (const std::string& trace : traces)
            std::filesystem::remove(trace, ignored);
        return !traces.empty();
    }
    static void show_errors(const std::string& kept) {
        std::ifstream errors(kept, std::ios::binary);
        for (std::string line; std::getline(errors, line);)
            if (!line.starts_with("umadvisor: wrote ")) // a trace that is gone
                std::cerr << line << "\n";
    }

    WorkingFolder folder_{"ab"};
    Plan plan_;
    RunResults results_;
    std::optional<int> first_status_;
    bool entered_cuda_ = false;
    std::vector<double> seconds_[2], simulated_[2]; ///< by arm
};

/// Which of the two comes first changes from pair to pair, so that a machine that grows slower is no gain.
void alternate(Trial& trial, std::size_t runs) {
    if (!trial.run(Arm::bare, true) || !trial.run(Arm::repaired, true))
        return;
    for (std::size_t pair = 0; pair < runs; ++pair) {
        const bool last = pair + 1 == runs;
        const Arm first = pair % 2 == 0 ? Arm::bare : Arm::repaired;
        const Arm second = first == Arm::bare ? Arm::repaired : Arm::bare;
        if (!trial.run(first, false, last) || !trial.run(second, false, last))
            return;
    }
}

/// Of a whole trial; nothing where a run ended otherwise.
std::optional<SpeedRatio> ratio_of(const Trial& trial, std::size_t runs) {
    const std::vector<double>&bare = trial.seconds(Arm::bare), &repaired = trial.seconds(Arm::repaired);
    if (bare.size() != runs || repaired.size() != runs)
        return std::nullopt;
    return speed_ratio(bare, repaired);
}

const char* verdict(const SpeedRatio& ratio) {
    return ratio.low > 1 ? "gain" : ratio.high < 1 ? "loss" : "no gain";
}

std::string number_text(const char* format, double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), format, value);
    return text.data();
}

void write_trial(const Trial& trial, std::size_t runs, std::ostream& out) {
    for (const Arm arm : {Arm::bare, Arm::repaired}) {
        const std::vector<double>& seconds = trial.seconds(arm);
        if (seconds.empty())
            continue;
        const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
        const std::string name = trial.plan().name(arm);
        out << name << ":" << std::string(9 - name.size(), ' ') << "median "
            << text::time_text(median(seconds) * 1e9) << " of " << text::count_text(seconds.size(), "run")
            << (trial.simulated() ? " on simcuda, simulated time" : "") << " (" << text::time_text(*least * 1e9)
            << " to " << text::time_text(*most * 1e9) << ")"
            << (trial.plan().builds    ? ", " + trial.plan().side(arm).command.front()
                : arm == Arm::repaired ? ", --act " + trial.plan().act
                                       : "")
            << "\n";
    }
    const std::vector<std::string> differences = trial.results().differences();
    for (const std::string& line : differences)
        out << "results:  " << line << "\n";
    if (differences.empty()) {
        out << "results:  equal in all runs";
        const char* separator = ": ";
        for (const std::string& result : trial.results().compared()) {
            out << separator << result;
            separator = ", ";
        }
        out << "\n";
    }
    if (const std::optional<SpeedRatio> ratio = ratio_of(trial, runs)) {
        const std::string told = verdict(*ratio);
        out << told << ":" << std::string(9 - told.size(), ' ') << number_text("%.3g", ratio->ratio)
            << " times as fast (" << number_text("%.1f", 100 * ratio->confidence) << "% interval "
            << number_text("%.3g", ratio->low) << " to " << number_text("%.3g", ratio->high)
            << (told == "no gain" ? ", which includes 1)" : ")") << "\n";
    }
}

nlohmann::ordered_json trial_json(const Trial& trial, std::size_t runs) {
    const Plan& plan = trial.plan();
    nlohmann::ordered_json document{{"schema", "umadvisor-ab-1"}};
    if (!plan.builds) {
        document["command"] = plan.side(Arm::repaired).command;
        document["act"] = plan.act;
    }
    document["runs"] = runs;
    document["simulated_time"] = trial.simulated();
    for (const Arm arm : {Arm::bare, Arm::repaired}) {
        const std::vector<double>& seconds = trial.seconds(arm);
        nlohmann::ordered_json& object = document[plan.name(arm)];
        if (plan.builds)
            object["command"] = plan.side(arm).command;
        object["median_s"] =
            seconds.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(median(seconds));
        object["times_s"] = seconds;
    }
    document["speed_ratio"] = nullptr;
    document["verdict"] = nullptr;
    if (const std::optional<SpeedRatio> ratio = ratio_of(trial, runs)) {
        document["speed_ratio"] = {{"ratio", ratio->ratio},
                                   {"low", ratio->low},
                                   {"high", ratio->high},
                                   {"confidence", ratio->confidence}};
        document["verdict"] = verdict(*ratio);
    }
    if (!plan.builds)
        document["entered_cuda"] = trial.entered_cuda();
    document["equal"] = trial.results().differences().empty();
    document["differences"] = trial.results().differences();
    return document;
}

int refuse(int status, const std::string& text) {
    say(text);
    return status;
}

/// Why the options do not go together; empty: they do.
std::string usage_trouble(const Arguments& arguments) {
    const bool before = arguments.has("--before"), after = arguments.has("--after");
    if (before != after)
        return fmt::format("{} needs {}: umadvisor ab --before BUILD --after BUILD -- [arguments]",
                           before ? "--before" : "--after", before ? "--after" : "--before");
    if (before)
        for (const char* option : {"--act", "--output", "--force"})
            if (arguments.has(option))
                return fmt::format("{} is for repaired runs: runs of --before and --after are not recorded",
                                   option);
    if (!before && arguments.rest.empty())
        return "no program given: umadvisor ab [options] -- PROGRAM [arguments]";
    return act_trouble(arguments.value("--act"), trace::act_words);
}

/// Makes the plan of a trial, or says why it cannot be made and returns the exit status.
int make_plan(const Arguments& arguments, Plan& plan) {
    plan.builds = arguments.has("--before");
    if (plan.builds) {
        plan.names = {"before", "after"};
        for (const Arm arm : {Arm::bare, Arm::repaired}) {
            const std::string build = arguments.value(arm == Arm::bare ? "--before" : "--after");
            const ProgramFile program = find_program(build);
            if (!program.trouble.empty() && program.status != usage_error) // nothing is preloaded
                return refuse(program.status, program.trouble);
            Side& side = plan.sides[static_cast<int>(arm)];
            side = {program.path, {build}};
            side.command.insert(side.command.end(), arguments.rest.begin(), arguments.rest.end());
        }
        return done;
    }
    plan.names = {"bare", "repaired"};
    plan.act = arguments.has("--act") ? arguments.value("--act") : usual_act;
    const ProgramFile program = find_program(arguments.rest.front());
    if (!program.trouble.empty())
        return refuse(program.status, program.trouble);
    plan.sides[0] = plan.sides[1] = {program.path, arguments.rest};
    if (arguments.has("--output")) // a name with its rank gets none again
        plan.kept_trace = rank_output(std::filesystem::absolute(arguments.value("--output")).string());
    if (const std::string trouble = output_trouble(plan.kept_trace, arguments.has("--force"));
        !plan.kept_trace.empty() && !trouble.empty())
        return refuse(operational_error, trouble);
    plan.shim = find_shim();
    if (const std::string trouble = shim_trouble(plan.shim); !trouble.empty())
        return refuse(operational_error, trouble);
    if (!plan.kept_trace.empty()) {
        std::error_code failed; // should it stay, the program says so
        std::filesystem::remove(plan.kept_trace, failed);
    }
    return done;
}

int ab(const Arguments& arguments) {
    std::size_t runs = usual_runs;
    if (const std::string text = arguments.value("--runs"); arguments.has("--runs")) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), runs);
        if (error != std::errc() || end != text.data() + text.size() || runs < least_runs || runs > most_runs)
            return refuse(usage_error, fmt::format("--runs takes a number from {} to {}, not {}", least_runs,
                                                   most_runs, text));
    }
    if (const std::string trouble = usage_trouble(arguments); !trouble.empty())
        return refuse(usage_error, trouble);
    Plan plan;
    if (const int status = make_plan(arguments, plan); status != done)
        return status;
    const bool builds = plan.builds;
    Trial trial(std::move(plan), arguments.values("--compare"));
    alternate(trial, runs);
    if (trial.first_status() != 0)
        return refuse(trial.first_status(),
                      fmt::format("{}, with {}: there is nothing to compare",
                                  builds ? trial.plan().side(Arm::bare).command.front() + " fails"
                                         : "the program fails by itself",
                                  status_text(trial.first_status())));
    if (arguments.has("--json"))
        std::cout << text::json_text(trial_json(trial, runs), 2) << "\n";
    else
        write_trial(trial, runs, std::cout);
    if (!builds && !trial.entered_cuda())
        say("no process of the program entered CUDA: there was nothing to repair");
    return trial.results().differences().empty() ? done : results_differ;
}

} // namespace

const Command ab_command{
    "ab",
    "Run a program bare and repaired in turn, or two builds of it, compare results and times: umadvisor ab "
    "[options] -- PROGRAM [arguments], or umadvisor ab --before BUILD --after BUILD -- [arguments]",
    "PROGRAM",
    1,
    0,
    {{"--act", "LIST", "What is done in the repaired runs, as in umadvisor run; default: prefetch"},
     {"--before", "BUILD", "Compare two builds, neither of them recorded: this program, before a change"},
     {"--after", "BUILD", "... and this one, after it; both get the arguments after --"},
     {"-n,--runs", "N", "Runs of each, from 4 to 100, after one of each to warm up; default: 5"},
     {"--compare", "FILE", "A file that each run writes: its bytes must be the same in all of them", true},
     {"-o,--output", "FILE", "Keep the trace of the last repaired run; those of the others are removed"},
     {"-f,--force", "", "Replace an existing trace file"},
     {"--json", "", "Times, ratio and differences as JSON"}},
    &ab,
    true};

} // namespace umadvisor::cli
