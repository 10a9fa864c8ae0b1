#include "analyzer/cli/run/trial_text.hpp"

#include "analyzer/text/figures.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>

namespace umadvisor::cli {
namespace {

std::string number_text(const char* format, double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), format, value);
    return text.data();
}

void write_times(const Trial& trial, Arm arm, std::ostream& out) {
    const std::vector<double>& seconds = trial.seconds(arm);
    if (seconds.empty())
        return;
    const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
    const std::string name = trial.name(arm), words = trial.side(arm).words;
    out << name << ":" << std::string(9 - name.size(), ' ') << "median "
        << text::time_text(median(seconds) * 1e9) << " of " << text::count_text(seconds.size(), "run")
        << (trial.simulated() ? " on simcuda, simulated time" : "") << " (" << text::time_text(*least * 1e9)
        << " to " << text::time_text(*most * 1e9) << ")" << (words.empty() ? "" : ", ") << words << "\n";
}

void write_results(const RunResults& results, std::ostream& out) {
    const std::vector<std::string> differences = results.differences();
    for (const std::string& line : differences)
        out << "results:  " << line << "\n";
    if (!differences.empty())
        return;
    out << "results:  equal in all runs";
    const char* separator = ": ";
    for (const std::string& result : results.compared()) {
        out << separator << result;
        separator = ", ";
    }
    out << "\n";
}

} // namespace

const char* verdict(const SpeedRatio& ratio) {
    return ratio.low > 1 ? "gain" : ratio.high < 1 ? "loss" : "no gain";
}

void write_trial(const Trial& trial, std::ostream& out) {
    write_times(trial, Arm::bare, out);
    write_times(trial, Arm::repaired, out);
    write_results(trial.results(), out);
    if (const std::optional<SpeedRatio> ratio = trial.ratio()) {
        const std::string word = verdict(*ratio);
        out << word << ":" << std::string(9 - word.size(), ' ') << number_text("%.3g", ratio->ratio)
            << " times as fast (" << number_text("%.1f", 100 * ratio->confidence) << "% interval "
            << number_text("%.3g", ratio->low) << " to " << number_text("%.3g", ratio->high)
            << (word == "no gain" ? ", which includes 1)" : ")") << "\n";
    }
}

void add_times(nlohmann::ordered_json& document, const Trial& trial) {
    document["runs"] = trial.runs();
    document["simulated_time"] = trial.simulated();
    for (const Arm arm : {Arm::bare, Arm::repaired}) {
        const std::vector<double>& seconds = trial.seconds(arm);
        nlohmann::ordered_json& object = document[trial.name(arm)];
        object["command"] = trial.side(arm).command;
        object["median_s"] =
            seconds.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(median(seconds));
        object["times_s"] = seconds;
    }
    document["speed_ratio"] = nullptr;
    document["verdict"] = nullptr;
    if (const std::optional<SpeedRatio> ratio = trial.ratio()) {
        document["speed_ratio"] = {{"ratio", ratio->ratio},
                                   {"low", ratio->low},
                                   {"high", ratio->high},
                                   {"confidence", ratio->confidence}};
        document["verdict"] = verdict(*ratio);
    }
}

void add_results(nlohmann::ordered_json& document, const Trial& trial) {
    document["equal"] = trial.results().differences().empty();
    document["differences"] = trial.results().differences();
}

} // namespace umadvisor::cli
