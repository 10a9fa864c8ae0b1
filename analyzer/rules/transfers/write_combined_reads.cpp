#include "analyzer/rules/transfers/write_combined_reads.hpp"
#include "analyzer/facts/waiting.hpp"

#include "analyzer/facts/direction.hpp"

#include <algorithm>

namespace umadvisor::rules {
namespace {

using trace::Memory;

constexpr std::uint64_t write_combined = 4; ///< CU_MEMHOSTALLOC_WRITECOMBINED
/// No host reads such memory faster.
constexpr double most_bytes_per_ns = 1;

} // namespace

void WriteCombined::add(const trace::Alloc& record, std::uint32_t thread) {
    next(record.start, thread);
    if (record.status != 0 || record.memory != Memory::pinned || (record.flags & write_combined) == 0 ||
        record.origin != trace::Origin::program || dictionary_.symbol(record.entry) != "cuMemHostAlloc")
        return;
    WriteCombinedTotals& totals = sites_[{record.stack, record.entry}];
    totals.largest = std::max(totals.largest, record.bytes);
    live_[record.allocation] = {&totals, false};
}

void WriteCombined::add(const trace::Free& record, std::uint32_t thread) {
    next(record.start, thread);
    if (record.status == 0)
        live_.erase(record.allocation);
}

void WriteCombined::add(const trace::Copy& record, std::uint32_t thread) {
    next(record.start, thread);
    if (live_.empty() || record.status != 0 || record.captured != 0)
        return;
    const ids::CallSite call{record.stack, record.entry};
    const std::uint64_t end = record.start + record.duration;
    if (Live* const source = live_.find(record.source_allocation)) {
        if (facts::is_host_memory(record.destination_memory))
            source->totals->copies[call].add(record.bytes, record.duration);
        else
            source->totals->passed_on += std::exchange(source->downloaded, false);
    }
    Live* const target = live_.find(record.destination_allocation);
    if (target != nullptr && !facts::is_host_memory(record.source_memory)) {
        target->downloaded = true;
        ++target->totals->downloaded;
        if (pending_.size() < most_pending)
            pending_.push_back({target->totals, call, record.bytes});
    }
    if (record.asynchronous == 0)
        wait(end, thread);
}

void WriteCombined::add(const trace::Sync& record, std::uint32_t thread) {
    next(record.start, thread);
    if (record.status == 0 && facts::waits_for_work(record))
        wait(record.start + record.duration, thread);
}

void WriteCombined::wait(std::uint64_t end, std::uint32_t thread) {
    if (pending_.empty())
        return;
    waited_[thread] = {std::exchange(pending_, {}), end};
}

void WriteCombined::next(std::uint64_t start, std::uint32_t thread) {
    if (live_.empty())
        return;
    Waited* const found = waited_.find(thread);
    if (found == nullptr || found->downloads.empty())
        return;
    const Waited waited = std::exchange(*found, {});
    double bytes = 0;
    for (const Download& download : waited.downloads)
        bytes += static_cast<double>(download.bytes);
    const auto busy = static_cast<double>(start - std::min(start, waited.end));
    if (bytes == 0 || busy * ns_per_tick_ * most_bytes_per_ns < bytes)
        return;
    for (const Download& download : waited.downloads)
        download.totals->downloads[download.call].add(
            download.bytes, static_cast<std::uint64_t>(busy * static_cast<double>(download.bytes) / bytes));
}

} // namespace umadvisor::rules
