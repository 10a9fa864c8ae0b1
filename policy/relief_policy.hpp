/// Which advice stops managed memory from migrating back and forth between host and device. It is decided from
/// plain numbers, without CUDA.
#pragma once

#include <cstdint>

namespace umadvisor::policy {

enum class Remedy : std::uint8_t {
    none,
    read_mostly, ///< host and device each keep a copy of memory that neither writes
    accessed_by, ///< a small range stays on the host, and the device accesses it there
};

struct ReliefStep {
    enum class Kind : std::uint8_t { none, give, withdraw, leave };
    Kind kind = Kind::none;
    Remedy remedy = Remedy::none;
    std::uint64_t address = 0, bytes = 0;
    const char* why = ""; ///< of withdrawing
};

/// A round of an allocation ends with a launch that reaches it after a wait. Rounds in which memory migrated
/// back to the host are evidence. After the advice, each eight rounds are compared with those before it, and if
/// they are not clearly better the advice is withdrawn for good. Times are of any unit. Not thread-safe: the
/// owner's lock covers it. An idle allocation whose slot another one needs is forgotten, but never one that is
/// to be left alone.
class ReliefPolicy {
public:
    constexpr ReliefPolicy() noexcept = default;

    // Events of the current round. Events before the first launch do not count: the host initialises the
    // memory.
    void host_fault(std::uint64_t allocation, std::uint64_t first, std::uint64_t last, std::uint64_t faults,
                    bool write) noexcept;
    /// The device is to write it.
    void written(std::uint64_t allocation) noexcept;
    void thrashed(std::uint64_t allocation) noexcept;
    /// Read-mostly copies have ended: one side wrote, or the device had no room.
    void copies_ended(std::uint64_t allocation) noexcept;
    /// Memory has migrated back to the host; `content` is its hash, 0 if it was not read.
    void came_back(std::uint64_t allocation, std::uint64_t content) noexcept;

    /// The program has waited. `activity` changes when managed memory has moved since the last wait; 0: not
    /// known.
    void waited(std::uint64_t activity) noexcept {
        ++waits_;
        if (activity == 0)
            return;
        unconcerned_ += activity != activity_;
        activity_ = activity;
    }

    /// Whether memory moved in `window` rounds, but no allocation that lives for more than a round had faults,
    /// was new, or is under watch: then faults need not be observed. An allocation that is freed in its first
    /// round cannot be helped.
    bool has_no_concern() const noexcept { return unconcerned_ >= window; }

    /// A launch is about to reach the allocation. Returns what to do before it, which then counts as done.
    ReliefStep launch(std::uint64_t allocation, std::uint64_t address, std::uint64_t bytes,
                      std::uint64_t now) noexcept;

    /// Allocations of up to 64 KiB that are shared and written are left to SmallTurns. Small parts of larger
    /// ones are prefetched, so only what the driver finds thrashing gets accessed-by advice: device accesses to
    /// host memory are slow.
    void leave_turns_to_prefetches() noexcept { prefetched_ = true; }

    /// Whether the content of what migrated back to the host is to be compared.
    bool needs_content(std::uint64_t allocation) const noexcept;

    void leave_alone(std::uint64_t allocation) noexcept;
    void forget(std::uint64_t allocation) noexcept;

    static constexpr unsigned least_rounds = 4; ///< of evidence
    static constexpr unsigned most_rounds = 16; ///< then the allocation is left
    static constexpr unsigned window = 8;       ///< rounds that advice is judged by
    static constexpr unsigned glance = 2;       ///< rounds after which much longer ones end the advice
    static constexpr std::uint64_t small_bytes = 64 * 1024;    ///< what one fault of the host moves
    static constexpr std::uint64_t contested_bytes = 2u << 20; ///< of memory that the driver finds thrashing

private:
    enum class State : std::uint8_t { gathering, watched, left };

    struct Round {
        std::uint64_t faults, content;
        bool written, thrashed, ended, came_back;
    };
    struct Tally {
        unsigned rounds, moved, written, thrashed, ended, compared, changed;
        std::uint64_t faults;
        std::uint64_t shortest; ///< of the rounds; 0: none was timed
    };
    struct Entry {
        std::uint64_t allocation; ///< 0: free
        State state;
        bool closed; ///< another allocation of this slot had to be left alone, so no new one may use it
        bool stays;  ///< lives for more than a round
        Remedy remedy;
        unsigned quiet; ///< rounds in a row in which nothing came back
        Round round;
        Tally tally, before;
        std::uint64_t first, last; ///< what migrated back to the host
        std::uint64_t content;
        std::uint64_t began; ///< time of the round's begin
        std::uint64_t waits; ///< number at the round's begin
    };

    static constexpr std::size_t slots = 512;

    Entry* find(std::uint64_t allocation) noexcept;
    Entry* find_for_event(std::uint64_t allocation) noexcept;
    Entry* claim(std::uint64_t allocation) noexcept;
    static void close_round(Entry& entry, std::uint64_t now) noexcept;
    ReliefStep choose(Entry& entry, std::uint64_t address, std::uint64_t bytes) const noexcept;
    static ReliefStep judge(Entry& entry) noexcept;

    bool prefetched_ = false;
    std::uint64_t waits_ = 0;
    std::uint64_t activity_ = 0;
    unsigned unconcerned_ = 0; ///< waits with activity since the last event of an allocation that stays
    Entry entries_[slots] = {};
};

} // namespace umadvisor::policy
