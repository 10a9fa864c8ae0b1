/// Memory as tracks: what each device holds, where each line's memory is and how much of it moved, and what
/// happened to managed memory.
#pragma once

#include "analyzer/managed/managed_totals.hpp"
#include "analyzer/reports/memory_history.hpp"
#include "analyzer/reports/perfetto/perfetto_run.hpp"
#include "trace/managed_records.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace umadvisor::reports::perfetto {

/// Events of managed memory are recorded some milliseconds late, so they are held back for a while and sorted.
/// Memory: live allocations, allocating lines, and what is held back, of which there is a bound.
class MemoryTracks {
public:
    /// The track that stands for a device.
    using DeviceTrack = std::function<std::uint64_t(std::uint64_t device)>;

    /// `run` must outlive it.
    MemoryTracks(Run& run, DeviceTrack device_track);

    void add(const trace::Alloc& record) { hold(record.start, record); }
    void add(const trace::Free& record) { hold(record.start, record); }
    void add(const trace::ManagedEvent& record) { hold(record.start, record); }
    void add(const trace::ManagedCounters& record) { hold(record.start, record); }
    void add(const trace::Copy& record);
    /// Call once, after the last.
    void finish(std::int64_t end);

private:
    /// Counters of the memory that one line allocates.
    struct Line {
        std::string name;
        std::unique_ptr<Track> on_device, to_device, to_host;
        std::uint64_t bytes_on_device = 0, bytes_to_device = 0, bytes_to_host = 0;
    };
    struct Live {
        Line* line = nullptr;
        std::uint64_t bytes = 0, on_device = 0;
        bool managed = false;
    };
    /// What a copy moved.
    struct Copied {
        std::uint64_t start = 0, bytes = 0;
        trace::AllocationId allocation{};
        bool to_device = false;
    };
    using Record = std::variant<trace::Alloc, trace::Free, Copied, trace::ManagedEvent, trace::ManagedCounters>;
    struct Held {
        std::uint64_t start = 0, order = 0;
        Record record;
        bool operator>(const Held& other) const {
            return start != other.start ? start > other.start : order > other.order;
        }
    };

    void hold(std::uint64_t start, Record record);
    void tell_earliest();
    void tell(const trace::Alloc& record);
    void tell(const trace::Free& record);
    void tell(const Copied& copied);
    void tell(const trace::ManagedEvent& record);
    void tell(const trace::ManagedCounters& record);
    void tell_steps();
    Line& line_of(ids::StackId stack);
    void count(Line& line, std::unique_ptr<Track>& track, std::string_view what, std::uint64_t bytes,
               std::int64_t at);
    void count_move(Line& line, bool to_device, std::uint64_t bytes, std::int64_t at);
    void count_on_device(Live& live, std::uint64_t bytes, std::int64_t at);
    void count_device(std::uint64_t device, std::int64_t at);
    Live* live_at(std::uint64_t address);
    void move(const trace::ManagedEvent& record, Live* live);
    SliceTrack& managed_track(const trace::ManagedEvent& record);

    Run& run_;
    DeviceTrack device_track_;
    MemoryHistory history_;
    std::uint64_t delay_; ///< ticks
    std::uint64_t order_ = 0;
    std::priority_queue<Held, std::vector<Held>, std::greater<>> held_; ///< the earliest first
    std::unordered_map<trace::AllocationId, Live> live_;                ///< by allocation
    std::map<std::string, Line> lines_;
    std::unique_ptr<Track> group_; ///< of all lines
    managed::ManagedTotals totals_;
    std::array<std::unique_ptr<Track>, 4> total_tracks_; ///< bytes each way, faults on either side
    struct DeviceCounter {
        std::unique_ptr<Track> track;
        std::uint64_t bytes = UINT64_MAX; ///< the last value written
    };
    std::map<std::uint64_t, DeviceCounter> devices_;
    std::map<std::string, std::unique_ptr<SliceTrack>> managed_; ///< by name
};

} // namespace umadvisor::reports::perfetto
