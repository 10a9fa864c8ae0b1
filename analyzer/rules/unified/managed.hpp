/// What the rules on managed memory have in common. Each speaks of one verdict on the memory of one allocating
/// line.
#pragma once

#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/first_launches.hpp"
#include "analyzer/rules/unified/managed_edits.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace umadvisor::rules {

/// All managed memory that one line allocated.
struct ManagedMemory {
    const Profile& profile;
    const FirstLaunches& firsts;
    ids::AllocationSite site;                 ///< its stack stands for all with that line
    std::uint64_t allocations = 0, bytes = 0; ///< the sum of all
    managed::ManagedSiteActivity activity{};
    std::vector<tables::FirstLaunch> first_launches{};
    managed::MovedBytes moved{};
    managed::MovedBasis basis{};

    const managed::VerdictTotals* find(managed::VerdictKind kind) const;
};

/// A verdict on it.
struct Habit {
    const ManagedMemory& memory;
    const managed::VerdictTotals& totals;
    /// This memory's part of the device's faults: a launch takes those on all its memory in the same batches.
    double share_of_faults = 1;

    /// Bytes that moved because of it, as the verdict has them, but no more than is known to have moved.
    std::uint64_t bytes_to_device() const;
    std::uint64_t bytes_to_host() const;
    /// The same where the verdict has both ways in one sum: what went there came back.
    managed::MovedBytes bytes_both_ways() const;
    /// The confidence in its bytes.
    Confidence confidence() const;

    // Prices of moves, in nanoseconds. `times`: how often each way. `written`: the bytes that came to the host
    // and that it writes: their first write costs a fault a page, also after a prefetch.
    double by_faults(const managed::MovedBytes& moved, double times, std::uint64_t written = 0) const;
    double by_prefetch(const managed::MovedBytes& moved, std::uint64_t times, std::uint64_t written = 0) const;
    /// What is spared without any of the faults.
    Spared spared_faults(const managed::MovedBytes& moved) const;
    /// "at the rates of an H200"
    std::string prices() const;
};

struct Advice {
    std::string text; ///< what to write instead
    Spared spared;
    std::string basis;
    Confidence confidence{};
    std::vector<std::string> details;
    std::vector<std::pair<std::string_view, double>> evidence;     ///< beside what all have
    std::vector<std::pair<std::string, ids::StackId>> places = {}; ///< beside the lines that all have
    std::vector<CodeEdit> at_lead =
        {}; ///< `text` in code, at the line where the rule's lead says the change begins
};

/// Where a verdict's change begins: at the launch, at the host's code, or at the prefetch.
enum class Lead : std::uint8_t { launch, host, prefetch };

struct ManagedRule {
    const Rule* rule;
    managed::VerdictKind kind;
    Lead lead;
    std::string_view host_line; ///< what the host does at the lines that the verdict names
    Advice (*advise)(const Habit&);
};

extern const ManagedRule thrashing, ping_pong, first_touch, host_populate, read_back, false_sharing,
    read_only_bouncing, remote_access, oversubscribed, prefetch_ping_pong, late_prefetch, redundant_prefetch,
    unused_prefetch;
inline constexpr std::array<const ManagedRule*, managed::verdict_kinds> managed_rules{
    &thrashing,          &ping_pong,       &first_touch,       &host_populate,      &read_back,
    &false_sharing,      &remote_access,   &oversubscribed,    &prefetch_ping_pong, &late_prefetch,
    &redundant_prefetch, &unused_prefetch, &read_only_bouncing};

/// The lines of `codes` (nullptr: of all recorded) where the host page-faults on this memory, most faults
/// first: the one that has half of them, else up to three with their shares. Each with `what` the host does
/// there.
std::vector<std::pair<std::string, ids::StackId>> host_lines(const ManagedMemory& memory,
                                                             const std::set<std::uint64_t>* codes,
                                                             std::string_view what, const LineOf& line_of);

/// The finding on memory that two devices take from each other. Nothing where they do not, or where the trace
/// has no moves between devices.
std::optional<Finding> find_device_ping_pong(const ManagedMemory& memory, const LineOf& line_of);

/// That on memory that the program's prefetches take from one device for another, though both could have it.
std::optional<Finding> find_passed_on(const ManagedMemory& memory, const LineOf& line_of);

/// The saving of `finding`, which rests on all moves of its memory, becomes that of the moves inside.
void take_inside_part(const Profile& profile, const managed::ManagedSiteActivity& memory, Finding& finding);

/// Findings of all rules on managed memory, which one pass over its verdicts makes.
Find find_managed;

/// The rule that speaks of such verdicts.
const Rule& rule_of(managed::VerdictKind kind);

/// What a prefetch before the first launch would save of a first touch.
struct FirstTouchSaving {
    double ns = 0;
    std::uint64_t measured_bytes = 0; ///< whose launches were timed
    bool all_measured = false;        ///< but for a few bytes
    /// Launches that brought all there was and have nothing to be held against: what they took altogether.
    double whole_ns = 0;
    std::uint64_t whole_bytes = 0;
};
FirstTouchSaving first_touch_saving(const Habit& habit);

/// "cudaMallocManaged 32 MiB x 2", or the variable.
std::string allocation_text(const ManagedMemory& memory);
/// The same of one call site.
std::string allocation_text(const Profile& profile, const ids::AllocationSite& site);

/// What to write instead of counters, and of what both sides poll, in little managed memory.
std::string keep_counters_on_device(const ManagedMemory& memory);

// Calls as the program has to write them.
std::string prefetch_to_device(const ManagedMemory& memory);
std::string prefetch_to_host(const ManagedMemory& memory);
/// A place as the toolkit of the program has it: "{cudaMemLocationTypeDevice, 0}", before CUDA 13 "0". Where
/// the run used several devices, `device` stands for the number.
std::string_view device_location(const Profile& profile);
std::string_view host_location(const Profile& profile);
/// What stands between the place and the stream of a prefetch: "0, ", before CUDA 13 nothing.
std::string_view prefetch_flags(const Profile& profile);
std::string prefetch_name(const ManagedMemory& memory); ///< without arguments
/// `advice` is the runtime's word for it: "SetReadMostly".
std::string advise_device(const ManagedMemory& memory, std::string_view advice);
std::string advise_host(const ManagedMemory& memory, std::string_view advice);

} // namespace umadvisor::rules
