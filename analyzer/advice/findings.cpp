#include "analyzer/advice/findings.hpp"

#include "analyzer/advice/inside.hpp"
#include "analyzer/advice/memory_modes.hpp"
#include "analyzer/advice/needless.hpp"
#include "analyzer/advice/order_check.hpp"
#include "analyzer/advice/replay.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/timeline/clock.hpp"
#include "analyzer/timeline/jobs.hpp"
#include "analyzer/timeline/times.hpp"

#include <algorithm>
#include <array>
#include <future>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

namespace umadvisor::advice {
namespace {

/// Hosts differ by this factor in how long they take to lock, touch and copy pages: fresh pages were touched at
/// 1.8 to 4.5 GB/s.
constexpr double host_spread = 3;

/// True if both findings count the time of the same calls.
bool same_call(const rules::Finding& one, const rules::Finding& other) {
    return one.stack == other.stack && one.stack.known() &&
           (one.rule->same_calls_as == other.rule || other.rule->same_calls_as == one.rule);
}

/// This many findings, those with the highest price, have a replay of their own; with the replay of all
/// findings together they fill six blocks of `Times`. For the others, the share that all together save counts.
constexpr std::size_t most_replayed = 6 * timeline::Times::count - 1;

/// The time that all edits together save: the best estimate, and the least and most that the recorded calls
/// allow.
struct Together {
    double saved_ns = 0, at_least_ns = 0, at_most_ns = 0;
    timeline::Spared spared;
};

/// At most this many of the dearest findings are replayed under both assumptions where the recorded calls do
/// not decide how the run went. With all edits together and the unedited run, each assumption fills a block.
constexpr std::size_t most_bounded = timeline::Times::count - 2;
/// A range is reported where its ends differ by this share of the larger, and by `least_saving_of_run`.
constexpr double least_range = 0.25;
/// Each further replay takes time: it is done only if at least this share of the run is undecided, as much as
/// a finding that is reported in full saves.
constexpr double least_open_of_run = 0.01;

bool is_range(const rules::Profile& profile, double at_least_ns, double at_most_ns) {
    return at_most_ns - at_least_ns > least_range * at_most_ns &&
           at_most_ns - at_least_ns > rules::least_saving_of_run * static_cast<double>(profile.net_ns());
}

/// Whether the edit lets the host continue before data has arrived that it may read.
bool leaves_waits_out(const timeline::Edit& edit) {
    return std::ranges::any_of(edit.changes, [](const timeline::Change& change) { return change.data_needed; });
}

/// Indices of the findings to replay under both assumptions: the dearest whose saving the recorded calls leave
/// open by enough to be reported as a range.
std::vector<std::size_t> undecided(const rules::Profile& profile, std::span<const rules::Finding* const> edited,
                                   std::size_t alone) {
    const double open_ns = profile.clock().undecided_ns();
    const bool much = open_ns > least_open_of_run * static_cast<double>(profile.net_ns());
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < std::min(edited.size(), alone) && result.size() < most_bounded; ++i)
        if ((much && open_ns > least_range * edited[i]->saving_ns) || leaves_waits_out(edited[i]->edit))
            result.push_back(i);
    return result;
}

constexpr std::array ways{timeline::Assumed::short_work, timeline::Assumed::long_work};

/// Adds replays of `chosen`, of all together and of the run as it is, one way and the other.
void add_ways(std::vector<timeline::Edit>& edits, const std::vector<std::size_t>& chosen) {
    if (chosen.empty())
        return;
    const std::size_t together = edits.size() - 1;
    for (const timeline::Assumed way : ways) {
        const auto add = [&](std::vector<timeline::Change> changes) {
            edits.push_back({std::move(changes), way});
        };
        for (const std::size_t each : chosen)
            add(edits[each].changes);
        add(edits[together].changes);
        add({});
    }
}

/// The run as it is, which takes as long each way but for what is off, is the last.
std::vector<timeline::Gain> gains_of_way(std::span<const timeline::Gain> gains) {
    std::vector<timeline::Gain> result(gains.begin(), gains.end() - 1);
    for (timeline::Gain& gain : result)
        gain.saved_ns -= gains.back().saved_ns;
    return result;
}

double gained(double price_ns, const timeline::Gain& gain) {
    return std::min(price_ns, std::max(gain.saved_ns, price_ns * gain.critical_share()));
}

/// The edits that one replay of a run follows side by side.
struct Edits {
    std::vector<timeline::Edit>
        replayed;                    ///< of each finding, dearest first; of all together; of `chosen`, each way
    std::size_t together = 0;        ///< index of that of all together
    std::vector<std::size_t> chosen; ///< findings that are replayed both ways
};

/// Findings with an edit, dearest first.
std::vector<rules::Finding*> edited_of(std::vector<rules::Finding>& all) {
    std::vector<rules::Finding*> edited;
    for (rules::Finding& finding : all)
        if (!finding.edit.changes.empty())
            edited.push_back(&finding);
    std::ranges::stable_sort(edited, std::ranges::greater{}, &rules::Finding::saving_ns);
    return edited;
}

Edits edits_of(const rules::Profile& profile, std::vector<rules::Finding>& all) {
    const std::vector<rules::Finding*> edited = edited_of(all);
    Edits edits;
    if (edited.empty())
        return edits;
    timeline::Edit together;
    for (const rules::Finding* const finding : edited) {
        if (edits.replayed.size() < most_replayed)
            edits.replayed.push_back(finding->edit);
        std::ranges::copy(finding->edit.changes, std::back_inserter(together.changes));
    }
    edits.together = edits.replayed.size();
    edits.replayed.push_back(std::move(together));
    edits.chosen = undecided(profile, edited, edits.together);
    add_ways(edits.replayed, edits.chosen);
    return edits;
}

/// A finding's saving is the price of what it edits, but no more than the time by which the run gets shorter.
Together bound_by_replay(const rules::Profile& profile, std::vector<rules::Finding>& all, const Edits& edits,
                         Replayed replayed) {
    const std::vector<rules::Finding*> edited = edited_of(all);
    if (edited.empty())
        return {};
    const std::size_t last = edits.together;
    const std::vector<std::size_t>& chosen = edits.chosen;
    const std::vector<timeline::Gain>& gains = replayed.gains;
    if (gains.empty()) {
        // Rules without a price of their own promise the whole run, and leave it to the replay.
        const auto net_ns = static_cast<double>(profile.net_ns());
        std::erase_if(all, [net_ns](const rules::Finding& finding) {
            return !finding.edit.changes.empty() && finding.saving_ns >= net_ns;
        });
        return {};
    }
    std::vector<double> prices;
    for (std::size_t i = 0; i < edited.size(); ++i) {
        rules::Finding& finding = *edited[i];
        prices.push_back(finding.saving_ns);
        finding.saving_ns =
            i < last ? gained(finding.saving_ns, gains[i]) : finding.saving_ns * gains[last].critical_share();
        const double kept = prices.back() > 0 ? finding.saving_ns / prices.back() : 0;
        finding.saving_at_least_ns *= kept; // that the rule knows of
        finding.saving_at_most_ns *= kept;
        if (profile.replay_error() > rules::most_replay_error)
            finding.confidence = rules::Confidence::low;
    }
    Together all_edits{gains[last].saved_ns, gains[last].saved_ns, gains[last].saved_ns,
                       std::move(replayed.spared)};
    if (chosen.empty())
        return all_edits;
    const std::size_t of_way = chosen.size() + 2;
    for (std::size_t way = 0; way < ways.size(); ++way) {
        const std::vector<timeline::Gain> ended =
            gains_of_way(std::span(gains).subspan(last + 1 + way * of_way, of_way));
        for (std::size_t i = 0; i < chosen.size(); ++i) {
            rules::Finding& finding = *edited[chosen[i]];
            const double edited_ns = gains[chosen[i]].edited_ns;
            // If the calls waited for less time, more of their duration was their own work.
            const double dearer = edited_ns > 0 ? std::max(1.0, ended[i].edited_ns / edited_ns) : 1;
            const double end_ns = std::max(0.0, gained(prices[chosen[i]] * dearer, ended[i]));
            const bool first = way == 0 && finding.saving_at_most_ns == 0;
            const double least_ns = first ? finding.saving_ns : finding.saving_at_least_ns;
            finding.saving_at_least_ns = std::min(least_ns, end_ns);
            finding.saving_at_most_ns = std::max({finding.saving_ns, finding.saving_at_most_ns, end_ns});
        }
        all_edits.at_least_ns = std::min(all_edits.at_least_ns, ended.back().saved_ns);
        all_edits.at_most_ns = std::max(all_edits.at_most_ns, ended.back().saved_ns);
    }
    return all_edits;
}

/// The ends of what calls allow stay around the saving, and are left out where they are close to it.
void tidy_ranges(const rules::Profile& profile, std::vector<rules::Finding>& all) {
    for (rules::Finding& finding : all) {
        const double least_ns = std::min(finding.saving_at_least_ns, finding.saving_ns);
        const double most_ns =
            std::max(rules::within_recorded(profile, finding.saving_at_most_ns), finding.saving_ns);
        const bool told = finding.saving_at_most_ns > 0 && is_range(profile, least_ns, most_ns);
        finding.saving_at_least_ns = told ? least_ns : 0;
        finding.saving_at_most_ns = told ? most_ns : 0;
    }
}

/// Findings without an edit add what they save alone.
double saved_together(const rules::Profile& profile, const std::vector<rules::Finding>& all, double edits_ns) {
    double sum = 0, most = 0, others_ns = 0;
    for (const rules::Finding& finding : all) {
        sum += finding.saving_ns;
        most = std::max(most, finding.saving_ns);
        others_ns += finding.edit.changes.empty() ? finding.saving_ns : 0;
    }
    return rules::within_recorded(profile, std::min(sum, std::max(most, edits_ns + others_ns)));
}

/// A change that saves so little of a run's time or memory is not worth making.
bool is_negligible(const rules::Profile& profile, const rules::Finding& finding) {
    return finding.rule->urgency == rules::Urgency::saving && finding.saving_bytes == 0 &&
           finding.saving_ns < std::max(rules::least_saving_ns,
                                        rules::least_saving_of_run * static_cast<double>(profile.net_ns()));
}

/// Limits what all findings together claim of the calls that hold their thread to the time that these calls
/// took. The finding that saves most claims first. A finding whose edit also changes other calls, or the host's
/// work around a call, can save more than these calls: it neither claims here nor is limited.
void claim_calls_once(const rules::Profile& profile, const rules::LineOf& line_of,
                      std::vector<rules::Finding>& all) {
    struct Calls {
        double left_ns = 0;
        const rules::Rule* claimed_by = nullptr;
    };
    std::map<ids::CallSite, Calls> sites;
    for (rules::Finding* const finding : edited_of(all)) {
        std::map<ids::CallSite, Calls*> claimed;
        const bool of_calls_alone =
            finding->statement_ns == 0 &&
            std::ranges::all_of(finding->edit.changes, [&](const timeline::Change& change) {
                if (finding->rule->moves_own_line_only && line_of(change.site.stack) != finding->stack)
                    return true;
                const auto held = profile.waits().ticks().find(change.site);
                if (held == profile.waits().ticks().end() || change.less_before_ns > 0 ||
                    change.less_after_share > 0)
                    return false;
                const auto left_ns = static_cast<double>(profile.nanoseconds(held->second));
                claimed.emplace(change.site, &sites.try_emplace(change.site, Calls{left_ns}).first->second);
                return true;
            });
        if (!of_calls_alone)
            continue;
        double left_ns = 0;
        const rules::Rule* other = nullptr;
        for (const auto& [site, calls] : claimed) {
            left_ns += calls->left_ns;
            other = calls->claimed_by != nullptr ? calls->claimed_by : other;
        }
        if (other != nullptr && finding->saving_ns > left_ns) {
            finding->details.push_back(fmt::format(
                "{} of what it saves alone is time of the same calls that {} saves, and is counted there",
                rules::time_text(finding->saving_ns - left_ns), other->id));
            finding->saving_ns = left_ns;
            for (double* const end : {&finding->saving_at_least_ns, &finding->saving_at_most_ns})
                *end = std::min(*end, left_ns);
        }
        for (const auto& [site, calls] : claimed) {
            calls->left_ns *= left_ns > 0 ? std::max(0.0, 1 - finding->saving_ns / left_ns) : 0;
            calls->claimed_by = finding->rule;
        }
    }
}

/// No finding claims time of the run that another has claimed. Findings with a replay claim first.
void claim_once(const rules::Profile& profile, std::vector<rules::Finding>& all) {
    auto left_ns = static_cast<double>(profile.net_ns());
    if (left_ns <= 0)
        return;
    for (const bool replayed : {true, false})
        for (rules::Finding& finding : all)
            if (finding.edit.changes.empty() != replayed) {
                finding.saving_ns = std::min(finding.saving_ns, left_ns);
                left_ns -= finding.saving_ns;
            }
    std::erase_if(all, [&profile](const rules::Finding& finding) { return is_negligible(profile, finding); });
}

/// Where the host was not measured, a remedy may cost there what it saves elsewhere.
void doubt_host_prices(const rules::Profile& profile, std::vector<rules::Finding>& all) {
    if (profile.knows_host())
        return;
    for (rules::Finding& finding : all) {
        const double doubt_ns =
            (host_spread - 1) * finding.host_cost_ns + (1 - 1 / host_spread) * finding.host_gain_ns;
        if (doubt_ns == 0 || finding.saving_ns > doubt_ns)
            continue;
        finding.confidence = rules::Confidence::low;
        finding.details.push_back(
            "on this host the remedy may cost as much time as it saves: the recording machine was not "
            "calibrated, so page-locking, first touch and host copies are priced as on an H200's host (run "
            "umadvisor calibrate, then record again)");
    }
}

/// A finding that keeps no more than this share of its calls repeats another finding.
constexpr double least_left = 0.1;

/// A call can be left out once. Of each call site, the findings that save more leave out their calls first, and
/// the others only what these keep. Findings that become one leave out the same calls.
void leave_out_once(std::vector<rules::Finding>& all) {
    std::map<ids::CallSite, std::vector<std::pair<const rules::Finding*, double>>> left_out;
    std::set<const rules::Finding*> said;
    for (rules::Finding* const finding : edited_of(all)) {
        double wanted = 0, got = 0;
        for (timeline::Change& change : finding->edit.changes) {
            wanted += change.share;
            if (change.what == timeline::Change::What::gone) {
                auto& of_site = left_out[change.site];
                double left = 1;
                for (const auto& [other, share] : of_site)
                    left -= same_call(*other, *finding) ? 0 : share;
                change.share = std::clamp(left, 0.0, change.share);
                of_site.emplace_back(finding, change.share);
            }
            got += change.share;
        }
        std::erase_if(finding->edit.changes, [](const timeline::Change& change) { return change.share <= 0; });
        if (got < wanted)
            finding->saving_ns *= got / wanted;
        if (got < least_left * wanted)
            said.insert(finding);
    }
    std::erase_if(all, [&said](const rules::Finding& finding) { return said.contains(&finding); });
}

/// Those that save most come first.
std::vector<rules::Finding> fold_same_calls(std::vector<rules::Finding> all) {
    std::vector<rules::Finding> kept;
    for (rules::Finding& each : all) {
        const auto larger =
            std::ranges::find_if(kept, [&each](const rules::Finding& other) { return same_call(other, each); });
        if (larger == kept.end())
            kept.push_back(std::move(each));
        else
            rules::fold(*larger, each);
    }
    return kept;
}

} // namespace

