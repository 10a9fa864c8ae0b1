#include "analyzer/facts/calls.hpp"
#include "analyzer/facts/deferred.hpp"
#include "analyzer/facts/waiting.hpp"

#include "analyzer/reader/saturated.hpp"

#include <algorithm>
#include <type_traits>
#include <variant>

namespace umadvisor::facts {
namespace {

using trace::Memory;

/// Pageable memory to the device: the driver stages up to so much and returns ("What waits for what" in
/// docs/driver.md).
constexpr std::uint64_t staged_bytes = 2 * 1024 * 1024;
/// Assumed for kernels of which nothing is known.
constexpr double unknown_kernel_ns = 3000, unknown_doubt = 10;
constexpr double pageable_doubt = 0.5, pinned_doubt = 0.1;
/// This many blocks may fill the multiprocessors of a small device.
constexpr std::uint64_t wide_blocks = 16;
/// Assumed for a wait and a free of which no quicker one was seen.
constexpr double usual_wait_ns = 1000, usual_free_ns = 60'000;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t number) {
    hash = (hash ^ number) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 32;
}

std::uint64_t key_of(const reader::Shape& shape) {
    std::uint64_t hash = mixed(1, shape.function);
    for (const std::uint64_t number : {shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0],
                                       shape.block[1], shape.block[2], shape.shared_bytes})
        hash = mixed(hash, number);
    return hash | 1;
}

bool stays_on_host(Memory memory) {
    return is_host_memory(memory);
}
} // namespace

Calls::Calls(const reader::Trace& trace, const machine::Rates& rates)
    : trace_(trace),
      rates_(rates),
      ns_per_tick_(static_cast<double>(trace.time.length(1'000'000)) / 1e6),
      first_(trace.file.header().first.ticks),
      peers_(trace.dictionary),
      launch_ns_(rates.launch_call_ns) {}

StreamPlace Calls::place(trace::StreamId stream, std::uint32_t thread) {
    Placed& placed = placed_[(mixed(5, number(stream)) + thread) % placed_.size()];
    if (placed.stream != stream || placed.thread != thread)
        placed = {stream, thread, find_place(stream, thread)};
    return placed.place;
}

StreamPlace Calls::find_place(trace::StreamId stream, std::uint32_t thread) {
    const auto [context, device] = contexts_.of(thread, stream);
    StreamPlace place;
    const auto [known, fresh] = devices_.try_emplace(context, static_cast<std::uint32_t>(devices_.size()));
    place.device = known->second;
    if (fresh)
        ordinals_.push_back(device);
    place.legacy = stream == legacy_stream || stream == facts::other_legacy_stream;
    place.blocking = !place.legacy && !not_blocking_.contains(stream);
    // The default streams are of a context, and one of them of a thread, too.
    const std::uint64_t key = place.legacy                            ? mixed(2, context)
                              : stream == facts::stream_of_the_thread ? mixed(mixed(3, context), thread)
                                                                      : number(stream);
    place.number = streams_.of(key);
    return place;
}

template <class Record>
Call Calls::begin(const Record& record, std::uint32_t thread) {
    Call call;
    if constexpr (requires {
                      record.stack;
                      record.entry;
                  })
        call.site = ids::CallSite::of(record);
    call.start = at(record.start);
    call.duration = length(record.duration);
    call.thread = thread;
    return call;
}

/// The quickest call of an entry point shows how long its calls take by themselves.
double Calls::least(const Call& call) {
    const double usual_ns = call.surely_waits ? usual_wait_ns : usual_free_ns;
    double& least = least_[call.site.entry];
    least = least == 0 ? std::min(call.duration, usual_ns) : std::min(least, call.duration);
    return least;
}

/// How long such work takes is known only from measurements and waits.
void Calls::queue_unknown(Call& call, trace::StreamId stream, std::uint32_t group) {
    call.stream = place(stream, call.thread);
    call.queues = Queues::work;
    call.expected_ns = unknown_kernel_ns;
    call.doubt = unknown_doubt;
    call.group = group;
}

