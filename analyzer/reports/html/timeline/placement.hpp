/// Where the memory of each allocation was over time, for the page's rows. Worked out from what was seen (looks
/// at the page table, faults, moves that the driver reported) and, between these, from what launches reached.
/// How much moved, managed::Account says: the page's moves are brought to that.
#pragma once

#include "analyzer/reader/flat_map.hpp"
#include "trace/ids.hpp"
#include "trace/values.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace umadvisor::html {

/// In the order in which the page stacks these places, from below.
enum class Place : std::uint8_t { device, both, moving, evicted, host, unpopulated };
inline constexpr std::size_t places = 6;

enum class MoveCause : std::uint8_t { device_fault, host_fault, prefetch, copy, eviction };
inline constexpr std::size_t move_causes = 5;

/// One thing that happened to an allocation. Times are nanoseconds since the trace began.
struct PlaceStep {
    enum class Kind : std::uint8_t {
        alloc,
        free,
        launch, ///< a kernel that may reach it was launched
        wait,   ///< the program has waited for what it launched
        work,   ///< a memory set or copy on the device went through `bytes` of it, until `until`
        copied, ///< to the device (`up`) or from it; it does not move itself
        look,   ///< at the host's page table: `bytes` of it from `offset` on, of which the host has `on_host`
        host_fault,
        device_fault,
        migration,
        prefetch,
        mapped, ///< the device reaches it where it is
        duplicated,
    };
    double time = 0, until = 0;
    Kind kind{};
    trace::AllocationId allocation{};     ///< not known: by address
    std::uint64_t address = 0, bytes = 0; ///< alloc, faults, moves; else bytes alone
    std::uint64_t offset = 0, on_host = 0;
    trace::Memory memory{};
    std::uint32_t line = 0;
    bool up = false;
    bool after_wait = false;  ///< look
    bool moves_known = false; ///< host fault: the move has an event of its own
    MoveCause cause{};
};

/// Receives where memory was, and its moves.
class PlacementSink {
public:
    virtual ~PlacementSink() = default;
    /// `shares` of the allocation's bytes.
    virtual void stay(std::uint32_t line, std::uint32_t number, double begin, double end, std::uint64_t bytes,
                      const std::array<float, places>& shares) = 0;
    virtual void move(std::uint32_t line, std::uint32_t number, double time, bool up, MoveCause cause,
                      std::uint64_t bytes) = 0;
    /// Bytes of devices that are held, and of managed memory that lie there.
    virtual void use(double time, std::uint64_t allocated, std::uint64_t resident) = 0;
};

/// Takes steps in the order of time. Memory: the live allocations.
class Placement {
public:
    explicit Placement(PlacementSink& sink, double prefetch_rate) : sink_(sink), rate_(prefetch_rate) {}
    void take(const PlaceStep& step);
    /// Call once, at the end of the run.
    void finish(double end);

private:
    struct Live {
        trace::AllocationId id{};
        std::uint32_t line = 0, number = 0;
        std::uint64_t address = 0, size = 0;
        trace::Memory memory{};
        double at = 0;                                                  ///< reported to the sink up to here
        std::uint64_t host = 0, both = 0, evicted = 0, unpopulated = 0; ///< bytes; the rest is on the device
        double launched = -1, waited = -1; ///< by a launch that no look has followed
        std::uint64_t front = 0;           ///< up to here the host has touched it since then
        double kept = 0;                   ///< share that stayed on the host when a launch was last looked at
        bool mapped = false;
        bool prefetched_up = false, prefetched_down = false;
        std::uint64_t device() const { return size - std::min(size, host + both + evicted + unpopulated); }
    };

    Live* find(const PlaceStep& step);
    void alloc(const PlaceStep& step);
    void free(const PlaceStep& step);
    void tell(Live& live, double until, std::uint64_t moving = 0, bool from_host = false);
    void to_device(Live& live, std::uint64_t bytes);
    void to_host(Live& live, std::uint64_t bytes);
    void settle_launch(Live& live);
    void look(Live& live, const PlaceStep& step);
    void fault(Live& live, const PlaceStep& step);
    void migrate(Live& live, const PlaceStep& step);
    void prefetch(Live& live, const PlaceStep& step);
    void work(Live& live, const PlaceStep& step);
    void wait(double time);
    void count(double time);

    PlacementSink& sink_;
    double rate_;
    reader::FlatMap<Live, trace::AllocationId> live_;        ///< by allocation
    std::map<std::uint64_t, trace::AllocationId> addresses_; ///< of live ones
    std::vector<trace::AllocationId> launched_;
    std::vector<std::uint32_t> numbers_;         ///< by line
    std::uint64_t allocated_ = 0, resident_ = 0; ///< of devices; resident: managed
};

} // namespace umadvisor::html
