#include "analyzer/cli/act_modes.hpp"
#include "analyzer/cli/command.hpp"
#include "analyzer/cli/commands/shim.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/run/program_file.hpp"
#include "analyzer/cli/run/trial.hpp"
#include "analyzer/cli/run/trial_text.hpp"
#include "analyzer/cli/trace_names.hpp"
#include "analyzer/text/json_text.hpp"
#include "trace/act_modes.hpp"

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

namespace umadvisor::cli {
namespace {

constexpr const char* usual_act = "prefetch";

nlohmann::ordered_json trial_json(const Trial& trial, bool builds) {
    nlohmann::ordered_json document{{"schema", "umadvisor-ab-1"}};
    if (!builds) {
        document["command"] = trial.side(Arm::repaired).command;
        document["act"] = trial.side(Arm::repaired).act;
    }
    add_times(document, trial);
    if (!builds)
        document["entered_cuda"] = trial.entered_cuda();
    add_results(document, trial);
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

/// Two builds of a program, which are not recorded. Returns the exit status where they cannot be run, said why.
int plan_builds(const Arguments& arguments, TrialPlan& plan) {
    plan.names = {"before", "after"};
    plan.result_names = {"--before", "--after"};
    for (const Arm arm : {Arm::bare, Arm::repaired}) {
        const std::string build = arguments.value(arm == Arm::bare ? "--before" : "--after");
        const ProgramFile program = find_program(build);
        if (!program.trouble.empty() && program.status != usage_error) // nothing is preloaded
            return refuse(program.status, program.trouble);
        Side& side = plan.sides[static_cast<int>(arm)];
        side = {program.path, {build}, build};
        side.command.insert(side.command.end(), arguments.rest.begin(), arguments.rest.end());
    }
    return done;
}

/// One program bare and repaired, in the same way.
int plan_repair(const Arguments& arguments, TrialPlan& plan) {
    plan.names = plan.result_names = {"bare", "repaired"};
    const ProgramFile program = find_program(arguments.rest.front());
    if (!program.trouble.empty())
        return refuse(program.status, program.trouble);
    Side &bare = plan.sides[0], &repaired = plan.sides[1];
    bare = repaired = {program.path, arguments.rest};
    repaired.act = arguments.has("--act") ? arguments.value("--act") : usual_act;
    repaired.words = "--act " + repaired.act;
    if (arguments.has("--output")) // a name with its rank gets none again
        plan.kept_trace = rank_output(std::filesystem::absolute(arguments.value("--output")).string());
    if (const std::string trouble = output_trouble(plan.kept_trace, arguments.has("--force"));
        !plan.kept_trace.empty() && !trouble.empty())
        return refuse(operational_error, trouble);
    repaired.shim = find_shim();
    if (const std::string trouble = shim_trouble(repaired.shim); !trouble.empty())
        return refuse(operational_error, trouble);
    if (!plan.kept_trace.empty()) {
        std::error_code failed; // should it stay, the program says so
        std::filesystem::remove(plan.kept_trace, failed);
    }
    return done;
}

int ab(const Arguments& arguments) {
    const std::optional<std::size_t> runs = runs_of(arguments);
    if (!runs)
        return usage_error;
    if (const std::string trouble = usage_trouble(arguments); !trouble.empty())
        return refuse(usage_error, trouble);
    const bool builds = arguments.has("--before");
    TrialPlan plan;
    if (const int status = (builds ? plan_builds : plan_repair)(arguments, plan); status != done)
        return status;
    Trial trial(std::move(plan), arguments.values("--compare"));
    trial.run_pairs(*runs);
    if (trial.first_status() != 0)
        return refuse(trial.first_status(),
                      fmt::format("{}, with {}: there is nothing to compare",
                                  builds ? trial.side(Arm::bare).command.front() + " fails"
                                         : "the program fails by itself",
                                  status_text(trial.first_status())));
    if (arguments.has("--json"))
        std::cout << text::json_text(trial_json(trial, builds), 2) << "\n";
    else
        write_trial(trial, std::cout);
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