std::uint32_t Calls::group(std::uint64_t key) {
    std::uint32_t& number = groups_[key];
    if (number == 0)
        number = static_cast<std::uint32_t>(groups_.size());
    return number;
}

std::optional<Call> Calls::of(const trace::LaunchShape&, const reader::ThreadCursor& cursor) {
    std::vector<Kernel>& kernels = kernels_[cursor.index()];
    const std::size_t place = cursor.defined()->place;
    if (place >= kernels.size())
        kernels.resize(place + 1);
    kernels[place] = {};
    return std::nullopt;
}

const Calls::Kernel& Calls::kernel(const reader::Shape& shape, std::uint32_t thread) {
    Kernel& kernel = kernels_[thread][shape.place];
    if (kernel.group == 0) {
        const std::uint64_t of_plane = reader::saturated_product(shape.grid[0], shape.grid[1]);
        const std::uint64_t key = key_of(shape);
        // Each line has work of its own for a kernel.
        kernel = {group(mixed(mixed(9, key), shape.stack.packed()) | 1), group(key),
                  reader::saturated_product(of_plane, shape.grid[2]) >= wide_blocks};
    }
    return kernel;
}

std::optional<Call> Calls::of(const trace::Launch& record, const reader::ThreadCursor& cursor) {
    Call call = begin(record, cursor.index());
    if (record.duration != 0)
        launch_ns_ += (std::min(call.duration, 4 * launch_ns_) - launch_ns_) / 16;
    else
        call.duration = launch_ns_;
    const reader::Shape* const shape = cursor.shape();
    if (shape == nullptr)
        return call;
    call.site = ids::CallSite::of(*shape);
    if (record.status != 0 || shape->captured)
        return call;
    call.sample = record.sample;
    const Kernel& launched = kernel(*shape, call.thread);
    call.kin = launched.kin;
    queue_unknown(call, shape->stream, launched.group);
    call.wide = launched.wide;
    return call;
}

/// The version that an executable graph began with before it was updated.
std::uint64_t Calls::graph_of(std::uint64_t version) {
    const auto [graph, fresh] = graphs_.try_emplace(version, version);
    if (!fresh)
        return graph->second;
    const auto& versions = trace_.dictionary.graph_versions;
    const auto found = versions.find(version);
    const auto base = graphs_.find(found == versions.end() ? 0 : found->second.base);
    return graph->second = base == graphs_.end() ? version : base->second;
}

/// The same for graphs that do the same: one that is built anew for each round takes as long as the one before.
std::uint64_t Calls::work_of(std::uint64_t version) const {
    const auto& versions = trace_.dictionary.graph_versions;
    const auto found = versions.find(version);
    const bool all_known = found != versions.end() && found->second.base == 0 && found->second.untold == 0;
    return all_known ? found->second.content : version;
}

std::optional<Call> Calls::of(const trace::GraphLaunch& record, const reader::ThreadCursor& cursor) {
    Call call = begin(record, cursor.index());
    if (record.status != 0 || record.captured != 0)
        return call;
    call.sample = record.sample;
    queue_unknown(call, record.stream, group(mixed(4, work_of(record.version)) | 1));
    call.wide = true;
    if (record.version != 0)
        call.event = events_.of(mixed(8, graph_of(record.version)));
    return call;
}

std::optional<Call> Calls::of(const trace::HostFunction& record, const reader::ThreadCursor& cursor) {
    Call call = begin(record, cursor.index());
    if (record.status != 0 || record.captured != 0)
        return call;
    queue_unknown(call, record.stream, group(mixed(5, record.function_address) | 1));
    return call;
}

/// Bytes per second that a copy reaches whose ends are both device memory.
double Calls::rate_on_devices(const trace::Copy& record) const {
    const std::optional<PeerCopy> way = peers_.between_devices(record);
    return !way                          ? rates_.device_to_device
           : peers_.enabled(way->pair()) ? rates_.to_peer(peers_.linked(way->pair()))
                                         : rates_.to_peer_through_host();
}

