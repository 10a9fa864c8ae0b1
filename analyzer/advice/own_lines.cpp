#include "analyzer/advice/own_lines.hpp"
#include "analyzer/rules/python/statements.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace umadvisor::advice {
namespace {

const std::string touched_by_library =
    "the host touches it here, in a library that the program called; the caller was not recorded";

/// The Python line that ran while calls were made outside Python.
struct Meanwhile {
    ids::StackId line;
    bool within = false; ///< it had begun and went on
};

/// Judged by the Python calls before and after. A line that made both was running meanwhile. Otherwise the line
/// after waited for the work, or, where PyTorch computes gradients, the line before started it.
Meanwhile python_meanwhile(const rules::Statements& statements, ids::StackId stack,
                           const rules::LineOf& line_of, const std::function<bool(ids::StackId)>& is_own,
                           bool by_starter) {
    std::map<ids::StackId, std::uint64_t> within, beside;
    std::uint64_t all = 0;
    for (const auto& [site, steps] : statements.background()) {
        if (line_of(site.stack) != stack)
            continue;
        for (const auto& [step, count] : steps) {
            const ids::StackId before = line_of(statements.sites()[step.first].site.stack),
                               behind = line_of(statements.sites()[step.second].site.stack);
            all += count;
            (before == behind ? within : beside)[before == behind || by_starter ? before : behind] += count;
        }
    }
    const auto best_of = [&is_own](const std::map<ids::StackId, std::uint64_t>& lines) {
        std::pair<ids::StackId, std::uint64_t> best;
        for (const auto& line : lines)
            if (line.second > best.second && is_own(line.first))
                best = line;
        return best;
    };
    const auto inside = best_of(within), near = best_of(beside);
    if (2 * inside.second >= all && inside.second != 0)
        return {inside.first, true};
    return {near.second >= inside.second ? near.first : inside.first, false};
}

} // namespace

void prefer_python_lines(std::vector<rules::Finding>& findings, const rules::Profile& profile,
                         const rules::LineOf& line_of, const std::function<bool(ids::StackId)>& is_own,
                         const rules::FrameworkOf& framework_of) {
    const rules::Statements& statements = profile.counted<rules::Statements>();
    if (statements.background().empty())
        return;
    for (rules::Finding& finding : findings) {
        if (!finding.stack.known() || profile.dictionary().is_python(finding.stack) || is_own(finding.stack))
            continue;
        const Meanwhile meanwhile =
            python_meanwhile(statements, line_of(finding.stack), line_of, is_own,
                             framework_of(finding.stack) == symbols::PythonFramework::torch);
        if (!meanwhile.line.known())
            continue;
        finding.summary +=
            meanwhile.within
                ? "; a thread of the framework does this while the program is at this line"
                : "; a thread of the framework does this shortly before or after the program is at this line";
        finding.details.emplace_back(
            "the framework makes these calls by itself: what the program can change is "
            "which of the host's arrays it passes, and how often");
        finding.places.emplace(finding.places.begin(), "done here, in a thread of the framework",
                               std::exchange(finding.stack, meanwhile.line));
        finding.confidence =
            std::min(finding.confidence, meanwhile.within ? rules::Confidence::medium : rules::Confidence::low);
    }
}

void prefer_own_lines(std::vector<rules::Finding>& findings, const std::function<bool(ids::StackId)>& is_own) {
    for (rules::Finding& finding : findings) {
        if (!finding.touched_by_host || is_own(finding.stack))
            continue;
        const auto own = std::ranges::find_if(
            finding.places, [&](const auto& place) { return place.second.known() && is_own(place.second); });
        if (own != finding.places.end()) {
            finding.summary += "; " + std::exchange(own->first, touched_by_library);
            std::swap(finding.stack, own->second);
        } else if (finding.allocation_stack.known() && is_own(finding.allocation_stack)) {
            finding.places.emplace(finding.places.begin(), touched_by_library, finding.stack);
            finding.stack = finding.allocation_stack;
        }
    }
}

} // namespace umadvisor::advice
