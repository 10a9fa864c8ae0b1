#include "analyzer/rules/transfers/copy_runs.hpp"
#include "analyzer/facts/waiting.hpp"

#include "analyzer/facts/direction.hpp"

#include <algorithm>

namespace umadvisor::rules {

void CopyRuns::add(const trace::Copy& record, std::uint32_t thread) {
    const bool from_host = facts::is_host_memory(record.source_memory),
               to_host = facts::is_host_memory(record.destination_memory);
    if (record.origin != trace::Origin::program || record.status != 0)
        return;
    if (from_host == to_host || record.batch != 0 || record.captured != 0)
        return end(thread);
    Run* run = &runs_[thread];
    const ids::CallSite site{record.stack, record.entry};
    auto member = std::ranges::find(run->members, site, &Member::site);
    if (run->copies != 0 &&
        (run->up != from_host || (member == run->members.end() && run->members.size() == most_sites) ||
         (run->last != site && run->turns > most_turns))) {
        end(thread);
        member = run->members.end();
    }
    if (member == run->members.end()) {
        run->members.push_back({site});
        member = run->members.end() - 1;
    }
    run->turns = run->copies != 0 && run->last == site ? run->turns + 1 : 1;
    run->last = site;
    run->up = from_host;
    ++run->copies;
    ++run->unawaited;
    ++(record.bytes < tables::small_copy_bytes ? member->small : member->large);
}

void CopyRuns::add(const trace::Sync& record, std::uint32_t thread) {
    if (!facts::waits_for_work(record))
        return;
    Run* const run = runs_.find(thread);
    if (run != nullptr && !run->up && run->unawaited == 1)
        run->unawaited = 0; // the wait for one download is part of it
    else
        end(thread);
}

void CopyRuns::end(std::uint32_t thread) {
    if (Run* const run = runs_.find(thread))
        end(*run);
}

void CopyRuns::end(Run& run) {
    std::uint64_t small = 0;
    std::vector<ids::CallSite> sites;
    if (run.copies >= 2) // most end with none or one
        for (const Member& member : run.members) {
            sites.push_back(member.site);
            small += member.small;
        }
    std::ranges::sort(sites);
    if (small != 0 && (kinds_.size() < most_kinds || kinds_.contains(sites))) {
        RunTotals& totals = kinds_[sites];
        ++totals.rounds;
        // One call stays; where one of them is large, it is that.
        const double spared = small < run.copies ? 1 : 1 - 1 / static_cast<double>(small);
        for (const Member& member : run.members)
            if (member.small != 0) {
                RunCopies& copies = totals.small[member.site];
                copies.copies += member.small;
                copies.spared += static_cast<double>(member.small) * spared;
            }
    }
    run.members.clear();
    run.copies = run.unawaited = 0;
}

void CopyRuns::finish() {
    runs_.for_each([this](Run& run) { end(run); });
}

} // namespace umadvisor::rules