std::optional<Call> Calls::of(const trace::Copy& record, const reader::ThreadCursor& cursor) {
    Call call = begin(record, cursor.index());
    const bool from_host = stays_on_host(record.source_memory),
               to_host = stays_on_host(record.destination_memory);
    if (record.status != 0 || record.captured != 0 || (from_host && to_host) || is_deferred(record))
        return call;
    call.stream = place(record.stream, cursor.index());
    call.queues = Queues::work;
    call.bytes = record.bytes;
    call.sample = record.sample;
    call.engine = from_host ? Engine::up : to_host ? Engine::down : Engine::none;
    call.least_ns = least(call);
    const bool managed =
        record.source_memory == Memory::managed || record.destination_memory == Memory::managed;
    const bool pageable = (from_host && !is_page_locked(record.source_memory)) ||
                          (to_host && !is_page_locked(record.destination_memory));
    const std::optional<PeerCopy> way = peers_.between_devices(record);
    if (record.asynchronous == 0)
        call.waits = from_host || to_host || managed ? Waits::itself : Waits::nothing;
    else if (pageable && (to_host || record.bytes > staged_bytes))
        call.waits = Waits::itself;
    else
        call.staged = pageable && from_host;
    call.staged |= way && way->plain && !peers_.enabled(way->pair());
    const double rate = from_host ? (pageable ? rates_.pageable_to_device : rates_.pinned_to_device)
                        : to_host ? (pageable ? rates_.device_to_pageable : rates_.device_to_pinned)
                                  : rate_on_devices(record);
    call.expected_ns = (call.waits == Waits::itself ? rates_.small_copy_ns : least_work_ns) +
                       static_cast<double>(record.bytes) / rate * 1e9;
    // The driver chooses the way between devices.
    call.doubt = pageable || managed || way ? pageable_doubt : pinned_doubt;
    call.group = group(mixed(mixed(mixed(6, record.stack), record.entry), record.bytes) | 1);
    return call;
}

std::optional<Call> Calls::of(const trace::Set& record, const reader::ThreadCursor& cursor) {
    Call call = begin(record, cursor.index());
    if (record.status != 0 || record.captured != 0)
        return call;
    call.stream = place(record.stream, cursor.index());
    call.queues = Queues::work;
    call.bytes = record.bytes;
    if (record.asynchronous == 0 && record.memory != Memory::device)
        call.waits = Waits::itself;
    const double rate = stays_on_host(record.memory) ? rates_.device_to_pinned : rates_.memory_set;
    call.expected_ns = least_work_ns + static_cast<double>(record.bytes) / rate * 1e9;
    call.doubt = pinned_doubt;
    call.group = group(mixed(mixed(mixed(7, record.stack), record.entry), record.bytes) | 1);
    return call;
}

std::optional<Call> Calls::of(const trace::Prefetch& record, const reader::ThreadCursor& cursor) {
    Call call = begin(record, cursor.index());
    if (record.status != 0 || is_deferred(record))
        return call;
    call.stream = place(record.stream, cursor.index());
    call.queues = Queues::work;
    call.bytes = record.bytes;
    const bool up = record.location == trace::Location::device;
    call.engine = up ? Engine::up : Engine::down;
    call.expected_ns =
        rates_.prefetch_call_ns +
        static_cast<double>(record.bytes) / (up ? rates_.prefetch_to_device : rates_.prefetch_to_host) * 1e9;
    call.doubt = pageable_doubt; // what lies there already takes next to nothing
    call.group = group(mixed(mixed(mixed(8, record.stack), record.entry), record.bytes) | 1);
    return call;
}

void Calls::query(Call& call, const trace::Sync& record) {
    if (record.kind == trace::SyncKind::stream_query) {
        call.stream = place(record.of_stream(), call.thread);
        call.found_done = Waits::stream;
    } else if (record.kind == trace::SyncKind::event_query) {
        call.event = events_.of(record.object);
        call.found_done = Waits::event;
    }
}

