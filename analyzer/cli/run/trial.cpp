#include "analyzer/cli/run/trial.hpp"

#include "analyzer/cli/message.hpp"
#include "analyzer/cli/run/launcher.hpp"
#include "analyzer/cli/run/working_directory.hpp"
#include "analyzer/cli/trace_names.hpp"

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

namespace umadvisor::cli {
namespace {

constexpr std::size_t usual_runs = 5;

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

void show_errors(const std::string& kept) {
    std::ifstream errors(kept, std::ios::binary);
    for (std::string line; std::getline(errors, line);)
        if (!line.starts_with("umadvisor: wrote ")) // a trace that is gone
            std::cerr << line << "\n";
}

} // namespace

Trial::Trial(TrialPlan plan, const std::vector<std::string>& compared)
    : plan_(std::move(plan)), results_(folder_ / ".", folder_ / "output", compared, plan_.result_names) {}

/// Which of the two comes first changes from pair to pair, so that a machine that grows slower is no gain.
void Trial::run_pairs(std::size_t runs) {
    runs_ = runs;
    if (!run(Arm::bare, true) || !run(Arm::repaired, true))
        return;
    for (std::size_t pair = 0; pair < runs; ++pair) {
        const bool last = pair + 1 == runs;
        const Arm first = pair % 2 == 0 ? Arm::bare : Arm::repaired;
        const Arm second = first == Arm::bare ? Arm::repaired : Arm::bare;
        if (!run(first, false, last) || !run(second, false, last))
            return;
    }
}

bool Trial::run(Arm arm, bool warm_up, bool last) {
    const Side& side = plan_.sides[static_cast<int>(arm)];
    const WorkingDirectory there(side.folder);
    const StandardStreams streams{"/dev/null", folder_ / "output", folder_ / "errors"};
    const std::string report = folder_ / "simulated.json";
    Environment environment;
    if (std::getenv("SIMCUDA_REPORT") == nullptr)
        environment.emplace_back("SIMCUDA_REPORT", report);
    const bool recorded = !side.shim.empty();
    if (recorded) {
        const std::string trace = folder_ / "run.umtrace";
        for (auto& variable :
             preload_environment(side.shim, last && !plan_.kept_trace.empty() ? plan_.kept_trace : trace))
            environment.push_back(std::move(variable));
        environment.emplace_back("UMADVISOR_ACT", side.act);
    }
    results_.expect();
    const auto begin = std::chrono::steady_clock::now();
    const int status = run_program(side.program, side.command, environment, streams);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    const std::optional<double> simulated = take_simulated_seconds(report);
    if (recorded && !last)
        entered_cuda_ |= remove_traces();
    const bool failed = status != 0 && (!plan_.failure_counts || status >= least_no_result);
    if (warm_up || failed)
        show_errors(streams.err);
    if (!first_status_)
        first_status_ = failed ? status : 0;
    if (first_status_ != 0)
        return false;
    if (side.clean)
        side.clean(streams.out);
    results_.add(arm, status);
    if (failed)
        return false;
    if (!warm_up) {
        seconds_[static_cast<int>(arm)].push_back(time.count());
        if (simulated)
            simulated_[static_cast<int>(arm)].push_back(*simulated);
    }
    return true;
}

bool Trial::simulated() const {
    return !seconds_[0].empty() && simulated_[0].size() == seconds_[0].size() &&
           simulated_[1].size() == seconds_[1].size();
}

std::optional<SpeedRatio> Trial::ratio() const {
    const std::vector<double>&bare = seconds(Arm::bare), &repaired = seconds(Arm::repaired);
    if (bare.size() != runs_ || repaired.size() != runs_)
        return std::nullopt;
    return speed_ratio(bare, repaired);
}

bool Trial::remove_traces() {
    const std::vector<std::string> traces = find_traces(folder_ / "run.umtrace");
    std::error_code ignored; // they go with the folder
    for (const std::string& trace : traces)
        std::filesystem::remove(trace, ignored);
    return !traces.empty();
}

std::optional<std::size_t> runs_of(const Arguments& arguments) {
    if (!arguments.has("--runs"))
        return usual_runs;
    const std::string text = arguments.value("--runs");
    std::size_t runs = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), runs);
    if (error == std::errc() && end == text.data() + text.size() && runs >= least_runs && runs <= most_runs)
        return runs;
    say(fmt::format("--runs takes a number from {} to {}, not {}", least_runs, most_runs, text));
    return std::nullopt;
}

} // namespace umadvisor::cli
