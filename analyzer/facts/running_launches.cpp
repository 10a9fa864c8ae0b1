#include "analyzer/facts/running_launches.hpp"

#include <algorithm>

namespace umadvisor::facts {
namespace {

void add_once(std::vector<KernelSite>& sites, const KernelSite& site) {
    if (std::ranges::find(sites, site) == sites.end())
        sites.push_back(site);
}

} // namespace

void RunningLaunches::launch(const KernelSite& site, const WorkQueue& queue, std::uint64_t device,
                             std::uint64_t start) {
    const auto same = std::ranges::find_if(entries_, [&](const Entry& entry) {
        return entry.until == UINT64_MAX && entry.site == site && entry.queue == queue;
    });
    if (same != entries_.end()) {
        same->first = std::min(same->first, start);
        same->last = std::max(same->last, start);
        return;
    }
    if (entries_.size() == most)
        entries_.erase(std::ranges::min_element(entries_, [](const Entry& a, const Entry& b) {
            return a.until != b.until ? a.until < b.until : a.last < b.last;
        }));
    entries_.push_back({site, queue, device, start, start});
}

bool RunningLaunches::wait(const Waited& waited) {
    bool left = false;
    for (Entry& entry : entries_) {
        if (entry.until != UINT64_MAX)
            continue;
        const bool meant =
            waited.whole_context ? entry.queue.context == waited.queue.context : entry.queue == waited.queue;
        if (meant && entry.last <= waited.given)
            entry.until = waited.end;
        else
            left = true;
    }
    return left;
}

void RunningLaunches::running_at(std::uint64_t time, std::uint64_t device,
                                 std::vector<KernelSite>& sites) const {
    for (const Entry& entry : entries_)
        if (entry.first <= time && time < entry.until && entry.device == device)
            add_once(sites, entry.site);
}

void RunningLaunches::outstanding(std::vector<KernelSite>& sites) const {
    for (const Entry& entry : entries_)
        if (entry.until == UINT64_MAX)
            add_once(sites, entry.site);
}

void RecordedEvents::record(std::uint64_t event, const WorkQueue& queue, std::uint64_t time) {
    if (events_.size() >= most && !events_.contains(event))
        events_.clear(); // never destroyed: a damaged trace
    events_[event] = {queue, time};
}

bool RecordedEvents::find(std::uint64_t event, Waited& waited) const {
    const Recorded* const recorded = events_.find(event);
    if (recorded == nullptr)
        return false;
    waited.queue = recorded->queue;
    waited.given = recorded->time;
    return true;
}

} // namespace umadvisor::facts
