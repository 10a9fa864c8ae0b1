/// Page-locked memory that no copy, memory set or kernel ever reached; and buffers of which few are ever in
/// flight at once.
#include "analyzer/reader/saturated.hpp"
#include "analyzer/rules/allocation/locked_memory.hpp"
#include "analyzer/rules/library_memory.hpp"
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/wasted_memory.hpp"
#include "analyzer/rules/words.hpp"

#include <iterator>

namespace umadvisor::rules {
namespace {

void describe_pinned_overuse(const Profile& profile, const WastedLine& line, Finding& finding) {
    finding.summary = fmt::format("{}, used by no copy and no kernel: {} to lock and unlock its pages",
                                  allocations_text(profile, line), time_text(line.call_ns));
    finding.evidence.emplace_back("call_time_ns", line.call_ns);
    finding.advice =
        "allocate it with malloc or new: page-locked memory helps only copies and kernels that access it";
    // Devices other than this one may reach it.
    finding.confidence = Confidence::medium;
}

/// Fewer buffers may be there for jitter. A host with devices can spare less memory than this.
constexpr std::uint64_t least_ring = 8, least_ring_bytes = 64ull << 20;
/// The host writes or reads one buffer beside those in flight.
constexpr std::uint64_t beside_flight = 1;
constexpr double least_beside_work = 0.75;

/// The host writes or reads the buffers one by one beside the copies. Buffers that the host works on ahead, or
/// in which it keeps data, are needed however few are in flight.
bool is_used_in_turn(const tables::LockedTotals& locked, const FlightTotals& flights) {
    return locked.smallest == locked.largest && !locked.by_kernels && !locked.unknown && flights.kept == 0 &&
           flights.renewed >= locked.peak &&
           static_cast<double>(flights.beside_work) >= least_beside_work * static_cast<double>(flights.copies);
}

std::optional<Finding> describe_ring(const Profile& profile, std::pair<ids::StackId, std::uint64_t> key,
                                     const LockedLine& line) {
    const tables::LockedTotals& locked = line.locked;
    if (!line.flights || line.flights->most_buffers == 0 || locked.peak < least_ring)
        return std::nullopt;
    const std::uint64_t needed = line.flights->most_buffers + beside_flight;
    if (2 * needed > locked.peak || !is_used_in_turn(locked, *line.flights) ||
        library_memory_at(profile.dictionary(), key.first) != nullptr)
        return std::nullopt;
    const std::uint64_t saving_bytes = reader::saturated_product(locked.peak - needed, locked.largest);
    if (saving_bytes < least_ring_bytes)
        return std::nullopt;
    return Finding{
        .title = "more page-locked buffers than are ever in flight",
        .summary = fmt::format("{} buffers of {} ({}), used in turn by {}: no more than {} in flight at once",
                               locked.peak, bytes_text(locked.largest), profile.call_name(key.second),
                               count_text(line.flights->copies, "copy"), line.flights->most_buffers),
        .evidence = {{"buffers", static_cast<double>(locked.peak)},
                     {"bytes", static_cast<double>(locked.peak_bytes)},
                     {"in_flight", static_cast<double>(line.flights->most_buffers)},
                     {"in_flight_bytes", static_cast<double>(line.flights->most_bytes)},
                     {"copies", static_cast<double>(line.flights->copies)},
                     {"lock_time_ns", static_cast<double>(profile.nanoseconds(locked.lock_ticks))}},
        .advice = fmt::format("allocate {} of them, and wait for a buffer's copy before the buffer is reused; "
                              "keep more only where other threads fill or read them ahead of the copies",
                              needed),
        .saving_bytes = saving_bytes,
        .basis =
            fmt::format("all but {} buffers: those in flight at the same time, and one for the host", needed),
        .confidence = Confidence::low}; // what the host does with them is not recorded
}

std::vector<Finding> find_pinned_overuse(const Profile& profile, const LineOf& line_of) {
    std::vector<Finding> findings = find_wasted(profile, line_of, uma_406, trace::Memory::pinned,
                                                tables::Waste::never_used, describe_pinned_overuse);
    if (memory_use_is_unknown(profile))
        return findings;
    std::ranges::move(judge_lines(uma_406, profile, locked_lines(profile, line_of), describe_ring, 0),
                      std::back_inserter(findings));
    return findings;
}

} // namespace

constinit const Rule uma_406{.id = "UMA-406",
                             .name = "pinned-overuse",
                             .title = "page-locked memory that no copy uses",
                             .find = &find_pinned_overuse,
                             .counter = &count<LockedFlights>};

} // namespace umadvisor::rules
