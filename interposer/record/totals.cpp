#include "interposer/record/totals.hpp"

#include "interposer/record/clock.hpp"

namespace umadvisor::record {

namespace {

using Total = std::atomic<std::uint64_t>;

/// Times in ticks.
struct Counted {
    struct Copies {
        Total calls, bytes, pageable_bytes;
    };
    Copies copies[copy_ways];
    Total launches, graph_launches, waits, wait_ticks, call_ticks;
    Total managed_bytes_to_device, managed_bytes_to_host, device_faults, host_faults, thrashing;
    Total refused, actions, act_bytes;
    Total watched_ns, watched_since; ///< CLOCK_MONOTONIC; 0: not now
};
constinit Counted counted{};
constinit std::atomic<CrossesDevices> crosses_devices{nullptr};

void add(Total& total, std::uint64_t more) noexcept {
    total.fetch_add(more, std::memory_order_relaxed);
}

std::uint64_t value(const Total& total) noexcept {
    return total.load(std::memory_order_relaxed);
}

bool is_host(trace::Memory memory) noexcept {
    return memory == trace::Memory::pageable || memory == trace::Memory::pinned ||
           memory == trace::Memory::registered;
}

CopyWay way_of(const trace::Copy& copy) noexcept {
    if (copy.source_memory == trace::Memory::managed || copy.destination_memory == trace::Memory::managed)
        return CopyWay::managed;
    const bool from_host = is_host(copy.source_memory), to_host = is_host(copy.destination_memory);
    if (from_host)
        return to_host ? CopyWay::host_to_host : CopyWay::host_to_device;
    if (to_host)
        return CopyWay::device_to_host;
    const CrossesDevices crosses = crosses_devices.load(std::memory_order_relaxed);
    return crosses != nullptr && crosses(copy.source, copy.destination) ? CopyWay::peer
                                                                        : CopyWay::device_to_device;
}

void count_action(std::uint64_t bytes) noexcept {
    add(counted.actions, 1);
    add(counted.act_bytes, bytes);
}

// What a record of a call that succeeded counts as, beyond its time.

template <class Record>
void add_work(const Record&) noexcept {}

void add_work(const trace::Copy& copy) noexcept {
    if (copy.captured != 0)
        return;
    if (copy.staged != 0 || copy.origin == trace::Origin::umadvisor)
        count_action(copy.bytes);
    if (copy.staged == 0 && copy.origin == trace::Origin::umadvisor)
        return;
    Counted::Copies& here = counted.copies[static_cast<std::size_t>(way_of(copy))];
    add(here.calls, copy.batch <= 1 ? 1 : 0);
    add(here.bytes, copy.bytes);
    if (copy.source_memory == trace::Memory::pageable || copy.destination_memory == trace::Memory::pageable)
        add(here.pageable_bytes, copy.bytes);
}

void add_work(const trace::GraphLaunch&) noexcept {
    add(counted.graph_launches, 1);
}

void add_work(const trace::Sync& sync) noexcept {
    if (sync.kind == trace::SyncKind::stream_query || sync.kind == trace::SyncKind::event_query)
        return;
    add(counted.waits, 1);
    add(counted.wait_ticks, sync.duration);
}

void add_work(const trace::Prefetch& prefetch) noexcept {
    if (prefetch.origin == trace::Origin::umadvisor)
        count_action(prefetch.bytes);
}

void add_work(const trace::Advise& advice) noexcept {
    if (advice.origin == trace::Origin::umadvisor)
        count_action(0);
}

void add_work(const trace::Alloc& allocation) noexcept {
    if (watched() && allocation.origin == trace::Origin::umadvisor)
        count_action(allocation.bytes);
}

/// The driver's totals. CUPTI's come this way; those of the queue can be read at any time.
void add_event(const trace::ManagedCounters& totals) noexcept {
    counted.managed_bytes_to_device.store(totals.bytes_to_device, std::memory_order_relaxed);
    counted.managed_bytes_to_host.store(totals.bytes_to_host, std::memory_order_relaxed);
    counted.host_faults.store(totals.host_faults, std::memory_order_relaxed);
    counted.device_faults.store(totals.device_faults, std::memory_order_relaxed);
}

void add_event(const trace::ManagedEvent& event) noexcept {
    if (event.kind == trace::ManagedEventKind::thrashing)
        add(counted.thrashing, 1 + event.count);
}

template <class Record>
void add_event(const Record&) noexcept {}

constexpr std::uint64_t out_of_memory = 2; // CUDA_ERROR_OUT_OF_MEMORY

} // namespace

void watch(bool on, CrossesDevices crosses) noexcept {
    crosses_devices.store(crosses, std::memory_order_relaxed);
    if (detail::taking_page.watched.exchange(on) == on)
        return;
    const std::uint64_t now = monotonic_nanoseconds();
    if (on)
        counted.watched_since.store(now, std::memory_order_relaxed);
    else
        add(counted.watched_ns, now - counted.watched_since.exchange(0, std::memory_order_relaxed));
}

template <class Record>
void count(const Record& record) noexcept {
    if constexpr (requires { record.duration, record.status; }) {
        if constexpr (std::is_same_v<Record, trace::Alloc>)
            add(counted.refused, record.status == out_of_memory ? 1 : 0);
        if (watched())
            add(counted.call_ticks, record.duration);
        if (record.status == 0)
            add_work(record);
    } else {
        add_event(record);
    }
}

#define EVENT(R) template void count(const trace::R&) noexcept;
#include "trace/records.def"

void count(const trace::LaunchShape& shape, const trace::Launch& launch) noexcept {
    add(counted.call_ticks, launch.duration);
    if (launch.status == 0 && shape.captured == 0)
        add(counted.launches, 1);
}

void read_totals(Totals& totals) noexcept {
    for (std::size_t i = 0; i < copy_ways; ++i) {
        const Counted::Copies& from = counted.copies[i];
        totals.copies[i] = {value(from.calls), value(from.bytes), value(from.pageable_bytes)};
    }
    totals.launches = value(counted.launches);
    totals.graph_launches = value(counted.graph_launches);
    totals.waits = value(counted.waits);
    totals.wait_ns = nanoseconds_in(value(counted.wait_ticks));
    totals.calls_ns = nanoseconds_in(value(counted.call_ticks));
    totals.managed_bytes_to_device = value(counted.managed_bytes_to_device);
    totals.managed_bytes_to_host = value(counted.managed_bytes_to_host);
    totals.device_faults = value(counted.device_faults);
    totals.host_faults = value(counted.host_faults);
    totals.thrashing = value(counted.thrashing);
    totals.refused = value(counted.refused);
    totals.actions = value(counted.actions);
    totals.act_bytes = value(counted.act_bytes);
    const std::uint64_t since = value(counted.watched_since);
    totals.watched_ns = value(counted.watched_ns) + (since != 0 ? monotonic_nanoseconds() - since : 0);
}

} // namespace umadvisor::record
