#include "analyzer/rules/python/statements.hpp"

#include "analyzer/facts/direction.hpp"
#include "analyzer/reader/saturated.hpp"

#include <algorithm>

namespace umadvisor::rules {
namespace {

/// A launch whose call was not measured, nanoseconds, until one was.
constexpr double usual_launch_ns = 3000;
/// No framework copies its arguments aside more slowly: what a thread did before it uploaded them, within this
/// time, it did for the upload.
constexpr double slow_copy_bytes_per_s = 5e9;
/// A thread that needs an upload waits for it within the time that a slow copy of this many bytes takes. A
/// later wait shows that the thread had other work meanwhile.
constexpr double prompt_bytes = 1 << 20;

PythonSite::Kind kind_of(const trace::Copy& record) {
    const bool from_host = facts::is_host_memory(record.source_memory),
               to_host = facts::is_host_memory(record.destination_memory);
    return from_host && !to_host   ? PythonSite::Kind::upload
           : to_host && !from_host ? PythonSite::Kind::download
           : from_host             ? PythonSite::Kind::other
                                   : PythonSite::Kind::across;
}

/// Less than what allocations are apart: of one array.
constexpr std::uint64_t most_stride = 256;

} // namespace

Statements::Statements(const Begin& begin)
    : dictionary_(begin.dictionary),
      ticks_per_byte_(1e9 / slow_copy_bytes_per_s / begin.ns_per_tick),
      watches_(!dictionary_.python_frames.empty()),
      launch_ticks_(static_cast<std::uint64_t>(usual_launch_ns / begin.ns_per_tick)) {}

const PythonSite* Statements::find(const ids::CallSite& site) const {
    const auto found = numbers_.find(site);
    return found == numbers_.end() ? nullptr : &sites_[found->second];
}

void Statements::add(const Launched& launched) {
    const trace::Launch& record = launched.record;
    const reader::Shape* const shape = launched.shape;
    if (!watches_ || shape == nullptr)
        return;
    if (record.duration != 0)
        launch_ticks_ += std::min(record.duration, 4 * launch_ticks_) / 16 - launch_ticks_ / 16;
    note({ids::CallSite::of(*shape), PythonSite::Kind::launch, record.start,
          record.duration != 0 ? record.duration : launch_ticks_, launched.thread},
         record);
}

PythonSite* Statements::enter(const Seen& call) {
    Thread& thread = threads_[call.thread];
    before_ = thread.end;
    const auto found = numbers_.find(call.site);
    std::uint32_t number = none;
    if (found != numbers_.end()) {
        number = found->second;
    } else if (sites_.size() < most_sites) {
        number = static_cast<std::uint32_t>(sites_.size());
        numbers_.emplace(call.site, number);
        sites_.push_back({.site = call.site, .kind = call.kind});
    }
    if (thread.last != none && number != none) {
        const PythonStep step{thread.last, number};
        // The end of a launch that was not measured is a guess.
        const std::uint64_t gap = call.start - std::min(call.start, thread.end);
        if (const auto known = steps_.find(step); known != steps_.end())
            known->second.add(gap);
        else if (steps_.size() < most_steps)
            steps_[step].add(gap);
    }
    settle_background(number);
    thread.last = python_last_ = number;
    thread.end = reader::saturated_sum(call.start, call.duration);
    if (number == none)
        return nullptr;
    PythonSite& site = sites_[number];
    ++site.count;
    reader::add_saturated(site.ticks, call.duration);
    return &site;
}

void Statements::leave(const Seen& call) {
    Thread& thread = threads_[call.thread];
    thread.last = none;
    thread.end = reader::saturated_sum(call.start, call.duration);
    if (python_last_ != none && pending_.size() < most_pending)
        pending_.push_back(call.site);
}

/// All that was done without Python since the last call of Python code lies between that one and `next`.
void Statements::settle_background(std::uint32_t next) {
    if (next != none)
        for (const ids::CallSite& site : pending_)
            if (background_.contains(site) || background_.size() < most_sites) {
                std::map<PythonStep, std::uint64_t>& places = background_[site];
                if (const auto known = places.find({python_last_, next}); known != places.end())
                    ++known->second;
                else if (places.size() < most_hashes)
                    places[{python_last_, next}] = 1;
            }
    pending_.clear();
}

/// Whether the bytes were there before.
bool Statements::look(Hashes& hashes, const trace::CopyContent& content, Sameness& sameness) {
    if (content.part_hash == 0)
        return false;
    ++sameness.looked;
    const bool known = hashes.contains(content.part_hash);
    sameness.repeated += known;
    if (!known && hashes.size() < most_hashes)
        hashes.insert(content.part_hash);
    return known;
}

void Statements::count(PythonSite& site, const trace::Copy& record) {
    const PythonSite::Kind kind = kind_of(record);
    const trace::Memory host =
        kind == PythonSite::Kind::upload ? record.source_memory : record.destination_memory;
    site.kind = site.count == 1 || site.kind == kind ? kind : PythonSite::Kind::other;
    site.pinned &= facts::is_page_locked(host);
    site.pageable &= host == trace::Memory::pageable;
    reader::add_saturated(site.bytes, record.bytes);
    site.most_bytes = std::max(site.most_bytes, record.bytes);
    if (kind == PythonSite::Kind::download) {
        site.advances += record.source >= site.source_end && record.source < site.source_end + most_stride;
        site.source_end = record.source + record.bytes;
    }
    if (kind == PythonSite::Kind::upload && look(hashes_[site.site], record.content, site.content))
        site.last_repeated = site.count;
}

void Statements::upload(const trace::Copy& record, std::uint32_t thread) {
    if (kind_of(record) != PythonSite::Kind::upload || record.status != 0)
        return;
    Thread& state = threads_[thread];
    if (std::exchange(state.recorded, false))
        state.upload = {};
    if (state.upload.count++ == 0)
        state.upload.start = record.start;
    state.upload.end = reader::saturated_sum(record.start, record.duration);
    reader::add_saturated(state.upload.bytes, record.bytes);
    Sameness content;
    look(hashes_[ids::CallSite::of(record)], record.content, content);
    state.upload.looked += content.looked;
    state.upload.repeated += content.repeated;
}

void Statements::recorded(const trace::Event& record, std::uint32_t thread) {
    Thread& state = threads_[thread];
    if (state.upload.count == 0) {
        events_.erase(record.event);
        return;
    }
    state.recorded = true;
    if (events_.size() < most_events || events_.contains(record.event))
        events_[record.event] = state.upload;
}

/// Of the time since the call before, what the upload was made and prepared in. Each upload counts once, though
/// it may have several events.
void Statements::await(PythonSite& site, const trace::Stream& record, std::uint64_t before) {
    const auto found = events_.find(record.event);
    if (found == events_.end())
        return;
    const Upload upload = found->second;
    events_.erase(found);
    if (before == 0 || record.start <= before)
        return;
    const auto prepared = static_cast<std::uint64_t>(static_cast<double>(upload.bytes) * ticks_per_byte_);
    const std::uint64_t begin = std::max(before, upload.start - std::min(upload.start, prepared));
    AwaitedUploads& awaited = site.awaited;
    ++awaited.uploads;
    reader::add_saturated(awaited.bytes, upload.bytes);
    awaited.content.looked += upload.looked;
    awaited.content.repeated += upload.repeated;
    const auto prompt = static_cast<std::uint64_t>(prompt_bytes * ticks_per_byte_);
    if (upload.end > before && record.start > begin &&
        record.start <= reader::saturated_sum(upload.end, prompt)) {
        ++awaited.rounds;
        awaited.ticks += record.start - begin;
    }
}

} // namespace umadvisor::rules
