#include "analyzer/rules/device_contents.hpp"

#include <algorithm>

namespace umadvisor::rules {
namespace {

constexpr std::size_t most_ranges = 64, most_awaited = 16;
constexpr std::size_t most_ranges_in_all = 131'072;
constexpr std::size_t most_sources = 16'384;
/// No host program changes bytes faster: had it less time than all of them take, it has not written them anew.
constexpr double writing_rate = 40e9;

bool overlap(std::uint64_t first, std::uint64_t last, std::uint64_t other_first, std::uint64_t other_last) {
    return first < other_last && other_first < last;
}

/// Device memory of which the trace does not say whose it is.
bool is_unknown(trace::Memory memory, std::uint64_t allocation) {
    return memory == trace::Memory::unknown || (memory == trace::Memory::device && allocation == 0);
}

tables::CopySite site_of(const trace::Copy& copy) {
    return {copy.stack,
            copy.entry,
            copy.host_range,
            copy.source_memory,
            copy.destination_memory,
            copy.asynchronous != 0,
            copy.batch != 0,
            false};
}

void append(auto& list, auto entry, std::size_t most) {
    if (list.size() == most)
        list.erase(list.begin());
    list.push_back(std::move(entry));
}

} // namespace

tables::Tally DeviceContents::told(const tables::CopySite& site, bool small) const {
    tables::Tally sum;
    for (const Fate fate :
         {Fate::repeated, Fate::returned, Fate::constant, Fate::unused, Fate::again, Fate::twice})
        if (const auto found = sites_.find({site, fate, small}); found != sites_.end())
            sum.add(found->second.told(fate));
    return sum;
}

bool DeviceContents::holds_download(std::uint64_t allocation, std::uint64_t first, std::uint64_t last) const {
    const std::vector<Range>* const ranges = sent_.find(allocation);
    return ranges != nullptr && std::ranges::any_of(*ranges, [&](const Range& range) {
               return range.first == first && range.last == last && range.downloaded &&
                      is_followed(allocation, range);
           });
}

FateTotals& DeviceContents::totals(std::uint64_t allocation, const Range& range, Fate fate) {
    FateTotals& totals = sites_[{range.site, fate, range.last - range.first < tables::small_copy_bytes}];
    if (const Memory* const memory = live_.find(allocation)) {
        totals.allocation_stack = memory->stack;
        totals.allocation_entry = memory->entry;
        totals.allocation_bytes = memory->bytes;
    }
    return totals;
}

void DeviceContents::add(const trace::Alloc& record) {
    written_.add(record);
    if (record.status == 0 && record.memory == trace::Memory::device && record.symbol == 0 && record.part == 0)
        live_[record.allocation] = {record.address + record.bytes, record.bytes, record.stack, record.entry,
                                    false};
}

/// No launch has reached it unseen.
bool DeviceContents::is_followed(std::uint64_t allocation, const Range& range) const {
    if (range.launches == launches_)
        return true;
    const Memory* const memory = live_.find(allocation);
    return memory != nullptr && memory->reached;
}

void DeviceContents::end_unused(std::uint64_t allocation, const Range& range, std::uint64_t stack, bool freed) {
    if (!range.pending || !is_followed(allocation, range))
        return;
    FateTotals& unused = totals(allocation, range, Fate::unused);
    unused.seen.add(range.last - range.first, range.ticks);
    unused.counterpart = stack;
    unused.freed += freed;
}

void DeviceContents::add(const trace::Free& record) {
    if (record.status != 0)
        return;
    if (const std::vector<Range>* const ranges = sent_.find(record.allocation)) {
        for (const Range& range : *ranges)
            end_unused(record.allocation, range, record.stack, true);
        sent_.erase(record.allocation);
    }
    live_.erase(record.allocation);
}

void DeviceContents::add(const trace::Copy& record, std::uint32_t thread) {
    if (shared_)
        return;
    if (is_unknown(record.source_memory, record.source_allocation) ||
        is_unknown(record.destination_memory, record.destination_allocation))
        return use_all();
    if (record.source_memory == trace::Memory::device)
        read(record, thread);
    if (record.destination_memory != trace::Memory::device)
        return;
    Range sent;
    sent.first = record.destination;
    sent.last = record.destination + record.bytes;
    if (facts::is_host_memory(record.source_memory))
        sent.content = record.content;
    sent.pending = record.batch == 0 && record.origin == trace::Origin::program;
    sent.site = site_of(record);
    sent.ticks = record.duration;
    sent.stack = record.stack;
    sent.launches = launches_;
    if (sent.pending && record.status == 0 && facts::is_host_memory(record.source_memory)) {
        Looks& looks = looks_[{sent.site, record.bytes < tables::small_copy_bytes}];
        if (record.content.part_hash != 0)
            ++looks.count;
        else
            looks.without.add(record.bytes, record.duration);
    }
    if (sent.pending && sent.content.part_hash != 0 && record.status == 0 &&
        record.bytes >= tables::small_copy_bytes)
        compare_source(record, sent);
    write(record.destination_allocation, sent, record.width == 0 && record.status == 0);
}

bool DeviceContents::holds(const Source& source) const {
    const std::vector<Range>* const ranges = sent_.find(source.allocation);
    return ranges != nullptr && std::ranges::any_of(*ranges, [&](const Range& range) {
               return range.first == source.first && range.last == source.first + source.bytes &&
                      range.content.part_hash == source.part_hash && is_followed(source.allocation, range);
           });
}

/// Whether the same bytes were sent from the same place on the host before.
void DeviceContents::compare_source(const trace::Copy& copy, Range& sent) {
    Source* known = sources_.find(copy.source);
    if (known == nullptr) {
        if (sources_known_++ == most_sources) {
            sources_.clear();
            sources_known_ = 1;
        }
        known = &sources_[copy.source];
    }
    // Recording looks at page-locked memory before the call, at pageable memory after it.
    const std::uint64_t looked = copy.content.look_duration;
    const bool looked_at_first = copy.source_memory != trace::Memory::pageable;
    if (known->bytes == copy.bytes && known->part_hash == copy.content.part_hash) {
        const bool wholes = known->whole_hash != 0 && copy.content.whole_hash != 0;
        const double gap_ns = (static_cast<double>(copy.start) - static_cast<double>(known->ticks_end) -
                               static_cast<double>(looked_at_first ? looked : 0)) *
                              ns_per_tick_;
        const bool other_place = known->allocation != copy.destination_allocation || known->first != sent.first;
        if (!wholes || known->whole_hash == copy.content.whole_hash) {
            sent.compared = wholes || gap_ns * writing_rate < static_cast<double>(copy.bytes) * 1e9;
            sent.repeat = other_place && holds(*known) ? Repeat::twice : Repeat::again;
            sent.source_stack = known->stack;
        } else {
            ++totals(copy.destination_allocation, sent, Fate::again).differed;
        }
    }
    *known = {copy.bytes,
              copy.content.part_hash,
              copy.content.whole_hash,
              copy.stack,
              copy.start + copy.duration + (looked_at_first ? 0 : looked),
              copy.destination_allocation,
              sent.first};
}

void DeviceContents::add(const trace::Set& record) {
    if (shared_)
        return;
    if (is_unknown(record.memory, record.allocation))
        return use_all();
    if (record.memory != trace::Memory::device)
        return;
    Range sent;
    sent.first = record.address;
    sent.last = record.address + record.bytes;
    sent.pending = true;
    sent.site.stack = record.stack;
    sent.site.entry = record.entry;
    sent.site.destination = record.memory;
    sent.site.asynchronous = record.asynchronous != 0;
    sent.ticks = record.duration;
    sent.stack = record.stack;
    sent.launches = launches_;
    write(record.allocation, sent, record.width == 0 && record.status == 0);
}

/// `whole_range`: each of its bytes is written, and by this call.
void DeviceContents::write(std::uint64_t allocation, Range sent, bool whole_range) {
    const Memory* const memory = live_.find(allocation);
    if (memory == nullptr)
        return;
    if (!whole_range || sent.last > memory->end) {
        sent_.erase(allocation);
        if (sent.last > memory->end) // into whatever is mapped behind it
            use_all();
        return;
    }
    bound();
    std::vector<Range>& ranges = sent_[allocation];
    if (is_there(allocation, ranges, sent))
        return;
    for (const Range& range : ranges)
        if (sent.first <= range.first && range.last <= sent.last)
            end_unused(allocation, range, sent.stack, false);
    std::erase_if(ranges,
                  [&](const Range& range) { return overlap(range.first, range.last, sent.first, sent.last); });
    append(ranges, std::move(sent), most_ranges);
}

/// To be called before each new range. Where there are too many, all count as used.
void DeviceContents::bound() {
    if (++ranges_ < most_ranges_in_all)
        return;
    ranges_ = 0;
    for (const auto& [allocation, ranges] : sent_)
        ranges_ += ranges.size();
    if (ranges_ > most_ranges_in_all / 2)
        use_all();
}

/// Whether the range holds these very bytes already, as far as is known. Then nothing has happened to it.
bool DeviceContents::is_there(std::uint64_t allocation, std::vector<Range>& ranges, const Range& sent) {
    if (sent.content.part_hash == 0)
        return false;
    const auto same = std::ranges::find_if(ranges, [&](const Range& range) {
        return range.first == sent.first && range.last == sent.last &&
               range.content.part_hash == sent.content.part_hash;
    });
    if (same == ranges.end() || !is_followed(allocation, *same))
        return false;
    const bool compared = same->content.whole_hash != 0 && sent.content.whole_hash != 0;
    FateTotals& equal = totals(allocation, sent, same->downloaded ? Fate::returned : Fate::repeated);
    if (compared && same->content.whole_hash != sent.content.whole_hash) {
        ++equal.differed;
        return false;
    }
    (compared ? equal.seen : equal.in_part).add(sent.last - sent.first, sent.ticks);
    equal.counterpart = same->stack;
    same->content = sent.content;
    same->downloaded = false;
    same->stack = sent.stack;
    same->launches = launches_;
    return true;
}

void DeviceContents::read(const trace::Copy& copy, std::uint32_t thread) {
    const Memory* const memory = live_.find(copy.source_allocation);
    if (memory == nullptr)
        return;
    const std::uint64_t last = copy.source + copy.bytes;
    if (last > memory->end)
        return use_all();
    bound();
    std::vector<Range>& ranges = sent_[copy.source_allocation];
    const bool rows = copy.width != 0;
    for (Range& range : ranges)
        if (rows || overlap(range.first, range.last, copy.source, last))
            use(copy.source_allocation, range);
    if (!rows && copy.status == 0 && facts::is_host_memory(copy.destination_memory))
        download(copy, ranges, thread);
    if (ranges.empty())
        sent_.erase(copy.source_allocation);
}

void DeviceContents::download(const trace::Copy& copy, std::vector<Range>& ranges, std::uint32_t thread) {
    const bool follows = copy.content_follows != 0;
    const std::uint64_t last = copy.source + copy.bytes;
    const auto same = std::ranges::find_if(
        ranges, [&](const Range& range) { return range.first == copy.source && range.last == last; });
    Range brought;
    brought.first = copy.source;
    brought.last = last;
    brought.content = copy.content;
    brought.downloaded = true;
    brought.stack = copy.stack;
    brought.launches = launches_;
    if (same != ranges.end())
        *same = brought;
    else
        append(ranges, brought, most_ranges);
    if (follows)
        append(
            awaited_,
            Awaited{thread, copy.start, copy.destination_allocation, copy.source_allocation, copy.source, last},
            most_awaited);
}

void DeviceContents::add(const trace::Content& record, std::uint32_t thread) {
    if (record.source_changed != 0)
        return; // of an upload
    const auto awaited = std::ranges::find_if(
        awaited_, [&](const Awaited& each) { return each.thread == thread && each.copy == record.copy; });
    if (awaited == awaited_.end())
        return;
    if (std::vector<Range>* const ranges = sent_.find(awaited->allocation))
        for (Range& range : *ranges)
            if (range.downloaded && range.content.part_hash == 0 && range.first == awaited->first &&
                range.last == awaited->last)
                range.content = record.content;
    awaited_.erase(awaited);
}

/// A stream writes to memory: whose it is is not told.
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
    if (shape == nullptr || !shape->scanned || shape->untold != 0)
        return use_all();
    for (std::size_t i = 0; i < shape->touched.size(); ++i) {
        const std::uint64_t allocation = shape->touched[i];
        if (sent_.find(allocation) != nullptr)
            use(allocation, written_.may_write(*shape, i));
        if (!awaited_.empty()) // a kernel may write to where a download goes
            std::erase_if(awaited_, [&](const Awaited& each) { return each.host_allocation == allocation; });
    }
}

/// A transfer is used: of its fate remains to say that one value was sent, or the same bytes as before.
void DeviceContents::use(std::uint64_t allocation, Range& range) {
    if (!range.pending)
        return;
    range.pending = false;
    const trace::CopyContent& content = range.content;
    if (content.value_bytes != 0) {
        FateTotals& constant = totals(allocation, range, Fate::constant);
        (content.whole_hash != 0 ? constant.seen : constant.in_part).add(range.last - range.first, range.ticks);
        constant.value = content.value;
        constant.value_bytes = content.value_bytes;
        constant.part_hash = content.part_hash;
    } else if (content.whole_hash != 0) {
        const auto constant =
            sites_.find({range.site, Fate::constant, range.last - range.first < tables::small_copy_bytes});
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
        .add(range.last - range.first, range.ticks);
    repeat.counterpart = range.source_stack;
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

void DeviceContents::use(std::uint64_t allocation, bool changed) {
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
}

} // namespace umadvisor::rules
