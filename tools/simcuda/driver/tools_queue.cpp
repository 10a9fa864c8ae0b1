#include "tools/simcuda/driver/tools_queue.hpp"
#include "tools/simcuda/driver/device.hpp"

namespace simcuda {

namespace {

// Bits that uvm_tools.c, mask_contains_invalid_events, lets pass.
constexpr std::uint64_t all_events = 2 * tools::flag(tools::EventType::eviction) - 2;

// NV_PROCESSOR_UUID_CPU_DEFAULT
constexpr ProcessorUuid host_uuid = {0xa6, 0x5e, 0x0f, 0x4e, 0xd7, 0xd4, 0x7b, 0xa2,
                                     0x50, 0x47, 0x41, 0x2c, 0x14, 0x2a, 0x77, 0x73};

template <class T>
T* pointer(std::uint64_t address) {
    return reinterpret_cast<T*>(address);
}

std::uint32_t check(const tools::InitTracker& wanted) {
    const bool power_of_two = (wanted.entries & (wanted.entries - 1)) == 0;
    if (wanted.entries == 1 || !power_of_two || wanted.entries > UINT32_MAX) {
        return Trackers::invalid_argument;
    }
    // map_user_pages: whole pages are mapped.
    constexpr std::uint64_t page = 4096;
    const auto bad = [](std::uint64_t address) { return address == 0 || address % page != 0; };
    if (bad(wanted.control) || (wanted.entries != 0 && bad(wanted.ring))) {
        return Trackers::invalid_address;
    }
    return Trackers::ok;
}

} // namespace

ProcessorUuid processor_uuid(unsigned processor) {
    return processor == 0 ? host_uuid : device_uuid(static_cast<int>(processor) - 1);
}

Tracker::Tracker(const tools::InitTracker& wanted)
    : ring_(wanted.entries ? pointer<tools::Entry>(wanted.ring) : nullptr),
      mask_(static_cast<std::uint32_t>(wanted.entries - 1)),
      control_(pointer<void>(wanted.control)),
      all_processors_(wanted.all_processors != 0) {
    std::memcpy(processor_.data(), wanted.processor, processor_.size());
}

// As uvm_tools.c, enqueue_event. Both put indices are the same whenever the reader looks.
void Tracker::put(const tools::Entry& entry) const {
    auto* control = static_cast<tools::Control*>(control_);
    const std::uint32_t get = __atomic_load_n(&control->get_behind, __ATOMIC_ACQUIRE) & mask_;
    const std::uint32_t put = __atomic_load_n(&control->put_behind, __ATOMIC_RELAXED) & mask_;
    const std::uint32_t next = (put + 1) & mask_;
    if (next == get) {
        __atomic_add_fetch(&control->lost[entry.bytes[0]], 1, __ATOMIC_RELAXED);
        return;
    }
    ring_[put] = entry;
    __atomic_store_n(&control->put_ahead, next, __ATOMIC_RELEASE);
    __atomic_store_n(&control->put_behind, next, __ATOMIC_RELEASE);
}

void Tracker::add(tools::Counter counter, std::uint64_t amount, const ProcessorUuid& processor) const {
    if (all_processors_ || processor == processor_) {
        __atomic_add_fetch(static_cast<std::uint64_t*>(control_) + counter, amount, __ATOMIC_RELAXED);
    }
}

int Trackers::open(tools::InitTracker& wanted) {
    wanted.status = check(wanted);
    if (wanted.status != ok) {
        return 0;
    }
    const std::lock_guard<std::mutex> guard(mutex_);
    trackers_.emplace(++last_number_, Tracker(wanted));
    return last_number_;
}

bool Trackers::close(int number) {
    const std::lock_guard<std::mutex> guard(mutex_);
    const bool closed = trackers_.erase(number) != 0;
    refresh_wanted();
    return closed;
}

bool Trackers::turn(int number, unsigned long command, tools::Switch& flags) {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto found = trackers_.find(number);
    if (found == trackers_.end()) {
        return false;
    }
    Tracker& tracker = found->second;
    const bool of_events = command == tools::Switch::enable_events || command == tools::Switch::disable_events;
    const bool on = command == tools::Switch::enable_events || command == tools::Switch::enable_counters;
    const bool granted = !on || enables_++ < driver().config.tools_enables;
    if (!granted || tracker.is_ring() != of_events || (of_events && on && (flags.flags & ~all_events) != 0)) {
        flags.status = invalid_argument;
        return true;
    }
    if (on) {
        tracker.enable(flags.flags);
    } else {
        tracker.disable(flags.flags);
    }
    refresh_wanted();
    flags.status = ok;
    return true;
}

void Trackers::refresh_wanted() {
    std::uint64_t events = 0;
    bool counters = false;
    for (const auto& [number, tracker] : trackers_) {
        events |= tracker.is_ring() ? tracker.enabled() : 0;
        counters = counters || (!tracker.is_ring() && tracker.enabled() != 0);
    }
    wanted_.store(events, std::memory_order_relaxed);
    counting_.store(counters, std::memory_order_relaxed);
}

void Trackers::put(const tools::Entry& entry) {
    const std::lock_guard<std::mutex> guard(mutex_);
    for (const auto& [number, tracker] : trackers_) {
        if (tracker.is_ring() && (tracker.enabled() >> entry.bytes[0] & 1) != 0) {
            tracker.put(entry);
        }
    }
}

void Trackers::count(tools::Counter counter, std::uint64_t amount, const ProcessorUuid& processor) {
    if (!counting_.load(std::memory_order_relaxed)) {
        return;
    }
    const std::lock_guard<std::mutex> guard(mutex_);
    for (const auto& [number, tracker] : trackers_) {
        if (!tracker.is_ring() && (tracker.enabled() >> counter & 1) != 0) {
            tracker.add(counter, amount, processor);
        }
    }
}

Trackers& trackers() {
    static auto* only = new Trackers;
    return *only;
}

} // namespace simcuda
