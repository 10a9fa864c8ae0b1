#include "analyzer/tables/copies.hpp"

#include "analyzer/tables/narrow_rows.hpp"

#include <algorithm>

namespace umadvisor::tables {

CopyTotals* Copies::add(const trace::Copy& copy) {
    if (copy.origin != trace::Origin::program) {
        own_.add(copy.bytes, copy.duration);
        return nullptr;
    }
    if (copy.status != 0) {
        ++failed_;
        return nullptr;
    }
    CopyTotals& totals = sites_[{ids::CallSite::of(copy), copy.host_range, copy.source_memory,
                                 copy.destination_memory, copy.asynchronous != 0, copy.batch != 0, false}];
    if (totals.small.count + totals.large.count == 0) // of a site all go the same way
        totals.direction = facts::direction_of(copy, dictionary_.symbol(copy.entry));
    const bool looked_at = copy.content.part_hash != 0 || copy.content_follows != 0;
    if (!looked_at && copy.bytes >= small_copy_bytes &&
        facts::is_host_memory(copy.source_memory) != facts::is_host_memory(copy.destination_memory))
        ++uncompared_;
    (copy.bytes < small_copy_bytes ? totals.small : totals.large).add(copy.bytes, copy.duration);
    if (copy.disk_faults != 0 && copy.bytes >= small_copy_bytes)
        totals.from_disk.add(copy.bytes, copy.duration);
    if (copy.staged != 0)
        staged_[totals.direction].add(copy.bytes, copy.duration);
    if (copy.bytes >= small_copy_bytes && copy.source_memory == trace::Memory::pageable)
        totals.pageable.add(copy.source, copy.bytes);
    else if (copy.bytes >= small_copy_bytes && copy.destination_memory == trace::Memory::pageable)
        totals.pageable.add(copy.destination, copy.bytes);
    totals.largest = std::max(totals.largest, copy.bytes);
    totals.calls += copy.batch <= 1;
    const bool link =
        copy.bytes >= link_copy_bytes &&
        (facts::is_page_locked(copy.source_memory) || facts::is_page_locked(copy.destination_memory)) &&
        !has_narrow_rows(copy);
    if (copy.asynchronous == 0 && copy.bytes >= link_copy_bytes)
        totals.link = link ? &links_[totals.direction] : nullptr;
    LinkRate* const sampled_link = link && copy.asynchronous != 0 ? &links_[totals.direction] : nullptr;
    samples_.await(copy.sample, [&totals, sampled_link, bytes = copy.bytes](std::uint64_t ns) {
        ++totals.measured;
        totals.measured_bytes += bytes;
        totals.measured_ns += ns;
        if (sampled_link != nullptr) {
            sampled_link->bytes += bytes;
            sampled_link->seconds += static_cast<double>(ns) * 1e-9;
        }
    });
    return &totals;
}

void CopyTotals::settle(const facts::Call& call, double, double own_ns) {
    (call.bytes < small_copy_bytes ? small : large).own_ns += own_ns;
    if (link == nullptr || call.bytes < link_copy_bytes)
        return;
    link->bytes += call.bytes;
    link->seconds += own_ns * 1e-9;
}

void Copies::add_replayed(const trace::Copy& copy, std::uint64_t count) {
    CopyTotals& totals = sites_[{ids::CallSite::of(copy), copy.host_range, copy.source_memory,
                                 copy.destination_memory, true, false, true}];
    totals.direction = facts::direction_of(copy, {});
    Tally& tally = copy.bytes < small_copy_bytes ? totals.small : totals.large;
    tally.count += count;
    tally.bytes += count * copy.bytes;
    totals.largest = std::max(totals.largest, copy.bytes);
}

Tally Copies::staged(facts::Direction direction) const {
    const auto found = staged_.find(direction);
    return found == staged_.end() ? Tally{} : found->second;
}

LinkRate Copies::link(facts::Direction direction) const {
    const auto found = links_.find(direction);
    return found == links_.end() ? LinkRate{} : found->second;
}

std::uint64_t Copies::calls_of(const ids::CallSite& site) const {
    std::uint64_t count = 0;
    CopySite first;
    first.stack = site.stack;
    first.entry = site.entry;
    for (auto at = sites().lower_bound(first);
         at != sites().end() && at->first.stack == site.stack && at->first.entry == site.entry; ++at)
        if (!at->first.graph)
            count += at->second.small.count + at->second.large.count;
    return count;
}

} // namespace umadvisor::tables
