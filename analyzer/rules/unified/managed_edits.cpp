#include "analyzer/rules/unified/managed_edits.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace umadvisor::rules {
namespace {

using What = timeline::Change::What;

/// At most 1; 0 of nothing.
double share(double part, double all) {
    return all > 0 ? std::min(1.0, part / all) : 0;
}

struct Calls {
    std::vector<ids::CallSite> sites;
    facts::QueuedWork work; ///< of all of them
};

Calls calls_from(const Profile& profile, const std::set<ids::StackId>& stacks) {
    const auto& all = profile.device_work();
    Calls calls;
    for (const ids::StackId stack : stacks)
        for (auto site = all.lower_bound({stack, 0}); site != all.end() && site->first.stack == stack; ++site) {
            calls.sites.push_back(site->first);
            calls.work.add(site->second);
        }
    return calls;
}

void add(timeline::Edit& edit, const Calls& calls, timeline::Change each) {
    for (const ids::CallSite& site : calls.sites) {
        each.site = site;
        edit.changes.push_back(each);
    }
}

} // namespace

timeline::Edit lighter_work(const Profile& profile, const WorkSites& sites, const Spared& spared) {
    timeline::Edit edit;
    const Calls launches = calls_from(profile, sites.launches),
                prefetches = calls_from(profile, sites.prefetches);
    const double host_ns = launches.work.behind_ns + (spared.at_once ? launches.work.beside_ns : 0);
    timeline::Change lighter;
    lighter.what = What::shorter;
    lighter.less_share = share(spared.device_ns, launches.work.device_ns);
    lighter.less_after_share = share(spared.host_ns, host_ns);
    lighter.at_once = spared.at_once;
    if (lighter.less_share > 0 || lighter.less_after_share > 0)
        add(edit, launches, lighter);
    timeline::Change gone;
    gone.what = What::gone;
    gone.share = share(static_cast<double>(spared.prefetches), static_cast<double>(prefetches.work.calls));
    if (gone.share > 0)
        add(edit, prefetches, gone);
    return edit;
}

} // namespace umadvisor::rules
