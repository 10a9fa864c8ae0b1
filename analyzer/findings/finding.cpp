#include "analyzer/findings/finding.hpp"

#include "analyzer/findings/inside.hpp"
#include "analyzer/findings/replay.hpp"
#include "analyzer/findings/words.hpp"
#include "analyzer/timeline/times.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <tuple>
#include <utility>

namespace umadvisor::findings {
namespace {

constexpr std::array<std::string_view, 3> confidences{"low", "medium", "high"};

/// A pageable copy waits for the device in its own call, and both its rules and the one on such waits count
/// that. Page-locked memory that is kept and page-locked memory that is given up are two remedies for the same
/// calls.
bool same_call(const Finding& one, const Finding& other) {
    const auto copies = [](const Finding& finding) {
        return finding.rule == &rule("UMA-101") || finding.rule == &rule("UMA-102");
    };
    const auto waits = [](const Finding& finding) { return finding.rule == &rule("UMA-503"); };
    const auto locks = [](const Finding& first, const Finding& second) {
        return first.rule == &rule("UMA-407") && second.rule == &rule("UMA-409");
    };
    return one.stack == other.stack && one.stack != 0 &&
           ((copies(one) && waits(other)) || (waits(one) && copies(other)) || locks(one, other) ||
            locks(other, one));
}

/// This many findings, those with the highest price, have a replay of their own; with the replay of all
/// findings together they fill six blocks of `Times`. For the others, the share that all together save counts.
constexpr std::size_t most_replayed = 6 * timeline::Times::count - 1;

/// A finding's saving is the price of what it edits; of that counts what the run would be shorter by. Returns
/// what all edits together bring.
double bound_by_replay(const model::Profile& profile, std::vector<Finding>& all) {
    std::vector<Finding*> edited;
    for (Finding& finding : all)
        if (!finding.edit.changes.empty())
            edited.push_back(&finding);
    if (edited.empty())
        return 0;
    std::ranges::stable_sort(edited, std::ranges::greater{}, &Finding::saving_ns);
    std::vector<timeline::Edit> edits;
    timeline::Edit together;
    for (const Finding* const finding : edited) {
        if (edits.size() < most_replayed)
            edits.push_back(finding->edit);
        std::ranges::copy(finding->edit.changes, std::back_inserter(together.changes));
    }
    edits.push_back(std::move(together));
    const std::vector<timeline::Gain> gains = replay(profile, edits);
    if (gains.empty()) {
        // Rules without a price of their own promise the whole run, and leave it to the replay.
        const auto net_ns = static_cast<double>(profile.net_ns());
        std::erase_if(all, [net_ns](const Finding& finding) {
            return !finding.edit.changes.empty() && finding.saving_ns >= net_ns;
        });
        return 0;
    }
    for (std::size_t i = 0; i < edited.size(); ++i) {
        Finding& finding = *edited[i];
        const bool alone = i + 1 < gains.size();
        const timeline::Gain& gain = alone ? gains[i] : gains.back();
        const double critical_ns = finding.saving_ns * gain.critical_share();
        finding.saving_ns =
            std::min(finding.saving_ns, alone ? std::max(gain.saved_ns, critical_ns) : critical_ns);
        if (profile.replay_error() > most_replay_error)
            finding.confidence = Confidence::low;
    }
    return gains.back().saved_ns;
}

/// Findings without an edit add what they save alone.
double saved_together(const model::Profile& profile, const std::vector<Finding>& all, double edits_ns) {
    double sum = 0, most = 0, others_ns = 0;
    for (const Finding& finding : all) {
        sum += finding.saving_ns;
        most = std::max(most, finding.saving_ns);
        others_ns += finding.edit.changes.empty() ? finding.saving_ns : 0;
    }
    return within_recorded(profile, std::min(sum, std::max(most, edits_ns + others_ns)));
}

/// Calls that fail come before wrong results: the rest of the run may not mean what it seems to. 0: neither.
int urgency(const Finding& finding) {
    return finding.rule == &rule("UMA-701") ? 2 : finding.rule->id.starts_with("UMA-6") ? 1 : 0;
}

/// Neither time nor memory of a run is worth a change that saves so little of it.
bool is_negligible(const model::Profile& profile, const Finding& finding) {
    return urgency(finding) == 0 && finding.saving_bytes == 0 &&
           finding.saving_ns <
               std::max(least_saving_ns, least_saving_of_run * static_cast<double>(profile.net_ns()));
}

/// No finding claims time of the run that another has claimed. Findings with a replay claim first.
void claim_once(const model::Profile& profile, std::vector<Finding>& all) {
    auto left_ns = static_cast<double>(profile.net_ns());
    if (left_ns <= 0)
        return;
    for (const bool replayed : {true, false})
        for (Finding& finding : all)
            if (finding.edit.changes.empty() != replayed) {
                finding.saving_ns = std::min(finding.saving_ns, left_ns);
                left_ns -= finding.saving_ns;
            }
    std::erase_if(all, [&profile](const Finding& finding) { return is_negligible(profile, finding); });
}

/// Those that save most come first.
std::vector<Finding> fold_same_calls(std::vector<Finding> all) {
    std::vector<Finding> kept;
    for (Finding& each : all) {
        const auto larger =
            std::ranges::find_if(kept, [&each](const Finding& other) { return same_call(other, each); });
        if (larger == kept.end())
            kept.push_back(std::move(each));
        else
            fold(*larger, each);
    }
    return kept;
}

} // namespace

std::string_view name(Confidence confidence) {
    return confidences[static_cast<std::size_t>(confidence)];
}

std::optional<Confidence> confidence_called(std::string_view text) {
    const auto found = std::ranges::find(confidences, text);
    if (found == confidences.end())
        return std::nullopt;
    return static_cast<Confidence>(found - confidences.begin());
}

double within_recorded(const model::Profile& profile, double saving_ns) {
    const auto recorded = static_cast<double>(profile.net_ns());
    return recorded > 0 ? std::min(saving_ns, recorded) : saving_ns;
}

void fold(Finding& larger, const Finding& part) {
    larger.parts.push_back({part.rule, part.advice});
    larger.details.push_back("in part also " + std::string(part.rule->id) + ", " + part.title +
                             "; that alone would save " + time_text(part.saving_ns) + ": " + part.advice);
}

Findings find_all(const model::Profile& profile, const LineOf& line_of) {
    std::vector<Finding> all;
    for (auto rule = rules.begin(); rule != rules.end(); ++rule)
        if (std::none_of(rules.begin(), rule, [rule](const Rule& other) { return other.find == rule->find; }))
            std::ranges::move(rule->find(profile, line_of), std::back_inserter(all));
    const auto drop_negligible = [&] {
        std::erase_if(all, [&profile](const Finding& finding) { return is_negligible(profile, finding); });
    };
    keep_inside(profile, all);
    drop_negligible(); // a replay makes none larger
    std::vector<Finding> waits;
    std::ranges::copy_if(all, std::back_inserter(waits), [&profile](const Finding& finding) {
        return finding.rule == &rule("UMA-112") && profile.dictionary().is_python(finding.stack);
    });
    const double edits_ns = bound_by_replay(profile, all);
    for (Finding& finding : all)
        finding.saving_ns = within_recorded(profile, finding.saving_ns);
    drop_negligible();
    std::erase_if(waits, [&all](const Finding& wait) {
        return std::ranges::any_of(all, [&wait](const Finding& finding) {
            return finding.rule == wait.rule && finding.stack == wait.stack;
        });
    });
    std::ranges::stable_sort(all, std::ranges::greater{}, [](const Finding& finding) {
        return std::tuple(urgency(finding), finding.saving_ns, finding.saving_bytes);
    });
    Findings findings{fold_same_calls(std::move(all)), std::move(waits), 0};
    claim_once(profile, findings.all);
    findings.together_ns = saved_together(profile, findings.all, edits_ns);
    return findings;
}

} // namespace umadvisor::findings
