#pragma once

#include "residency/tools_interface.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

namespace simcuda {

namespace tools = umadvisor::residency::tools;

/// As the module's table of processors has it.
using ProcessorUuid = std::array<std::uint8_t, 16>;

/// What stands behind one descriptor of the tools device: a ring of events, or an array of counters. Both lie
/// in memory of the program, which keeps it until the tracker is closed. Not thread-safe.
class Tracker {
public:
    explicit Tracker(const tools::InitTracker& wanted);

    bool is_ring() const { return ring_ != nullptr; }
    std::uint64_t enabled() const { return enabled_; }
    /// Flags of EventType, or of Counter.
    void enable(std::uint64_t flags) { enabled_ |= flags; }
    void disable(std::uint64_t flags) { enabled_ &= ~flags; }

    /// Puts an entry into the ring, or counts it as lost. The program reads at the same time.
    void put(const tools::Entry& entry) const;
    /// Adds to a counter if the processor is one that is asked for.
    void add(tools::Counter counter, std::uint64_t amount, const ProcessorUuid& processor) const;

private:
    tools::Entry* ring_;
    std::uint32_t mask_;
    void* control_;
    ProcessorUuid processor_;
    bool all_processors_;
    std::uint64_t enabled_ = 0;
};

/// All trackers of the process; one, never destroyed. Thread-safe; its mutex is taken after the driver's.
class Trackers {
public:
    static constexpr std::uint32_t ok = 0;
    static constexpr std::uint32_t invalid_address = 0x1e;
    static constexpr std::uint32_t invalid_argument = 0x1f;

    /// The tracker's number, from 1 on; 0 if `wanted.status` tells of an error.
    int open(tools::InitTracker& wanted);
    /// The rest answer false for a number that there is not.
    bool close(int number);
    bool turn(int number, unsigned long command, tools::Switch& flags);

    /// Whether any ring wants such events. A hint: cheap, without the mutex.
    bool wanted(tools::EventType type) const {
        return (wanted_.load(std::memory_order_relaxed) & tools::flag(type)) != 0;
    }
    /// Writes one of the entries of tools_interface.hpp to each ring that wants it.
    template <class Event>
    void record(const Event& event) {
        if (wanted(event.type)) {
            tools::Entry entry{};
            static_assert(sizeof event <= sizeof entry.bytes);
            std::memcpy(entry.bytes, &event, sizeof event);
            put(entry);
        }
    }
    void count(tools::Counter counter, std::uint64_t amount, const ProcessorUuid& processor);

private:
    void put(const tools::Entry& entry);
    void refresh_wanted();

    std::mutex mutex_;
    std::map<int, Tracker> trackers_;
    int last_number_ = 0;
    int enables_ = 0;                      ///< that were asked for
    std::atomic<std::uint64_t> wanted_{0}; ///< flags of EventType
    std::atomic<bool> counting_{false};
};

Trackers& trackers();

/// Processor 0 is the host, 1 the first device.
ProcessorUuid processor_uuid(unsigned processor);

} // namespace simcuda
