#include "analyzer/reports/plan/plan_staging.hpp"

#include "analyzer/reader/saturated.hpp"

namespace umadvisor::reports {

using Json = nlohmann::ordered_json;

void PlanStaging::add(advice::Report& report, bool acted, PlanEntries& never) {
    Sites sites;
    for (const auto& [stack, totals] : report.profile.staging_sites().sites()) {
        const std::uint64_t key = stack_key(report, stack);
        if (key != 0 && totals.given_up != 0)
            never[key] = never_entry(report, stack, "the driver turned out to be faster");
        else if (key != 0 && totals.left != 0 && !never.contains(key))
            never[key] = never_entry(report, stack, "an earlier plan names it");
        const tables::Tally& copies = acted ? totals.staged : totals.stageable;
        if (copies.count == 0 || totals.given_up != 0)
            continue;
        const std::string line = plan_line(report, stack);
        Site& site = sites.try_emplace(key != 0 ? key_text(key) : line, Site{key, line}).first->second;
        reader::add_saturated(site.copies, copies.count);
        reader::add_saturated(site.bytes, copies.bytes);
    }
    // What passes in a run, not in all of them together.
    for (auto& [name, site] : sites)
        if (Site& known = sites_.try_emplace(name, site).first->second; known.bytes < site.bytes)
            known = site;
}

Json PlanStaging::stage(const PlanEntries& never) const {
    Json list = Json::array();
    for (const auto& [name, site] : sites_) {
        if (never.contains(site.key))
            continue;
        Json& entry = list.emplace_back();
        if (site.key != 0)
            entry["key"] = key_text(site.key);
        entry.update({{"line", site.line}, {"copies", site.copies}, {"bytes", site.bytes}});
    }
    return list;
}

} // namespace umadvisor::reports
