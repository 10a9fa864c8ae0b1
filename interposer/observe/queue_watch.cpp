#include "interposer/observe/queue_watch.hpp"

#include "interposer/attach/driver.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/managed_batch.hpp"
#include "interposer/observe/managed_decoder.hpp"
#include "interposer/observe/queue_counters.hpp"
#include "interposer/observe/queue_processors.hpp"
#include "interposer/observe/raw_clock.hpp"
#include "interposer/observe/tools_device.hpp"
#include "interposer/observe/tools_ring.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/stacks.hpp"
#include "interposer/runtime/options.hpp"
#include "interposer/runtime/own_thread.hpp"
#include "residency/driver_branches.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <ctime>
#include <semaphore.h>
#include <sys/mman.h>

namespace umadvisor::observe {

namespace tools = residency::tools;
using runtime::ManagedDetailOption;
using runtime::ManagedWitness;
using trace::ManagedEventKind;

namespace {

constexpr std::uint32_t ring_entries = 1 << 15;

// Nanoseconds between the thread's rounds. A ring holds the events of 2 ms of faults.
constexpr std::uint64_t busy_nap = 2'000'000, quiet_nap = runtime::longest_sleep;
// All events are enabled for one part in 25 of the time, while memory moves: they halve the speed of
// migrations.
constexpr std::uint64_t window = 4'000'000, between_windows = 100'000'000;

constexpr std::uint64_t light_types =
    tools::flag(tools::EventType::host_fault) | tools::flag(tools::EventType::read_duplicate) |
    tools::flag(tools::EventType::read_duplicate_end) | tools::flag(tools::EventType::thrashing) |
    tools::flag(tools::EventType::throttling_start) | tools::flag(tools::EventType::throttling_end) |
    tools::flag(tools::EventType::remote_map);
constexpr std::uint64_t fault_types = tools::flag(tools::EventType::device_fault);
constexpr std::uint64_t move_types = tools::flag(tools::EventType::migration);
constexpr std::uint64_t counter_flags = 1u << tools::bytes_to_device | 1u << tools::bytes_to_host |
                                        1u << tools::host_faults | 1u << tools::device_faults;

constexpr std::uint64_t kind(ManagedEventKind which) {
    return std::uint64_t{1} << static_cast<unsigned>(which);
}
constexpr std::uint64_t kinds_of(std::uint64_t types) {
    if (types == 0)
        return 0;
    std::uint64_t kinds = kind(ManagedEventKind::host_fault) | kind(ManagedEventKind::thrashing) |
                          kind(ManagedEventKind::throttling) | kind(ManagedEventKind::remote_map) |
                          kind(ManagedEventKind::read_duplicate) | kind(ManagedEventKind::read_duplicate_end);
    if ((types & fault_types) != 0)
        kinds |= kind(ManagedEventKind::device_fault);
    if ((types & move_types) != 0)
        kinds |= kind(ManagedEventKind::migration);
    return kinds;
}

/// What the driver writes to, and our batch. One mapping, so that one call unmaps all.
struct Shared {
    tools::Entry entries[ring_entries];
    alignas(4096) tools::Control control;
    alignas(4096) std::uint64_t counters[tools::counters];
    alignas(4096) ManagedBatch batch;
};

using Totals = QueueCounters::Totals;

record::Mutex mutex{record::Lock::tools_queue}; ///< guards the ring's reading end and what follows
Shared* shared = nullptr;
ToolsTracker ring_tracker, counter_tracker;
ToolsRing ring;
ManagedDecoder decoder;
RawClock raw_clock;
std::uint64_t enabled_types = 0, recorded_lost = 0;
QueueProcessors processor_of; ///< the module's number -> the trace's

std::atomic<bool> watching{false}, suspended{false};
std::atomic<ManagedListener> event_listener{nullptr};
std::atomic<std::uint64_t> delivered_activity{0}; ///< sum of the counters at the last deliver()
QueueCounters counters;

/// Events that come while recording is paused are dropped.
void write_batch() {
    ManagedBatch& batch = shared->batch;
    if (!record::takes(record::Taking::everything))
        batch.count = 0;
    batch.sort();
    for (std::size_t i = 0; i < batch.count; ++i) {
        trace::ManagedEvent& event = batch.events[i];
        event.from = processor_of[event.from];
        event.to = processor_of[event.to];
        write_event(event, raw_clock);
    }
    batch.count = 0;
}

void keep_event(void*, const trace::ManagedEvent& event) {
    ManagedBatch& batch = shared->batch;
    if (batch.count == ManagedBatch::most)
        write_batch();
    batch.events[batch.count++] = event;
    if (const ManagedListener listener = event_listener.load(std::memory_order_acquire))
        listener(event);
}

void record_detail(std::uint64_t lost) {
    trace::ManagedDetail record;
    record.start = record::now();
    record.kinds = kinds_of(enabled_types);
    record.lost = lost;
    record::write(record);
}

/// With `mutex` held. Reads the ring and returns the number of entries.
std::uint32_t collect() {
    raw_clock.read();
    const std::uint32_t count =
        ring.read([](const tools::Entry& entry) { decoder.take(entry, keep_event, nullptr); });
    decoder.finish(keep_event, nullptr);
    return count;
}

/// The same, and writes the events.
std::uint32_t drain() {
    const std::uint64_t begin = record::now();
    const std::uint32_t count = collect();
    write_batch();
    if (const std::uint64_t lost = ring.lost(); lost != recorded_lost) {
        record_detail(lost - recorded_lost);
        recorded_lost = lost;
    }
    if (count != 0)
        record::charge(record::now() - begin);
    return count;
}

/// With `mutex` held.
void set_types(std::uint64_t types) {
    const std::uint64_t more = types & ~enabled_types, fewer = enabled_types & ~types;
    if (fewer != 0) {
        // The driver writes a migration when it notices its end, and only if the type is still enabled then.
        ring_tracker.flush();
        drain();
        ring_tracker.disable(fewer);
    }
    if (more != 0 && !ring_tracker.enable(more))
        return;
    enabled_types = types;
    record_detail(0);
}

void nap(std::uint64_t nanoseconds) {
    const timespec length{static_cast<std::time_t>(nanoseconds / 1'000'000'000),
                          static_cast<long>(nanoseconds % 1'000'000'000)};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &length, nullptr);
}

sem_t asked_to_end;

/// Returns whether the program is over.
bool sleep_until_end(std::uint64_t nanoseconds) {
    const timespec end = runtime::end_of_sleep(nanoseconds);
    return sem_clockwait(&asked_to_end, CLOCK_MONOTONIC, &end) == 0;
}

void give_up(const char* why) {
    watching.store(false);
    record::note("managed memory is no longer watched through the driver's tools queue: %s", why);
}

/// One round of the thread. Returns how long to sleep after it; 0: longer than before.
std::uint64_t run_round(Totals& seen, std::uint64_t& window_begun) {
    const bool by_traffic = runtime::options().managed_detail == ManagedDetailOption::by_traffic;
    record::follow_objects(); // not under our lock: a thread that holds the loader's lock may wait for ours
    const record::Guard guard(mutex);
    if (!watching.load())
        return 0;
    const bool any = drain() != 0;
    const Totals totals = QueueCounters::read(shared->counters);
    const bool traffic = totals != seen;
    seen = totals;
    if (!ring_tracker.alive()) {
        give_up("its descriptor was closed");
        return 0;
    }
    const std::uint64_t now = record::monotonic_nanoseconds();
    if ((enabled_types & move_types) != 0 && by_traffic) {
        set_types(light_types);
    } else if (by_traffic && traffic && now - window_begun >= between_windows) {
        window_begun = now;
        set_types(light_types | fault_types | move_types);
        return window;
    }
    return any || traffic ? busy_nap : 0;
}

void run_rounds(void*) noexcept {
    Totals seen{};
    std::uint64_t window_begun = 0, pause = busy_nap;
    while (watching.load() && !sleep_until_end(pause)) {
        const std::uint64_t next = run_round(seen, window_begun);
        pause = next != 0 ? next : std::min(pause * 2, quiet_nap);
        runtime::end_if_program_is_over();
    }
}

std::uint64_t requested_types() {
    switch (runtime::options().managed_detail) {
    case ManagedDetailOption::full:
        return light_types | fault_types | move_types;
    case ManagedDetailOption::faults:
        return light_types | fault_types;
    case ManagedDetailOption::light:
    case ManagedDetailOption::by_traffic:
        break;
    }
    return light_types;
}

/// With `mutex` held.
void suspend_events() {
    collect(); // our thread writes the events, since the records of a thread are in the order of their times
    ring_tracker.disable(enabled_types);
    counter_tracker.disable(counter_flags);
    enabled_types = 0;
    suspended.store(true);
    record_detail(0);
}

/// With `mutex` held.
void resume_events() {
    suspended.store(false);
    if (!counter_tracker.enable(counter_flags))
        return give_up("the driver refuses its counters");
    set_types(requested_types());
    if (enabled_types == 0)
        give_up("the driver refuses its events");
}

void give_back() {
    ring_tracker.close();
    counter_tracker.close();
    if (shared != nullptr)
        munmap(shared, sizeof *shared);
    shared = nullptr;
}

/// Null, or why the queue cannot be used.
const char* open_queue(std::string_view release, const QueueDevices& devices) {
    static char untested[128];
    const ManagedWitness witness = runtime::options().managed_witness;
    if (witness == ManagedWitness::best && attach::simulated_tools() == nullptr &&
        residency::branch_of(release).queue != residency::ToolsQueue::tested) {
        std::snprintf(untested, sizeof untested,
                      "the tools queue was not tested with driver %.*s (--um queue uses it anyway)",
                      static_cast<int>(std::min<std::size_t>(release.size(), 32)),
                      release.empty() ? "?" : release.data());
        return untested;
    }
    void* const mapped =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return "no memory for the tools queue";
    shared = static_cast<Shared*>(mapped);
    const char* trouble = counter_tracker.open(nullptr, 0, shared->counters);
    if (trouble == nullptr)
        trouble = ring_tracker.open(shared->entries, ring_entries, &shared->control);
    if (trouble == nullptr && !counter_tracker.enable(counter_flags))
        trouble = "the driver refuses its counters";
    if (trouble == nullptr) {
        ring = ToolsRing(shared->entries, ring_entries, &shared->control);
        processor_of.learn(devices, ring_tracker);
        raw_clock.read();
        set_types(requested_types());
        if (enabled_types == 0)
            trouble = "the driver refuses its events";
    }
    if (trouble == nullptr) {
        watching.store(true);
        sem_init(&asked_to_end, 0, 0);
        if (!runtime::start_own_thread(
                {&run_rounds, [](void*) noexcept { sem_post(&asked_to_end); }, "umadvisor-um"}))
            trouble = "a thread could not be started";
    }
    if (trouble != nullptr) {
        watching.store(false);
        give_back();
    }
    return trouble;
}

} // namespace

const char* QueueWatch::open(std::string_view release) noexcept {
    const record::OffStack<QueueDevices> devices;
    devices->look();
    const record::Guard guard(mutex);
    return open_queue(release, *devices);
}

bool QueueWatch::watches() const noexcept {
    return watching.load(std::memory_order_relaxed);
}

bool QueueWatch::counts() const noexcept {
    return watches() && !suspended.load(std::memory_order_relaxed);
}

std::uint64_t QueueWatch::sum_of_counters() const noexcept {
    const Totals totals = QueueCounters::read(shared->counters);
    return totals[0] + totals[1] + totals[2] + totals[3];
}

void QueueWatch::look_at_counters() noexcept {
    if (!watches() || !record::takes(record::Taking::everything))
        return;
    counters.record_change(shared->counters);
}

bool QueueWatch::read_totals(trace::ManagedCounters& totals) const noexcept {
    if (!watches())
        return false;
    totals = QueueCounters::record_of(QueueCounters::read(shared->counters), Totals{});
    return true;
}

void QueueWatch::set_listener(ManagedListener listener) noexcept {
    event_listener.store(listener, std::memory_order_release);
}

void QueueWatch::suspend(bool on) noexcept {
    if (!watches() || on == suspended.load(std::memory_order_relaxed) || !mutex.try_lock())
        return;
    const record::Quiet quiet;
    if (on && watching.load())
        look_at_counters();
    if (watching.load() && on != suspended.load())
        on ? suspend_events() : resume_events();
    mutex.unlock();
}

void QueueWatch::deliver() noexcept {
    if (!counts())
        return;
    const std::uint64_t activity = sum_of_counters();
    if (activity == delivered_activity.load(std::memory_order_relaxed) || !mutex.try_lock())
        return;
    if (watching.load()) {
        delivered_activity.store(activity, std::memory_order_relaxed);
        collect(); // our thread writes the events
    }
    mutex.unlock();
}

void QueueWatch::finish() noexcept {
    if (!watching.load())
        return;
    const record::Quiet quiet;
    look_at_counters();
    record::follow_objects();
    // A signal handler may have ended the program while a thread held the lock.
    constexpr int most_tries = 1000;
    for (int tries = 0; !mutex.try_lock(); ++tries) {
        if (tries == most_tries)
            return;
        nap(1'000'000);
    }
    ring_tracker.flush();
    drain();
    look_at_counters();
    watching.store(false);
    ring_tracker.close();
    counter_tracker.close();
    mutex.unlock();
}

void QueueWatch::write_rest() noexcept {
    if (!watches())
        return;
    const record::Quiet quiet;
    record::follow_objects();
    const record::Guard guard(mutex);
    if (!watching.load())
        return;
    ring_tracker.flush();
    drain();
    look_at_counters();
}

void QueueWatch::rest() noexcept {
    if (!watches())
        return;
    const record::Quiet quiet;
    const record::Guard guard(mutex);
    if (watching.load() && !suspended.load())
        suspend_events();
}

void QueueWatch::wake() noexcept {
    if (!watches())
        return;
    const record::Quiet quiet;
    const record::Guard guard(mutex);
    if (watching.load() && suspended.load())
        resume_events();
    if (watching.load())
        counters.begin_recording(shared->counters);
}

void QueueWatch::forget() noexcept {
    if (!watching.load())
        return;
    watching.store(false);
    give_back();
}

QueueWatch& queue_watch() noexcept {
    static constinit QueueWatch watch;
    return watch;
}

} // namespace umadvisor::observe
