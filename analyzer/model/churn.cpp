#include "analyzer/model/churn.hpp"

#include <algorithm>

namespace umadvisor::model {
namespace {

bool is_followed(trace::Memory memory) {
    return memory == trace::Memory::device || memory == trace::Memory::managed ||
           memory == trace::Memory::pinned || memory == trace::Memory::registered;
}

} // namespace

double ChurnTotals::own_free_ticks() const {
    if (busy_frees == 0)
        return static_cast<double>(idle_ticks);
    const double usual = idle_frees != 0 ? static_cast<double>(idle_ticks) / static_cast<double>(idle_frees)
                                         : static_cast<double>(quickest_busy);
    return static_cast<double>(idle_ticks) +
           std::min(static_cast<double>(busy_ticks), usual * static_cast<double>(busy_frees));
}

double ChurnTotals::kept_ticks() const {
    if (largest_pairs == 0)
        return 0;
    const double all_frees = static_cast<double>(free_ticks());
    const double frees =
        all_frees > 0 ? own_free_ticks() * static_cast<double>(largest_free_ticks) / all_frees : 0;
    return static_cast<double>(peak_live) * (static_cast<double>(largest_alloc_ticks) + frees) /
           static_cast<double>(largest_pairs);
}

void Churn::add(const trace::Alloc& record) {
    if (record.status != 0 || record.captured != 0 || record.part != 0 || !is_followed(record.memory) ||
        record.origin != trace::Origin::program || record.symbol != 0 ||
        dictionary_.is_stream_ordered(record.entry))
        return;
    ChurnTotals& totals = sites_[{record.stack, record.entry, record.memory}];
    totals.peak_live = std::max(totals.peak_live, ++totals.live);
    if (totals.first == 0)
        totals.first = record.start;
    live_[record.allocation] = {&totals, record.start, record.duration, record.bytes};
}

void Churn::add(const trace::Free& record) {
    const Live* const found = live_.find(record.allocation);
    if (record.status != 0 || record.captured != 0 || found == nullptr)
        return;
    const Live live = *found;
    ChurnTotals& totals = *live.totals;
    live_.erase(record.allocation);
    --totals.live;
    if (record.part != 0)
        return; // what freed it has a record of its own: the end of a context
    ++totals.pairs;
    totals.bytes += live.bytes;
    totals.alloc_ticks += live.duration;
    totals.lifetime_ticks += record.start - std::min(record.start, live.start);
    totals.last = std::max(totals.last, record.start + record.duration);
    if (live.bytes > totals.largest_bytes)
        totals.largest_pairs = totals.largest_alloc_ticks = totals.largest_free_ticks = 0;
    if (live.bytes >= totals.largest_bytes) {
        totals.largest_bytes = live.bytes;
        ++totals.largest_pairs;
        totals.largest_alloc_ticks += live.duration;
        totals.largest_free_ticks += record.duration;
    }
    totals.free_stack = record.stack;
    totals.free_entry = record.entry;
    if (queued_) {
        totals.quickest_busy =
            totals.busy_frees == 0 ? record.duration : std::min(totals.quickest_busy, record.duration);
        ++totals.busy_frees;
        totals.busy_ticks += record.duration;
    } else {
        ++totals.idle_frees;
        totals.idle_ticks += record.duration;
    }
    queued_ = false; // it has waited for all of it
}

} // namespace umadvisor::model
