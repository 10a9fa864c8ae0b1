/// Device and page-locked memory from allocation to free: what of it lay unused at the peak, and what
/// page-locking was good for.
#pragma once

#include "analyzer/facts/cached_map.hpp"
#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/reader/thread_cursor.hpp"
#include "analyzer/tables/locked_totals.hpp"
#include "analyzer/tables/peak_use.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace umadvisor::tables {

/// Why an allocation need not have been there at the peak. Each allocation has one reason at most.
enum class Waste : std::uint8_t {
    never_used, ///< nothing on the device ever reached it
    leaked,     ///< live at the end, and done with before its line made the next
    reusable,   ///< done with, when one of its size was made
    used_once,  ///< all uses lie in a hundredth of its life
    idle,       ///< before its first use, or after its last
    oversized,  ///< copies and sets alone reached it, and less than half of it
};
inline constexpr std::size_t wastes = 6;
/// Such memory is used, but not at the peak.
bool is_about_time(Waste waste);

struct LifetimeSite : ids::CallSite {
    std::uint64_t device = 0;
    trace::Memory memory{}; ///< device, pinned or registered
    auto operator<=>(const LifetimeSite&) const = default;
};

/// What is wasted of the allocations that were live at the peak.
struct WasteTotals {
    std::uint64_t count = 0, bytes = 0;
    std::uint64_t held_bytes = 0;                 ///< with what is not wasted
    std::uint64_t idle_ticks = 0, life_ticks = 0; ///< of all of them
    std::uint64_t call_ticks = 0;                 ///< allocations and frees
    ids::StackId other{};                         ///< reusable: stack of an allocation that could have had it
    std::uint64_t peak_at = 0;                    ///< the moment that these figures are of
};

/// The most that was live at once, of one kind of memory on one device.
struct PeakMemory {
    std::uint64_t live_bytes = 0, peak_bytes = 0;
    std::uint64_t at = 0; ///< ticks
    PeakUse use;
    /// Of the bytes that waited for their use at the peak, or were done with, this share was not needed:
    /// allocated and freed in time, less would be live at the most. The rest was needed at another time.
    double spare_share = 1;
};

/// What locking page-locked memory took, and the copies that it served.
struct LockTotals {
    std::uint64_t count = 0, bytes = 0; ///< of the allocations that were copied
    std::uint64_t lock_ticks = 0, unlock_ticks = 0;
    std::uint64_t late_bytes = 0; ///< to be unlocked when the program ends, or at a call that may have waited
    std::uint64_t copies = 0, up_bytes = 0, down_bytes = 0;
    /// At least one of them has uses that its copies do not show: kernels reach it, copies return before they
    /// are done, or its use is not known in full.
    bool needed = false;
};

/// What one line has allocated that is live and was used, but not for a long time.
struct IdleHolding : ids::CallSite {
    std::uint64_t bytes = 0;
    std::uint64_t ticks = 0; ///< since the last use of any of it
};

struct LifetimeTotals {
    const PeakMemory* peak = nullptr;
    LockTotals lock;
    LockedTotals locked;
    std::array<WasteTotals, wastes> wasted{};
    /// nullptr: nothing.
    const WasteTotals* find(Waste waste) const;
};

/// Follows allocations of the program that are not of a pool, mapped by it, or nodes of graphs. What may have
/// been reached by work that the trace does not describe in full is not judged: kernels whose parameters are
/// not known, graphs, pauses, other processes. Times of uses are right to a millisecond. Memory: one entry a
/// live allocation and one a site, and at most `most_made` of allocations that others could have had.
class Lifetimes {
public:
    /// `dictionary` must outlive it.
    Lifetimes(double ns_per_tick, const reader::Dictionary& dictionary)
        : dictionary_(dictionary), close_ticks_(1e6 / ns_per_tick) {}

