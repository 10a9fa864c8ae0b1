#include "analyzer/advice/needless.hpp"

#include <algorithm>
#include <fmt/core.h>

namespace umadvisor::advice {
namespace {

using timeline::Change;

/// A call site counts as gone if the remedy leaves out at least this share of its calls.
constexpr double least_gone = 0.9;

bool leaves_out(const rules::Finding& finding, const rules::LineOf& line_of, const ids::CallSite& site) {
    if (finding.rule->replaces_copies && line_of(site.stack) == finding.stack)
        return true;
    double gone = 0;
    for (const Change& change : finding.edit.changes)
        if (change.what == Change::What::gone && change.site == site)
            gone += change.share;
    return gone >= least_gone;
}

} // namespace

void note_needless(const rules::LineOf& line_of, std::vector<rules::Finding>& all) {
    for (auto later = all.begin(); later != all.end(); ++later) {
        const std::vector<Change>& changes = later->edit.changes;
        const auto earlier = std::find_if(all.begin(), later, [&](const rules::Finding& finding) {
            return !changes.empty() && std::ranges::all_of(changes, [&](const Change& change) {
                return leaves_out(finding, line_of, change.site);
            });
        });
        if (earlier != later)
            later->details.push_back(fmt::format("not needed once {} above is mended: "
                                                 "its remedy leaves out these calls or most of their bytes",
                                                 earlier->rule->id));
    }
}

} // namespace umadvisor::advice
