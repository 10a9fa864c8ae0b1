#include "analyzer/rules/hazards.hpp"

#include "analyzer/facts/direction.hpp"

#include <algorithm>
#include <optional>
#include <variant>

namespace umadvisor::rules {
namespace {

constexpr std::size_t most_allocations = 4096, most_uses = 16, most_sources = 4096, most_in_flight = 1024;
constexpr std::size_t most_sites = 1024, most_open = 64, most_changed = 64;
/// Memory up to this size may hold flags by which running kernels synchronise with the host or each other.
constexpr std::uint64_t most_flag_bytes = 4096, least_bytes = 256;

/// Streams order all work on such memory, and an address identifies its bytes.
bool is_followed(trace::Memory memory) {
    return memory == trace::Memory::device || memory == trace::Memory::managed || facts::is_page_locked(memory);
}

/// Whether the content of the source certainly differs.
bool differs(std::uint64_t part, std::uint64_t whole, const trace::CopyContent& content) {
    return part != content.part_hash || (whole != 0 && content.whole_hash != 0 && whole != content.whole_hash);
}

} // namespace

bool is_one_piece(std::uint64_t width, std::uint64_t height, std::uint64_t depth, std::uint64_t pitch) {
    return width == 0 || (depth <= 1 && (height <= 1 || pitch == width));
}

Hazards::Hazards(const Begin& begin)
    : ns_per_tick_(begin.ns_per_tick),
      dictionary_(begin.dictionary),
      ends_(begin.samples),
      written_(begin.dictionary) {
    if (graphs_have_events(dictionary_))
        order_.give_up();
}

void Hazards::add(const trace::Alloc& record) {
    if (record.status != 0 || record.captured != 0)
        return;
    written_.add(record);
    kernels_tell_ &= record.symbol == 0;
    if (!is_followed(record.memory))
        return;
    uses_.erase(record.allocation);
    Memory& memory = live_[record.allocation];
    memory = {.address = record.address,
              .bytes = record.bytes,
              .site = {ids::CallSite::of(record), record.symbol, record.memory, record.origin},
              .on_host = facts::is_page_locked(record.memory),
              .pooled = dictionary_.is_stream_ordered(record.entry)};
}

void Hazards::forget(trace::AllocationId allocation) {
    live_.erase(allocation);
    uses_.erase(allocation);
}

/// A kernel may write all page-locked memory that its parameters lead to.
void Hazards::add(const trace::LaunchShape& record) {
    if (record.captured != 0) // a captured kernel does not run; launches of its graph count below
        return;
    sources_tell_ &= record.scanned != 0 && record.untold == 0;
    for (const trace::AllocationId allocation : record.touched)
        if (Memory* const memory = live_.find(allocation))
            memory->reached = true;
}

void Hazards::add(const trace::Stream& record) {
    hide(record);
    streams_made_ = true;
}

HazardTotals* Hazards::note(const HazardSite& site, const facts::LeastEnds::Work& work, double at,
                            const Memory& memory) {
    if (sites_.size() == most_sites && !sites_.contains(site))
        return nullptr;
    HazardTotals& totals = sites_[site];
    if (++totals.times == 1) {
        totals.allocation = memory.site;
        totals.allocation_bytes = memory.bytes;
    }
    std::vector<Open>& open = open_[site];
    if (open.size() < most_open)
        open.push_back({work, at});
    return &totals;
}

bool Hazards::meet(const Memory& memory, const Use& earlier, const Use& later, bool lost_order) const {
    if (!earlier.writes && !later.writes)
        return false;
    if (later.kind == AccessKind::free)
        return true;
    const bool kernel = earlier.kind == AccessKind::kernel;
    if (kernel || later.kind == AccessKind::kernel) {
        const Use& other = kernel ? later : earlier;
        const bool all = other.kind != AccessKind::kernel && other.first <= memory.address &&
                         other.last - memory.address >= memory.bytes;
        return memory.bytes > most_flag_bytes && (all || lost_order);
    }
    const bool same = earlier.writes && later.writes && earlier.kind == later.kind &&
                      earlier.made_of == later.made_of; // whichever comes last
    const std::uint64_t first = std::max(earlier.first, later.first);
    const std::uint64_t last = std::min(earlier.last, later.last);
    return !same && first < last && last - first >= least_bytes;
}

void Hazards::use(trace::AllocationId allocation, const Use& use, const facts::Call& call) {
    const Memory* const memory = live_.find(allocation);
    if (memory == nullptr)
        return;
    std::vector<Use>* uses = uses_.find(allocation);
    if (uses == nullptr) {
        if (uses_.size() == most_allocations)
            uses_.clear();
        uses = &uses_[allocation];
    }
    const bool in_stream = call.queues == facts::Queues::work; // or it is a free that is done at once
    for (Use& earlier : *uses) {
        const bool ordered =
            in_stream ? order_.before(earlier.moment, call.stream) : order_.is_awaited(earlier.moment);
        if (ordered || earlier.met == call.stream.number + 1)
            continue;
        const LostRecords::Lost* const lost = lost_.find(earlier.moment, call.stream);
        if (!meet(*memory, earlier, use, lost != nullptr))
            continue;
        earlier.met = call.stream.number + 1;
        const HazardKind kind = !in_stream                     ? HazardKind::freed_at_once
                                : use.kind == AccessKind::free ? HazardKind::freed_in_flight
                                : lost != nullptr              ? HazardKind::lost_record
                                                               : HazardKind::unordered_streams;
        HazardTotals* const totals = note({kind, earlier.site, use.site}, earlier.work, call.start, *memory);
        if (totals == nullptr || totals->times > 1)
            continue;
        totals->bytes = std::min(earlier.last, use.last) - std::max(earlier.first, use.first);
        totals->first = earlier.kind;
        totals->second = use.kind;
        totals->first_kernel = earlier.kernel;
        totals->second_kernel = use.kernel;
        if (lost != nullptr)
            totals->lost = *lost;
    }
    std::erase_if(*uses, [&](const Use& earlier) {
        return order_.is_awaited(earlier.moment) ||
               (earlier.moment.stream == use.moment.stream && earlier.kind == use.kind &&
                earlier.writes == use.writes && earlier.first == use.first && earlier.last == use.last);
    });
    if (uses->size() == most_uses)
        uses->erase(uses->begin());
    uses->push_back(use);
}

void Hazards::use(const trace::Copy& copy, const facts::Call& call, const facts::LeastEnds::Work& work) {
    // A synchronous copy between devices may wait for both.
    if (copy.asynchronous == 0 && dictionary_.symbol(copy.entry).find("Peer") != std::string_view::npos)
        return;
    const auto end = [&](std::uint64_t address, bool writes) {
        return Use{.kind = AccessKind::copy,
                   .writes = writes,
                   .first = address,
                   .last = address + copy.bytes,
                   .made_of = copy.source - copy.destination,
                   .kernel = 0,
                   .site = call.site,
                   .moment = order_.last(call.stream),
                   .work = work};
    };
    if (known(copy.source_allocation) && is_followed(copy.source_memory) &&
        is_one_piece(copy.width, copy.height, copy.depth, copy.source_pitch))
        use(copy.source_allocation, end(copy.source, false), call);
    if (known(copy.destination_allocation) && is_followed(copy.destination_memory) &&
        is_one_piece(copy.width, copy.height, copy.depth, copy.destination_pitch))
        use(copy.destination_allocation, end(copy.destination, true), call);
}

void Hazards::use(const trace::Set& set, const facts::Call& call, const facts::LeastEnds::Work& work) {
    if (known(set.allocation) && is_followed(set.memory) && is_one_piece(set.width, set.height, 1, set.pitch))
        use(set.allocation,
            Use{.kind = AccessKind::set,
                .writes = true,
                .first = set.address,
                .last = set.address + set.bytes,
                .made_of = set.value,
                .kernel = 0,
                .site = call.site,
                .moment = order_.last(call.stream),
                .work = work},
            call);
}

void Hazards::launch(const reader::Shape& shape, const facts::Call& call, const facts::LeastEnds::Work& work) {
    if (!kernels_tell_ || !shape.scanned || shape.untold != 0 || shape.touched.empty())
        return;
    if (shape.touched.size() != 1 && !written_.are_pointers(shape))
        return;
    const std::optional<std::size_t> written = written_.only_written(shape);
    for (std::size_t i = 0; i < shape.touched.size(); ++i)
        if (const Memory* const memory = live_.find(shape.touched[i]))
            use(shape.touched[i],
                Use{.kind = AccessKind::kernel,
                    .writes = written == i,
                    .first = memory->address,
                    .last = memory->address + memory->bytes,
                    .made_of = 0,
                    .kernel = shape.function,
                    .site = call.site,
                    .moment = order_.last(call.stream),
                    .work = work},
                call);
}

/// Frees in the order of a stream come before what their stream is given next, as work does. Other frees wait
/// for the device, but those of a pool's memory do not.
void Hazards::free(const trace::Free& record, facts::Call call) {
    const bool in_stream = record.status == 0 && dictionary_.is_stream_ordered(record.entry);
    if (in_stream)
        call.queues = facts::Queues::work;
    order_.add(call);
    if (record.status != 0)
        return;
    if (const Memory* const memory = live_.find(record.allocation);
        memory != nullptr && (in_stream || memory->pooled))
        use(record.allocation,
            Use{.kind = AccessKind::free,
                .writes = true,
                .first = memory->address,
                .last = memory->address + memory->bytes,
                .made_of = 0,
                .kernel = 0,
                .site = call.site,
                .moment = order_.last(call.stream),
                .work = {}},
            call);
    forget(record.allocation);
}

/// The device writes it.
void Hazards::change(trace::AllocationId allocation, const facts::Call& call) {
    Memory* const memory = live_.find(allocation);
    if (memory == nullptr || !memory->on_host)
        return;
    memory->reached |= memory->writes != 0 && !order_.is_awaited(memory->written);
    memory->written = order_.last(call.stream);
    ++memory->writes;
}

/// The host changed it before it knew that the copy was done.
bool Hazards::has_changed(const Source& source, const trace::CopyContent& now) const {
    const Memory* const memory = live_.find(source.allocation);
    return memory != nullptr && !memory->reached && sources_tell_ && source.writes == memory->writes &&
           !order_.is_awaited(source.moment) && differs(source.part_hash, source.whole_hash, now);
}

void Hazards::upload(const trace::Copy& copy, const facts::Call& call, const facts::LeastEnds::Work& work) {
    Memory* const memory = live_.find(copy.source_allocation);
    if (memory == nullptr || !memory->on_host || memory->reached || !sources_tell_ ||
        copy.destination_memory != trace::Memory::device || copy.asynchronous == 0 || copy.width != 0 ||
        copy.batch != 0 || copy.content.part_hash == 0)
        return;
    if (memory->writes != 0 && !order_.is_awaited(memory->written))
        return;
    if (sources_.size() == most_sources)
        sources_.clear();
    Source& source = sources_[copy.source];
    if (source.bytes == copy.bytes && source.allocation == copy.source_allocation &&
        has_changed(source, copy.content)) {
        HazardTotals* const totals =
            note({HazardKind::reused_source, source.site, call.site}, source.work, call.start, *memory);
        if (totals != nullptr)
            totals->bytes = copy.bytes;
    }
    source = {.bytes = copy.bytes,
              .part_hash = copy.content.part_hash,
              .whole_hash = copy.content.whole_hash,
              .allocation = copy.source_allocation,
              .writes = memory->writes,
              .ticks = copy.start,
              .start = call.start,
              .thread = call.thread,
              .site = call.site,
              .moment = order_.last(call.stream),
              .work = work};
    if (in_flight_.size() == most_in_flight)
        in_flight_.clear();
    in_flight_[copy.start] = source;
}

void Hazards::add(const trace::Content& record, std::uint32_t thread) {
    const Source* const source = record.source_changed == 0 ? nullptr : in_flight_.find(record.copy);
    if (source == nullptr || source->thread != thread || record.start < record.copy ||
        !has_changed(*source, record.content))
        return;
    const std::uint64_t since = record.start - record.copy + record.content.look_duration;
    if (changed_.size() == most_changed) // the oldest may be of a thread that made no call any more
        changed_.erase(changed_.begin());
    changed_.push_back({*source, source->start + static_cast<double>(since) * ns_per_tick_});
}

/// Notes the sources that were seen to have changed before this call of their thread.
void Hazards::note_changed(const facts::Call& call) {
    for (const Changed& changed : changed_) {
        const Memory* const memory = live_.find(changed.source.allocation);
        if (changed.source.thread != call.thread || memory == nullptr)
            continue;
        HazardTotals* const totals = note({HazardKind::changed_source, changed.source.site, call.site},
                                          changed.source.work, changed.seen, *memory);
        if (totals != nullptr)
            totals->bytes = changed.source.bytes;
    }
    std::erase_if(changed_, [&](const Changed& changed) { return changed.source.thread == call.thread; });
}

void Hazards::add(const WorkCall& made) {
    const facts::Call& call = made.call;
    const reader::ThreadCursor& cursor = made.cursor;
    if (order_.unknown())
        return;
    if (!changed_.empty())
        note_changed(call);
    if (const auto* const record = std::get_if<trace::Free>(&cursor.event()))
        return free(*record, call);
    order_.add(call);
    lost_.add(made, order_);
    if (call.queues != facts::Queues::work)
        return;
    const auto* const copy = std::get_if<trace::Copy>(&cursor.event());
    const auto* const set = std::get_if<trace::Set>(&cursor.event());
    const facts::LeastEnds::Work work = ends_.add(call, copy != nullptr  ? copy->bytes
                                                        : set != nullptr ? set->bytes
                                                                         : 0);
    if (std::holds_alternative<trace::GraphLaunch>(cursor.event())) // its nodes may write page-locked memory
        sources_tell_ = false;
    if (copy != nullptr || set != nullptr)
        change(copy != nullptr ? copy->destination_allocation : set->allocation, call);
    if (copy != nullptr && copy->origin == trace::Origin::program)
        upload(*copy, call, work);
    if (!streams_made_ && !order_.several_streams())
        return;
    if (copy != nullptr) {
        use(*copy, call, work);
    } else if (set != nullptr) {
        use(*set, call, work);
    } else if (std::holds_alternative<trace::Launch>(cursor.event()) && cursor.shape() != nullptr) {
        launch(*cursor.shape(), call, work);
    }
}

void Hazards::finish() {
    for (auto& [site, open] : open_) {
        HazardTotals& totals = sites_.at(site);
        for (const Open& each : open) {
            const double left = each.work.end() - each.at;
            totals.proved += left > 0 ? 1 : 0;
            totals.left_ns = std::max(totals.left_ns, left);
        }
    }
    open_.clear();
    if (order_.unknown())
        sites_.clear();
    for (auto site = sites_.begin(); site != sites_.end();) {
        const auto unproved = site->second.proved == 0 ? site : sites_.end();
        ++site;
        if (unproved == sites_.end())
            continue;
        if (unproved->second.second == AccessKind::free && unproved->second.first == AccessKind::kernel)
            unproved_frees_.insert(*unproved);
        sites_.erase(unproved);
    }
}

} // namespace umadvisor::rules
