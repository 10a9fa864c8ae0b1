#include "analyzer/rules/device_contents.hpp"

#include <algorithm>
#include <utility>

namespace umadvisor::rules {

tables::Tally DeviceContents::reported(const tables::CopySite& site, bool small) const {
    tables::Tally sum;
    for (const Fate fate : {Fate::repeated, Fate::returned, Fate::constant, Fate::unused, Fate::again,
                            Fate::twice, Fate::brought, Fate::kept})
        if (const auto found = sites_.find({site, fate, small}); found != sites_.end())
            sum.add(found->second.reported(fate));
    return sum;
}

bool DeviceContents::holds_download(trace::AllocationId allocation, std::uint64_t first,
                                    std::uint64_t last) const {
    const std::vector<Range>* const ranges = sent_.find(allocation);
    return ranges != nullptr && std::ranges::any_of(*ranges, [&](const Range& range) {
               return range.first == first && range.last == last && range.downloaded &&
                      is_followed(allocation, range);
           });
}

FateTotals& DeviceContents::totals(trace::AllocationId allocation, const Range& range, Fate fate) {
    FateTotals& totals = sites_[{range.site, fate, range.bytes < tables::small_copy_bytes}];
    if (const Memory* const memory = live_.find(allocation)) {
        totals.allocation_stack = memory->site.stack;
        totals.allocation_entry = memory->site.entry;
        totals.allocation_bytes = memory->bytes;
    }
    return totals;
}

void DeviceContents::add(const trace::Alloc& record) {
    written_.add(record);
    const bool array = record.memory == trace::Memory::array;
    if (record.status == 0 && (record.memory == trace::Memory::device || array) && record.part == 0)
        live_[record.allocation] = {record.address + record.bytes,
                                    record.bytes,
                                    ids::CallSite::of(record),
                                    false,
                                    array,
                                    record.symbol != 0};
}

/// No launch has reached it unseen.
bool DeviceContents::is_followed(trace::AllocationId allocation, const Range& range) const {
    if (range.launches == launches_)
        return true;
    const Memory* const memory = live_.find(allocation);
    return memory != nullptr && (memory->reached || memory->array || memory->variable);
}

void DeviceContents::end_unused(trace::AllocationId allocation, const Range& range, ids::StackId stack,
                                bool freed) {
    if (!range.pending || !is_followed(allocation, range))
        return;
    const std::uint64_t bytes = range.bytes;
    FateTotals& unused = totals(allocation, range, Fate::unused);
    unused.seen.add(bytes, range.ticks);
    unused.counterpart = stack;
    unused.freed += freed;
    // Its fate is known without a look at its bytes, so it does not count as like others that were looked at.
    const auto looks = looks_.find({range.site, bytes < tables::small_copy_bytes});
    if (range.content.part_hash == 0 && looks != looks_.end()) {
        tables::Tally one;
        one.add(bytes, range.ticks);
        looks->second.without = looks->second.without.without(one);
    }
}

void DeviceContents::add(const trace::Free& record) {
    if (record.status != 0)
        return;
    if (const std::vector<Range>* const ranges = sent_.find(record.allocation)) {
        for (const Range& range : *ranges)
            end_unused(record.allocation, range, ids::StackId::of(record), true);
        sent_.erase(record.allocation);
    }
    live_.erase(record.allocation);
}

/// A stream writes to memory: which allocation that is, is unknown.
void DeviceContents::add(const trace::Stream& record) {
    if (record.action == trace::StreamAction::write_value ||
        record.action == trace::StreamAction::memory_operations)
        use_all();
}

void DeviceContents::add(const trace::Ipc& record) {
    if (record.action == trace::IpcAction::export_memory || record.action == trace::IpcAction::open_memory) {
        shared_ = true;
        forget_all();
    }
}

void DeviceContents::add(const trace::Pool& record) {
    if (record.action == trace::PoolAction::export_pointer) {
        shared_ = true;
        forget_all();
    }
}

void DeviceContents::use_reached(const reader::Shape* shape) {
    for (const trace::AllocationId allocation : std::exchange(unread_, {})) {
        const Memory* const memory = live_.find(allocation);
        use(allocation, memory != nullptr && memory->variable);
    }
    if (shape == nullptr || !shape->scanned || shape->untold != 0)
        return use_all();
    for (std::size_t i = 0; i < shape->touched.size(); ++i) {
        const trace::AllocationId allocation = shape->touched[i];
        if (sent_.find(allocation) != nullptr)
            use(allocation, written_.may_write(*shape, i));
        if (!awaited_.empty()) // a kernel may write to where a download goes
            std::erase_if(awaited_,
                          [&](const Awaited& each) { return each.copy.destination_allocation == allocation; });
    }
}

/// A transfer is used: it can still count as one value sent, or as the same bytes as before.
void DeviceContents::use(trace::AllocationId allocation, Range& range) {
    if (!range.pending)
        return;
    range.pending = false;
    const trace::CopyContent& content = range.content;
    if (content.value_bytes != 0) {
        FateTotals& constant = totals(allocation, range, Fate::constant);
        (content.whole_hash != 0 ? constant.seen : constant.in_part).add(range.bytes, range.ticks);
        if (content.whole_hash == 0 && content.places_differ != 0)
            ++constant.differed_in_places;
        else if (content.whole_hash == 0)
            constant.places += content.places;
        constant.value = content.value;
        constant.value_bytes = content.value_bytes;
        constant.part_hash = content.part_hash;
    } else if (content.whole_hash != 0) {
        const auto constant = sites_.find({range.site, Fate::constant, range.bytes < tables::small_copy_bytes});
        if (constant != sites_.end() && constant->second.part_hash == content.part_hash)
            ++constant->second.differed;
    }
    if (range.repeat == Repeat::none || (content.value_bytes != 0 && content.whole_hash != 0))
        return;
    FateTotals& repeat =
        this->totals(allocation, range, range.repeat == Repeat::twice ? Fate::twice : Fate::again);
    (content.value_bytes != 0 ? repeat.or_constant
     : range.compared         ? repeat.seen
                              : repeat.in_part)
        .add(range.bytes, range.ticks);
    repeat.counterpart = range.source_stack;
    if (!range.compared)
        repeat.places += content.places;
}

void DeviceContents::finish() {
    use_all();
    for (auto& [site, totals] : sites_)
        if (const auto looks = looks_.find({site.copy, site.small}); looks != looks_.end()) {
            totals.looked_at = looks->second.count;
            totals.not_looked_at = looks->second.without;
        }
    share_evidence(sites_);
}

void DeviceContents::use(trace::AllocationId allocation, bool changed) {
    std::vector<Range>* const ranges = sent_.find(allocation);
    if (ranges == nullptr)
        return;
    for (Range& range : *ranges)
        use(allocation, range);
    if (changed)
        sent_.erase(allocation);
    if (Memory* const memory = live_.find(allocation))
        memory->reached = true;
}

void DeviceContents::use_all() {
    for (auto& [allocation, ranges] : sent_)
        for (Range& range : ranges)
            use(allocation, range);
    forget_all();
}

void DeviceContents::forget_all() {
    sent_.clear();
    awaited_.clear();
    unread_.clear();
}

} // namespace umadvisor::rules