    void add(const trace::Alloc& record);
    void add(const trace::Free& record);
    void add(const trace::Copy& record);
    void add(const trace::Set& record);
    void add(const trace::Sync& record);
    void add(const trace::Stream& record);
    void add(const trace::Pause& record);
    void add(const trace::GraphLaunch& record) { untold(record.start); }
    void add(const trace::Ipc& record) { untold(record.start); }
    void add(const trace::LaunchShape&) { ++generation_; }
    /// `shape`: nullptr where it is lost.
    void launch(const trace::Launch& record, const reader::Shape* shape);
    /// Device memory that work has used and that was idle for a quarter of its life at least, now. Excludes
    /// what waits for its first use, and what work that is not described in full may have used.
    std::vector<IdleHolding> idle(std::uint64_t now) const;
    /// Call once, with the last moment of the trace.
    void finish(std::uint64_t end);

    const std::map<LifetimeSite, LifetimeTotals>& sites() const { return sites_.map(); }
    /// The program's page-locked memory, of all lines and devices.
    const LockedTotals& locked() const { return locked_; }

private:
    using Site = facts::CachedMap<std::map<LifetimeSite, LifetimeTotals>>::Entry;
    struct Live {
        Site* site = nullptr;
        PeakMemory* peak = nullptr;
        std::uint64_t address = 0, bytes = 0, start = 0, lock_ticks = 0, call_ticks = 0;
        std::uint64_t first_use = 0, last_use = 0; ///< ticks; 0: not yet. What ran then may still run
        std::uint64_t low = UINT64_MAX, high = 0;  ///< what copies and sets reached, bytes from its begin
        PeakUse::Slot slot = 0;                    ///< in PeakMemory::use
        std::uint64_t copies = 0, up_bytes = 0, down_bytes = 0; ///< from and to it, synchronous
        bool reached_by_kernel = false;
        bool used_otherwise = false; ///< than by copies to or from a device that the host waits for
        bool awaited = false;        ///< used since the last wait
    };
    /// Allocations of one size, when they were made.
    struct Made {
        std::uint64_t start;
        ids::StackId stack{};
        trace::AllocationId allocation;
    };
    /// A launch of the same shape this shortly after one that was looked at adds nothing.
    struct Recent {
        const reader::Shape* shape = nullptr;
        std::uint64_t generation = 0, start = 0;
    };

    bool is_followed(const trace::Alloc& record) const;
    void reach(trace::AllocationId allocation, std::uint64_t address, std::uint64_t bytes, std::uint64_t start,
               std::uint64_t end);
    void use(trace::AllocationId allocation, Live& live, std::uint64_t start, std::uint64_t end);
    void wait(std::uint64_t end);
    void end_use(const Live& live);
    void share_out();
    void copied(const trace::Copy& record, trace::AllocationId allocation, bool up);
    void lock(LockedTotals& site, const trace::Alloc& record);
    void count_lock(const Live& live, std::uint64_t unlock_ticks);
    void untold(std::uint64_t at) { unknown_until_ = at; }
    void judge(trace::AllocationId allocation, const Live& live, std::uint64_t end);
    bool judge_use(trace::AllocationId allocation, const Live& live, std::uint64_t end);
    void judge_leaks(std::uint64_t end);
    void remember(const Made& made, std::uint64_t device, std::uint64_t bytes);
    std::optional<Made> take_later(trace::AllocationId allocation, const Live& live);
    WasteTotals& count(const Live& live, Waste waste, std::uint64_t bytes, std::uint64_t idle,
                       std::uint64_t end);

    const reader::Dictionary& dictionary_;
    double close_ticks_;
    facts::CachedMap<std::map<LifetimeSite, LifetimeTotals>> sites_;
    std::map<std::pair<trace::Memory, std::uint64_t>, PeakMemory> peaks_; ///< by kind and device
    LockedTotals locked_;
    reader::FlatMap<Live, trace::AllocationId> live_;
    using MadeBySize = std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Made>>; ///< and device
    MadeBySize made_, made_before_;
    std::size_t made_count_ = 0;               ///< in made_
    std::vector<trace::AllocationId> awaited_; ///< used since the last wait
    std::array<Recent, 256> recent_{};
    std::uint64_t generation_ = 1;    ///< goes up with each wait and each new shape
    std::uint64_t unknown_until_ = 0; ///< what was live then may have been used
    bool paused_ = false;
};

} // namespace umadvisor::tables
