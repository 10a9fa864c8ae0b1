/// Rules that judge line by line.
#pragma once

#include "analyzer/facts/cached_map.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/rules/counter.hpp"
#include "analyzer/rules/edited_calls.hpp"
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/profile.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace umadvisor::rules {

/// How often calls were made and how long they took.
struct CallTally {
    std::uint64_t count = 0, ticks = 0;
    std::uint64_t longest_ticks = 0; ///< of one call

    void add(std::uint64_t duration) {
        ++count;
        ticks += duration;
        longest_ticks = std::max(longest_ticks, duration);
    }
    CallTally& operator+=(const CallTally& other) {
        count += other.count;
        ticks += other.ticks;
        longest_ticks = std::max(longest_ticks, other.longest_ticks);
        return *this;
    }
};

/// All that was counted at one line of the program.
template <class Tally>
struct Line {
    const Profile& profile;
    ids::StackId stack{};    ///< stands for all stacks with that line
    std::uint64_t entry = 0; ///< of its call sites, that with most ticks
    Tally tally{};           ///< of all its call sites
    EditedCalls calls{};     ///< all of them

    double ns(std::uint64_t ticks) const { return static_cast<double>(profile.nanoseconds(ticks)); }
    /// A share of the run, but no less than is worth a change of a program.
    double share_of_run(double share) const {
        return std::max(least_saving_ns, share * static_cast<double>(profile.net_ns()));
    }
};

namespace detail {

template <class Key>
ids::StackId stack_of(const Key& key) {
    if constexpr (requires { std::get<0>(key); })
        return std::get<0>(key);
    else
        return key;
}

} // namespace detail

/// Calls `describe(profile, key, line)` for each line. It returns a finding or nothing; a finding without rule,
/// title or line gets them here. `lines` is a map by stack, or by a pair or tuple that begins with one.
/// Findings that save less than `least_ns` are left out.
template <class Lines, class Describe>
std::vector<Finding> judge_lines(const Rule& rule, const Profile& profile, const Lines& lines,
                                 const Describe& describe, double least_ns = least_saving_ns) {
    std::vector<Finding> findings;
    for (const auto& [key, line] : lines) {
        std::optional<Finding> finding = describe(profile, key, line);
        if (!finding || !(finding->saving_ns >= least_ns))
            continue;
        if (finding->rule == nullptr)
            finding->rule = &rule;
        if (finding->title.empty())
            finding->title = finding->rule->title;
        if (!finding->stack.known())
            finding->stack = detail::stack_of(key);
        findings.push_back(std::move(*finding));
    }
    return findings;
}

/// `Of` derives from it, enters what it counts by `at(site)`, and judges: `std::optional<Finding> judge(const
/// Line<Tally>&) const`, whose finding gets the rule, its title and the line. A Tally has `count`, `ticks` and
/// `+=`, and `all` where its site makes more calls than `count`. Memory: one tally a call site.
template <class Of, class Tally = CallTally>
class LineRule : public Counter {
public:
    /// `.find = &LineRule::find<uma_NUMBER>`.
    template <const Rule& rule>
    static std::vector<Finding> find(const Profile& profile, const LineOf& line_of) {
        const Of& counts = profile.counted<Of>();
        std::map<ids::StackId, std::pair<Line<Tally>, std::uint64_t>> lines;
        for (const auto& [site, tally] : counts.sites_.map()) {
            const ids::StackId stack = line_of(site.stack);
            auto& [line, most_ticks] = lines.try_emplace(stack, Line<Tally>{profile, stack}, 0).first->second;
            if (tally.ticks >= most_ticks) {
                most_ticks = tally.ticks;
                line.entry = site.entry;
            }
            line.tally += tally;
            if constexpr (requires(const Tally& each) { each.all; })
                line.calls.add(site, tally.count, tally.all);
            else
                line.calls.add(site, tally.count);
        }
        return judge_lines(
            rule, profile, lines,
            [&](const Profile&, ids::StackId, const auto& line) { return counts.judge(line.first); }, 0);
    }

protected:
    Tally& at(const ids::CallSite& site) { return sites_[site]; }

private:
    facts::CachedMap<std::map<ids::CallSite, Tally>> sites_;
};

} // namespace umadvisor::rules
