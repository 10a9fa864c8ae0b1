/// What copies and memory sets do to what is known of device memory.
#include "analyzer/rules/device_contents.hpp"

#include <algorithm>
#include <utility>

namespace umadvisor::rules {
namespace {

constexpr std::size_t most_ranges = 64, most_awaited = 16;
constexpr std::size_t most_ranges_in_all = 131'072;
/// Of a variable's bytes: tables of constants are small. Less is a counter that each round sets anew.
constexpr std::uint64_t least_variable = 1024;
/// No host program writes faster: in less time than the bytes take at this rate, it cannot have rewritten them.
constexpr double writing_rate = 40e9;

bool overlap(std::uint64_t first, std::uint64_t last, std::uint64_t other_first, std::uint64_t other_last) {
    return first < other_last && other_first < last;
}

bool is_on_device(trace::Memory memory) {
    return memory == trace::Memory::device || memory == trace::Memory::array;
}

/// Device memory whose allocation is not in the trace.
bool is_unknown(trace::Memory memory, trace::AllocationId allocation) {
    return memory == trace::Memory::unknown || (memory == trace::Memory::device && !known(allocation));
}

tables::CopySite site_of(const trace::Copy& copy) {
    return {ids::CallSite::of(copy),
            copy.host_range,
            copy.source_memory,
            copy.destination_memory,
            copy.asynchronous != 0,
            copy.batch != 0,
            false};
}

/// Rows of plain memory with bytes between them that the copy leaves as they are.
bool has_gaps(const trace::Copy& copy) {
    return copy.destination_memory == trace::Memory::device && copy.width != 0 && copy.height > 1 &&
           copy.depth <= 1 && copy.width < copy.destination_pitch && copy.bytes == copy.width * copy.height &&
           copy.destination_pitch <= (UINT64_MAX - copy.destination) / copy.height;
}

void append(auto& list, auto entry, std::size_t most) {
    if (list.size() == most)
        list.erase(list.begin());
    list.push_back(std::move(entry));
}

} // namespace

void DeviceContents::add(const trace::Copy& record, std::uint32_t thread) {
    if (shared_)
        return;
    if (is_unknown(record.source_memory, record.source_allocation) ||
        is_unknown(record.destination_memory, record.destination_allocation))
        return use_all();
    if (is_on_device(record.source_memory))
        read(record, thread);
    if (!is_on_device(record.destination_memory))
        return;
    Range sent;
    sent.first = record.destination;
    sent.last = record.destination + record.bytes;
    sent.bytes = record.bytes;
    if (has_gaps(record)) {
        sent.width = record.width;
        sent.pitch = record.destination_pitch;
        sent.last = record.destination + (record.height - 1) * record.destination_pitch + record.width;
    }
    if (facts::is_host_memory(record.source_memory))
        sent.content = record.content;
    sent.pending = record.batch == 0 && record.origin == trace::Origin::program;
    sent.site = site_of(record);
    sent.ticks = record.duration;
    sent.stack = ids::StackId::of(record);
    sent.launches = launches_;
    if (sent.pending && record.status == 0 && facts::is_host_memory(record.source_memory)) {
        Looks& looks = looks_[{sent.site, record.bytes < tables::small_copy_bytes}];
        if (record.content.part_hash != 0)
            ++looks.count;
        else
            looks.without.add(record.bytes, record.duration);
    }
    const Memory* const memory = live_.find(record.destination_allocation);
    const std::uint64_t least =
        memory != nullptr && memory->variable ? least_variable : tables::small_copy_bytes;
    if (sent.pending && sent.content.part_hash != 0 && record.status == 0 && record.bytes >= least)
        compare_source(record, sent);
    write(record.destination_allocation, sent, record.status == 0 && fills(record));
}

/// Whether it writes each byte of its range, but for the gaps between rows.
bool DeviceContents::fills(const trace::Copy& copy) const {
    if (copy.destination_memory != trace::Memory::array)
        return copy.width == 0 || (copy.depth <= 1 && copy.destination_pitch == copy.width) || has_gaps(copy);
    const Memory* const memory = live_.find(copy.destination_allocation);
    return memory != nullptr && memory->bytes == copy.bytes;
}

bool DeviceContents::holds(const HostSources::Sent& source) const {
    const std::vector<Range>* const ranges = sent_.find(source.allocation);
    return ranges != nullptr && std::ranges::any_of(*ranges, [&](const Range& range) {
               return range.first == source.first && range.bytes == source.bytes &&
                      range.content.part_hash == source.part_hash && is_followed(source.allocation, range);
           });
}

/// Whether the same bytes were sent from the same place on the host before.
void DeviceContents::compare_source(const trace::Copy& copy, Range& sent) {
    if (const HostSources::Sent* const known = sources_.find(copy)) {
        const bool wholes = known->whole_hash != 0 && copy.content.whole_hash != 0;
        if (wholes && known->whole_hash != copy.content.whole_hash) {
            ++totals(copy.destination_allocation, sent, Fate::again).differed;
        } else if (!wholes && copy.content.places_differ != 0) {
            ++totals(copy.destination_allocation, sent, Fate::again).differed_in_places;
        } else {
            // Recording looks at page-locked memory before the call.
            const std::uint64_t looked =
                copy.source_memory == trace::Memory::pageable ? 0 : copy.content.look_duration;
            const double gap_ns = (static_cast<double>(copy.start) - static_cast<double>(known->ticks_end) -
                                   static_cast<double>(looked)) *
                                  ns_per_tick_;
            const bool had_time =
                known->address != copy.source || gap_ns * writing_rate >= static_cast<double>(copy.bytes) * 1e9;
            const bool other_place =
                known->allocation != copy.destination_allocation || known->first != sent.first;
            sent.compared = wholes || !had_time;
            sent.repeat = other_place && holds(*known) ? Repeat::twice : Repeat::again;
            sent.source_stack = known->stack;
        }
    }
    sources_.add(copy);
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
    sent.bytes = record.bytes;
    sent.pending = true;
    sent.site.stack = ids::StackId::of(record);
    sent.site.entry = record.entry;
    sent.site.destination = record.memory;
    sent.site.asynchronous = record.asynchronous != 0;
    sent.ticks = record.duration;
    sent.stack = ids::StackId::of(record);
    sent.launches = launches_;
    write(record.allocation, sent, record.width == 0 && record.status == 0);
}

/// `whole_range`: each of its bytes is written, and by this call.
void DeviceContents::write(trace::AllocationId allocation, Range sent, bool whole_range) {
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
        if (sent.pitch == 0 && sent.first <= range.first && range.last <= sent.last)
            end_unused(allocation, range, sent.stack, false);
    std::erase_if(ranges,
                  [&](const Range& range) { return overlap(range.first, range.last, sent.first, sent.last); });
    append(ranges, std::move(sent), most_ranges);
    if (!memory->array && !memory->variable)
        return;
    if (unread_.size() < most_ranges)
        unread_.push_back(allocation);
    else
        use(allocation, memory->variable);
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
bool DeviceContents::is_there(trace::AllocationId allocation, std::vector<Range>& ranges, const Range& sent) {
    if (sent.content.part_hash == 0)
        return false;
    const auto same = std::ranges::find_if(ranges, [&](const Range& range) {
        return range.first == sent.first && range.last == sent.last && range.width == sent.width &&
               range.pitch == sent.pitch && range.content.part_hash == sent.content.part_hash;
    });
    if (same == ranges.end() || !is_followed(allocation, *same))
        return false;
    const bool compared = same->content.whole_hash != 0 && sent.content.whole_hash != 0;
    FateTotals& equal = totals(allocation, sent, same->downloaded ? Fate::returned : Fate::repeated);
    if (compared && same->content.whole_hash != sent.content.whole_hash) {
        ++equal.differed;
        return false;
    }
    if (!compared && sent.content.places_differ != 0) {
        ++equal.differed_in_places;
        return false;
    }
    if (!compared)
        equal.places += sent.content.places;
    (compared ? equal.seen : equal.in_part).add(sent.bytes, sent.ticks);
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
    const bool rows = copy.width != 0 || memory->array;
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
    const auto same = std::ranges::find_if(ranges, [&](const Range& range) {
        return range.first == copy.source && range.last == last && range.pitch == 0;
    });
    Range brought;
    brought.first = copy.source;
    brought.last = last;
    brought.bytes = copy.bytes;
    brought.to = copy.destination;
    brought.content = copy.content;
    brought.downloaded = true;
    brought.stack = ids::StackId::of(copy);
    brought.launches = launches_;
    Range before;
    if (same != ranges.end()) {
        before = *same;
        const bool followed =
            is_followed(copy.source_allocation, *same) && copy.bytes >= tables::small_copy_bytes;
        before.pending = followed && sources_.holds(copy, same->content.part_hash);
        before.downloaded = followed && same->downloaded && same->to == copy.destination;
        *same = brought;
    } else {
        append(ranges, brought, most_ranges);
    }
    if (!follows)
        return compare_download(copy, before, copy.content);
    append(awaited_, Awaited{thread, copy, before}, most_awaited);
    sources_.overwrite(copy); // until it is known what it brought
}

/// Whether it brought what the host had sent there, or what it had brought before.
void DeviceContents::compare_download(const trace::Copy& copy, const Range& before,
                                      const trace::CopyContent& content) {
    const bool same = content.part_hash != 0 && content.part_hash == before.content.part_hash;
    if (!before.pending || !same)
        sources_.overwrite(copy);
    if (!same || (!before.pending && !before.downloaded))
        return;
    Range sent = before;
    sent.site = site_of(copy);
    FateTotals& equal = totals(copy.source_allocation, sent, before.pending ? Fate::brought : Fate::kept);
    const bool wholes = content.whole_hash != 0 && before.content.whole_hash != 0;
    if (wholes && content.whole_hash != before.content.whole_hash) {
        ++equal.differed;
    } else if (!wholes && content.places_differ != 0) {
        ++equal.differed_in_places;
    } else {
        (wholes ? equal.seen : equal.in_part).add(copy.bytes, copy.duration);
        equal.places += wholes ? 0 : content.places;
        equal.counterpart = before.stack;
    }
}

void DeviceContents::add(const trace::Content& record, std::uint32_t thread) {
    if (record.source_changed != 0)
        return; // of an upload
    const auto awaited = std::ranges::find_if(
        awaited_, [&](const Awaited& each) { return each.thread == thread && each.copy.start == record.copy; });
    if (awaited == awaited_.end())
        return;
    const trace::Copy& copy = awaited->copy;
    if (std::vector<Range>* const ranges = sent_.find(copy.source_allocation))
        for (Range& range : *ranges)
            if (range.downloaded && range.content.part_hash == 0 && range.first == copy.source &&
                range.last == copy.source + copy.bytes)
                range.content = record.content;
    compare_download(copy, awaited->before, record.content);
    awaited_.erase(awaited);
}

} // namespace umadvisor::rules