Findings find_all(const rules::Profile& profile, const rules::LineOf& line_of) {
    std::vector<rules::Finding> all;
    std::set<rules::Find*> done;
    for (const rules::Rule* const rule : rules::rules)
        if (done.insert(rule->find).second)
            std::ranges::move(rule->find(profile, line_of), std::back_inserter(all));
    for (rules::Finding& finding : all)
        finding.price_ns = finding.saving_ns;
    std::vector<rules::Finding> unpriced = keep_to_machine(profile, all);
    doubt_host_prices(profile, all);
    leave_out_once(all);
    const auto drop_negligible = [&] {
        std::erase_if(all,
                      [&profile](const rules::Finding& finding) { return is_negligible(profile, finding); });
    };
    keep_inside(profile, all);
    drop_negligible(); // a replay makes none larger
    Edits edits = edits_of(profile, all);
    const auto start_replay = [&profile](const Edits& of) {
        return timeline::beside([&profile, of] { return replay(profile, of.replayed, of.together); });
    };
    // Nearly always, all remedies keep the order that the program needs, and this replay is the one that
    // counts.
    std::future<Replayed> replayed = start_replay(edits);
    const std::size_t before_check = all.size();
    std::vector<rules::Finding> stopped = keep_order(profile, line_of, all, unpriced);
    if (all.size() != before_check) {
        edits = edits_of(profile, all);
        replayed = start_replay(edits);
    }
    for (rules::Finding& finding : stopped)
        finding.saving_ns = 0;
    std::vector<rules::Finding> waits;
    std::ranges::copy_if(all, std::back_inserter(waits), [&profile](const rules::Finding& finding) {
        return finding.rule->in_statement && profile.dictionary().is_python(finding.stack);
    });
    Together saved = bound_by_replay(profile, all, edits, replayed.get());
    for (rules::Finding& finding : all)
        finding.saving_ns = rules::within_recorded(profile, finding.saving_ns);
    drop_negligible();
    std::erase_if(waits, [&all](const rules::Finding& wait) {
        return std::ranges::any_of(all, [&wait](const rules::Finding& finding) {
            return finding.rule == wait.rule && finding.stack == wait.stack;
        });
    });
    std::ranges::stable_sort(all, std::ranges::greater{}, [](const rules::Finding& finding) {
        return std::tuple(!finding.harmless, finding.rule->urgency, finding.saving_ns, finding.saving_bytes);
    });
    Findings findings{.all = fold_same_calls(std::move(all)),
                      .hidden = std::move(waits),
                      .unpriced = std::move(unpriced),
                      .stopped = std::move(stopped),
                      .spared = std::move(saved.spared)};
    note_needless(line_of, findings.all);
    claim_calls_once(profile, line_of, findings.all);
    claim_once(profile, findings.all);
    tidy_ranges(profile, findings.all);
    findings.together_ns = saved_together(profile, findings.all, saved.saved_ns);
    const double least_ns = std::max(0.0, findings.together_ns - (saved.saved_ns - saved.at_least_ns));
    const double most_ns =
        rules::within_recorded(profile, findings.together_ns + (saved.at_most_ns - saved.saved_ns));
    if (is_range(profile, least_ns, most_ns)) {
        findings.together_at_least_ns = least_ns;
        findings.together_at_most_ns = most_ns;
    }
    return findings;
}

} // namespace umadvisor::advice
