/// Which advice ends the turns that host and device take at managed memory, decided from plain numbers: no CUDA
/// here.
#pragma once

#include <cstdint>

namespace umadvisor::policy {

enum class Remedy : std::uint8_t {
    none,
    read_mostly, ///< each side keeps a copy of what nobody writes
    accessed_by, ///< little memory stays with the host, and the device reaches it there
};

struct ReliefStep {
    enum class Kind : std::uint8_t { none, give, take_back, leave };
    Kind kind = Kind::none;
    Remedy remedy = Remedy::none;
    std::uint64_t address = 0, bytes = 0;
    const char* why = ""; ///< of taking back
};

/// A round of an allocation ends with a launch that reaches it after a wait. Rounds in which the host took
/// memory back are evidence; after the advice rounds are counted on, eight by eight, and where they are not
/// clearly better it is taken back for good. Times are of any unit. Not thread-safe: its owner's lock covers
/// it. Forgets rather than grows, and never forgets what is to be left alone.
class ReliefPolicy {
public:
    constexpr ReliefPolicy() noexcept = default;

    // What has happened since the round began. Nothing that came before the first launch counts: that is how
    // memory is filled.
    void host_fault(std::uint64_t allocation, std::uint64_t first, std::uint64_t last, std::uint64_t faults,
                    bool write) noexcept;
    void thrashed(std::uint64_t allocation) noexcept;
    /// Copies that both sides had have ended: one side wrote, or the device had no room.
    void copies_ended(std::uint64_t allocation) noexcept;
    /// The host has taken back what hashes to `content`; 0: nobody has looked what it is.
    void came_back(std::uint64_t allocation, std::uint64_t content) noexcept;

    /// `activity` is another number when managed memory has moved since the last wait; 0: nobody knows.
    void waited(std::uint64_t activity) noexcept {
        ++waits_;
        if (activity == 0)
            return;
        unconcerned_ += activity != activity_;
        activity_ = activity;
    }

    /// In `window` rounds something moved, but nothing that is new and stays, nothing undecided by faults, and
    /// nothing is watched. What goes with its first round is past relief.
    bool has_no_concern() const noexcept { return unconcerned_ >= window; }

    /// A launch is about to reach the allocation: what to do before. A step that is returned counts as done.
    ReliefStep launch(std::uint64_t allocation, std::uint64_t address, std::uint64_t bytes,
                      std::uint64_t now) noexcept;

    /// What is small and shared is prefetched both ways: only what the driver finds thrashing stays with the
    /// host, since the device is slow where it reaches it there.
    void leave_turns_to_prefetches() noexcept { prefetched_ = true; }

    /// Whether it matters what the host has taken back of it.
    bool curious(std::uint64_t allocation) const noexcept;

    void leave_alone(std::uint64_t allocation) noexcept;
    void forget(std::uint64_t allocation) noexcept;

    static constexpr unsigned least_rounds = 4;                ///< of evidence
    static constexpr unsigned most_rounds = 16;                ///< then it stays unclear
    static constexpr unsigned window = 8;                      ///< rounds that advice is judged by
    static constexpr unsigned glance = 2;                      ///< rounds after which it may be much worse
    static constexpr std::uint64_t small_bytes = 64 * 1024;    ///< what one fault of the host moves
    static constexpr std::uint64_t contested_bytes = 2u << 20; ///< of memory that the driver finds thrashing

private:
    enum class State : std::uint8_t { gathering, watched, left };

    struct Round {
        std::uint64_t faults, content;
        bool written, thrashed, ended, came;
    };
    struct Tally {
        unsigned rounds, moved, written, thrashed, ended, compared, changed;
        std::uint64_t faults;
        std::uint64_t shortest; ///< of the rounds; 0: none was timed
    };
    struct Entry {
        std::uint64_t allocation; ///< 0: free
        State state;
        bool closed; ///< another one had to be left alone, and there is room for one
        bool stays;  ///< for more than a round
        Remedy remedy;
        unsigned quiet; ///< rounds in a row in which nothing came back
        Round round;
        Tally tally, before;
        std::uint64_t first, last; ///< what the host took back
        std::uint64_t content;
        std::uint64_t began; ///< the round
        std::uint64_t waits; ///< at its begin
    };

    static constexpr std::size_t places = 512;

    Entry* find(std::uint64_t allocation) noexcept;
    Entry* hear_of(std::uint64_t allocation) noexcept;
    Entry* take(std::uint64_t allocation) noexcept;
    static void close_round(Entry& entry, std::uint64_t now) noexcept;
    ReliefStep choose(Entry& entry, std::uint64_t address, std::uint64_t bytes) const noexcept;
    static ReliefStep judge(Entry& entry) noexcept;

    bool prefetched_ = false;
    std::uint64_t waits_ = 0;
    std::uint64_t activity_ = 0;
    unsigned unconcerned_ = 0; ///< waits since the last concern by which something had moved
    Entry entries_[places] = {};
};

} // namespace umadvisor::policy
