#include "analyzer/cli/prove/proof.hpp"

#include "analyzer/cli/run/trial_text.hpp"

#include <nlohmann/json.hpp>
#include <ostream>

namespace umadvisor::cli {
namespace {

const char* output_text(Likeness likeness) {
    switch (likeness) {
    case Likeness::equal:
        return "changes no output";
    case Likeness::varying:
        return "its effect on the output is unknown, which varies without it (--ignore REGEX leaves parts out)";
    case Likeness::different:
        break;
    }
    return "changes the output";
}

std::string time_text(const Trial& trial) {
    const std::optional<SpeedRatio> ratio = trial.ratio();
    if (!ratio)
        return "time unknown";
    const std::string word = verdict(*ratio);
    return word == "loss" ? "loses time" : word == "gain" ? "gains time" : "no gain in time is shown";
}

const char* likeness_word(Likeness likeness) {
    return likeness == Likeness::equal ? "equal" : likeness == Likeness::varying ? "varies" : "different";
}

} // namespace

bool Proof::holds() const {
    const std::optional<SpeedRatio> ratio = trial.ratio();
    return trial.results().likeness() != Likeness::different && ratio && verdict(*ratio) != std::string("loss");
}

void write_text(const Proof& proof, std::ostream& out) {
    write_trial(proof.trial, out);
    for (const NamedFinding& finding : proof.findings)
        write_text(finding, out);
    if (proof.findings.empty())
        out << "finding:  the diff names none\n";
    out << "patch:    " << time_text(proof.trial) << "; " << output_text(proof.trial.results().likeness())
        << "\n";
}

nlohmann::ordered_json to_json(const Proof& proof) {
    nlohmann::ordered_json document{{"schema", "umadvisor-prove-1"}};
    add_times(document, proof.trial);
    add_results(document, proof.trial);
    document["output"] = likeness_word(proof.trial.results().likeness());
    document["findings"] = nlohmann::ordered_json::array();
    for (const NamedFinding& finding : proof.findings)
        document["findings"].push_back(to_json(finding));
    document["holds"] = proof.holds();
    return document;
}

} // namespace umadvisor::cli
