#include "analyzer/advice/inside.hpp"

#include <algorithm>

namespace umadvisor::advice {
namespace {

/// A line where the host touches memory is no call: there the stacks of the finding's `places` decide.
bool lies_outside(const rules::Finding& finding) {
    if (!finding.touched_by_host)
        return finding.stack.outside();
    return !finding.places.empty() &&
           std::ranges::all_of(finding.places, [](const auto& place) { return place.second.outside(); });
}

/// Removes the changes that lie outside. Returns false if that leaves an edit without changes.
bool change_inside(timeline::Edit& edit) {
    if (edit.changes.empty())
        return true;
    std::erase_if(edit.changes, [](const timeline::Change& change) { return change.site.stack.outside(); });
    return !edit.changes.empty();
}

} // namespace

void keep_inside(const rules::Profile& profile, std::vector<rules::Finding>& findings) {
    if (!profile.inside())
        return;
    std::erase_if(findings, [](rules::Finding& finding) {
        return lies_outside(finding) || !change_inside(finding.edit);
    });
    for (rules::Finding& finding : findings) {
        finding.allocation_stack = finding.allocation_stack.plain();
        for (auto& [what, stack] : finding.places)
            stack = stack.plain();
    }
}

} // namespace umadvisor::advice
