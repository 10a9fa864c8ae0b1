/// What is wrong with how a program uses a managed allocation, by its name. docs/verdicts.md has the
/// arithmetic.
#pragma once

#include "analyzer/managed/stays.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace umadvisor::managed {

enum class VerdictKind : std::uint8_t {
    thrashing,
    false_sharing,
    read_only_bouncing,
    ping_pong,
    first_touch,
    host_populate,
    read_back,
    remote_access,
    oversubscribed,
    prefetch_ping_pong,
    late_prefetch,
    redundant_prefetch,
    unused_prefetch,
};
inline constexpr std::size_t verdict_kinds = 13;
inline constexpr std::uint64_t page = 4096;
std::string_view name(VerdictKind kind);  ///< "ping_pong", as the JSON report has it
std::string_view title(VerdictKind kind); ///< "ping-pong"

/// Beside its stays, what the driver and the program said of an allocation.
struct Marks {
    std::uint64_t thrashing_pages = 0, remote_pages = 0; ///< 4 KiB each; an event for each time
    std::uint64_t replayed_pages = 0; ///< that thrash by the driver's rule, applied to the recorded moves
    std::uint64_t evicted_bytes = 0;
    std::uint64_t address = 0; ///< of its first byte: the driver's granules are aligned
    bool far_advised = false;  ///< preferred on the host, or to be reached from where it is
    /// That reach it, and of those the ones whose kernel may write it by the types of its parameters.
    std::uint64_t launches = 0, writing_launches = 0;
    bool by_umadvisor = false; ///< some of its prefetches were not the program's
};

/// What verdicts depend on beside the allocation.
struct Terms {
    double ns_per_tick = 1;
    bool thrashing_known = false; ///< the driver's own events were in the trace
    bool faults_known = false;
    /// The clock goes on while the host computes; that of a simulated driver does not.
    bool host_time_known = true;
    /// The driver's parameters in force, or its defaults (uvm_perf_thrashing.c): an access within so long of
    /// another processor's is a thrashing event, and so many make the page thrash.
    std::uint64_t thrashing_lapse_ns = 500'000, thrashing_threshold = 3;
    /// Launches that may reach any memory came between these; none: first > last.
    std::uint64_t first_anywhere = UINT64_MAX, last_anywhere = 0;
};

struct Subject {
    const Stays& stays;
    const Marks& marks;
    const Terms& terms;

    std::uint64_t bytes() const { return stays.bytes(); }
    /// Whether the part is large enough to report, even if it moves once.
    bool much(std::uint64_t part) const { return part >= stays.bytes() / 4 && part != 0; }
};

struct Verdict {
    VerdictKind kind{};
    std::uint64_t times = 0;           ///< what it counts is the kind's own: round trips, calls, launches
    std::uint64_t bytes = 0;           ///< that moved, or were asked for, because of it
    std::uint64_t new_bytes = 0;       ///< of `bytes` read back, what the host had never had
    std::uint64_t same_part = 0;       ///< that hold all that is read back, half of it at most; 0: not known
    std::uint64_t taken_back = 0;      ///< of `bytes` prefetched in vain, what came back by the host's faults
    std::uint64_t prefetched_back = 0; ///< of the same, what came back by prefetch
    std::uint64_t written = 0;         ///< of what came to the host by its faults, what the host wrote
    std::uint64_t pulls = 0;           ///< of turns: stays on the device that its faults began
    std::uint64_t host_ticks = 0;      ///< of turns: first to last fault of the host, where it only reads
    facts::KernelSite kernel{};        ///< one that took part; function, stack and entry 0: none
    std::uint64_t host_code = 0;       ///< frame of the host's access; 0: none is known
    ids::StackId prefetch_stack{};     ///< 0: none
};

/// Prefetches behind a launch that their own evidence does not show to be late.
struct LateCandidates {
    std::uint64_t unseen = 0, unseen_bytes = 0; ///< no look shows whether the launch had faulted it in
    std::uint64_t on_time = 0;                  ///< it had not
    void add(const LateCandidates& other);
};
LateCandidates late_candidates(const Subject& subject);

/// What was prefetched at one call site for nothing.
struct WastedPrefetch {
    enum class Why : std::uint8_t {
        there,            ///< on the device already
        unused_on_device, ///< it left before a launch reached it
        unused_on_host,   ///< it left before the host could have used the half of it
    };
    Why why{};
    ids::StackId stack{};
    std::uint64_t bytes = 0;
};
/// Of all prefetches, umadvisor's among them; by stay, so several may be of one call site.
std::vector<WastedPrefetch> wasted_prefetches(const Subject& subject);

/// All that apply. Where one access pattern contains another, only the narrower one.
std::vector<Verdict> judge(const Subject& subject);

// Each judges one family of access patterns and adds to `found`.
void judge_turns(const Subject& subject, std::vector<Verdict>& found);
void judge_one_way(const Subject& subject, std::vector<Verdict>& found);
void judge_prefetches(const Subject& subject, std::vector<Verdict>& found);
void judge_placement(const Subject& subject, std::vector<Verdict>& found);

bool has(const std::vector<Verdict>& found, VerdictKind kind);
/// Bytes that the host wrote of what its faults brought in this stay, judged by their kind: all or nothing.
std::uint64_t written(const Stay& stay);

} // namespace umadvisor::managed