std::optional<Call> Calls::of(const trace::Sync& record, const reader::ThreadCursor& cursor) {
    Call call = begin(record, cursor.index());
    if (record.status != 0)
        return call;
    if (!waits_for_work(record)) {
        query(call, record);
        return call;
    }
    call.least_ns = least(call);
    call.stream =
        place(record.kind == trace::SyncKind::stream ? record.of_stream() : legacy_stream, cursor.index());
    call.waits = record.kind == trace::SyncKind::stream  ? Waits::stream
                 : record.kind == trace::SyncKind::event ? Waits::event
                                                         : Waits::device;
    if (call.waits == Waits::event)
        call.event = events_.of(record.object);
    return call;
}

std::optional<Call> Calls::of(const trace::Event& record, const reader::ThreadCursor& cursor) {
    Call call = begin(record, cursor.index());
    if (record.status != 0 || record.captured != 0)
        return call;
    if (record.action == trace::EventAction::record) {
        call.stream = place(record.stream, cursor.index());
        call.event = events_.of(record.event);
        call.queues = Queues::record;
    } else if (record.action == trace::EventAction::destroy) {
        events_.destroy(record.event);
    }
    return call;
}

std::optional<Call> Calls::of(const trace::Stream& record, const reader::ThreadCursor& cursor) {
    contexts_.add(record, cursor.index());
    Call call = begin(record, cursor.index());
    if (record.status != 0 || record.captured != 0)
        return call;
    if (record.action == trace::StreamAction::wait_event) {
        call.stream = place(record.stream, cursor.index());
        call.event = events_.of(record.event);
        call.queues = Queues::join;
    } else if (record.action == trace::StreamAction::create) {
        placed_.fill({});
        if ((record.flags & 1) != 0) // CU_STREAM_NON_BLOCKING
            not_blocking_.insert(record.stream);
    } else if (record.action == trace::StreamAction::destroy) {
        placed_.fill({});
        streams_.destroy(number(record.stream));
        not_blocking_.erase(record.stream);
    }
    return call;
}

std::optional<Call> Calls::of(const trace::Context& record, const reader::ThreadCursor& cursor) {
    contexts_.add(record, cursor.index());
    placed_.fill({});
    return begin(record, cursor.index());
}

std::optional<Call> Calls::of(const trace::Peer& record, const reader::ThreadCursor& cursor) {
    peers_.add(record);
    return begin(record, cursor.index());
}

std::optional<Call> Calls::of(const trace::Alloc& record, const reader::ThreadCursor& cursor) {
    peers_.add(record);
    if (record.part != 0)
        return std::nullopt;
    if (record.status == 0 && record.captured == 0 && trace_.dictionary.is_stream_ordered(record.entry))
        pooled_.insert(record.allocation);
    return begin(record, cursor.index());
}

std::optional<Call> Calls::of(const trace::Free& record, const reader::ThreadCursor& cursor) {
    peers_.add(record);
    if (record.part != 0)
        return std::nullopt;
    Call call = begin(record, cursor.index());
    if (record.status != 0 || record.captured != 0)
        return call;
    const bool pooled = pooled_.erase(record.allocation) != 0;
    if (trace_.dictionary.is_stream_ordered(record.entry)) {
        call.stream = place(record.stream, cursor.index());
        return call;
    }
    call.stream = place(legacy_stream, cursor.index());
    if (pooled) // the driver leaves it to the program that the memory is no longer in use
        return call;
    call.waits = Waits::device;
    call.surely_waits = false;
    call.least_ns = least(call);
    return call;
}

template <class Record>
std::optional<Call> Calls::of(const Record& record, const reader::ThreadCursor& cursor) {
    if constexpr (requires {
                      record.entry;
                      record.start;
                      record.duration;
                  })
        return begin(record, cursor.index());
    else
        return std::nullopt;
}

std::optional<Call> Calls::next(const reader::ThreadCursor& cursor) {
    if (const auto* const launch = std::get_if<trace::Launch>(&cursor.event())) // most are
        return of(*launch, cursor);
    return std::visit([&](const auto& record) { return of(record, cursor); }, cursor.event());
}

} // namespace umadvisor::facts
