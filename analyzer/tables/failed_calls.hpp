/// Calls of the program that failed, by where they were made and what went wrong.
#pragma once

#include "analyzer/ids/call_site.hpp"
#include "analyzer/tables/allocations.hpp"
#include "analyzer/tables/lifetimes.hpp"
#include "trace/graph_records.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace umadvisor::tables {

struct FailureSite {
    ids::CallSite site;
    std::uint64_t status = 0; ///< CUresult, as in the record
    auto operator<=>(const FailureSite&) const = default;
};

// CUresult
inline constexpr std::uint64_t out_of_memory = 2;
inline constexpr std::uint64_t system_call_failed = 304;
inline constexpr std::uint64_t illegal_address = 700; ///< in a kernel; ends the context
inline constexpr std::uint64_t not_permitted = 800;
inline constexpr std::uint64_t capture_forbids = 900; ///< a call that is not permitted while a stream captures
inline constexpr std::uint64_t capture_ended = 901;   ///< by an earlier error

struct FailedTotals {
    std::uint64_t count = 0;
    // Of the first:
    std::uint64_t start = 0;                 ///< ticks
    bool from_null = false, to_null = false; ///< a copy's ends
    // Where a capture forbade it, or had ended:
    ids::CallSite capture;        ///< that began it; no stack: not known
    bool of_other_thread = false; ///< that captures
    ids::CallSite ended_by;       ///< the call that ended it, each time; no stack: not known, or not one call
    ids::CallSite host_function;  ///< not permitted: of the call that queued one before; no stack: not known
    // Of an allocation:
    std::uint64_t bytes = 0; ///< asked for
    bool of_host = false;    ///< page-locked memory, not a device's
    // And where memory was out, or the system did not lock its pages:
    std::optional<std::vector<Holding>> holdings; ///< what the program had of that kind; nothing: not looked at
    std::vector<IdleHolding> idle;                ///< of it, what was not used any more
    std::uint64_t answered = 0;                   ///< of all, after which the thread got memory in its next try
};

/// Answers of queries, and failures because the process ends, do not count. After an error that ends the
/// context (CUDA Driver API, CUresult: "the process must be terminated and relaunched") all later failures
/// count as caused by it. Memory: one entry a site and status, for a few that were out of memory one a site of
/// allocations, and one for each of 64 captures at a time.
class FailedCalls {
public:
    /// Returns the totals to fill in where it is the first of its kind, else nullptr.
    FailedTotals* add(const ids::CallSite& site, std::uint64_t status, std::uint64_t start,
                      std::uint32_t thread);
    /// A capture begins or ends, after add().
    void add(const trace::Graph& record, std::uint32_t thread);
    /// CUDA may not be called in host functions, whether they are queued or nodes of graphs.
    void queued(const trace::HostFunction& record);
    /// An allocation of the program, failed or not, after add(). A failure for want of memory is answered where
    /// the thread's next allocation of that kind succeeds: of as many bytes (what was in the way is freed and
    /// the call made again), or of fewer by the same call (what fits is looked for).
    void tried(const trace::Alloc& record, std::uint32_t thread);

    const std::map<FailureSite, FailedTotals>& sites() const { return sites_; }
    /// The first call that met the end of its context, and how many failed behind it; nullptr: none did.
    const FailureSite* fatal() const { return fatal_.status == 0 ? nullptr : &fatal_; }
    std::uint64_t after_fatal() const { return after_fatal_; }

private:
    struct Capture {
        trace::StreamId stream{};
        std::uint32_t thread = 0;
        ids::CallSite begun, ended_by;
    };
    Capture* capture_of(std::uint32_t thread);

    ids::CallSite host_function_;               ///< that was queued first
    std::vector<Capture> captures_;             ///< under way
    std::map<FailureSite, FailedTotals> sites_; ///< before the context ended
    /// Failures of one thread in a row, each the next try after the one before.
    struct Tries {
        std::map<ids::CallSite, std::uint64_t> failed;
        ids::CallSite last;
        std::uint64_t bytes = 0;
        trace::Memory memory{};
    };
    std::map<std::uint32_t, Tries> tries_; ///< by thread
    FailureSite fatal_;
    std::uint64_t after_fatal_ = 0;
};

} // namespace umadvisor::tables
