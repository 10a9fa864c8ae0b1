/// What the program calls its parts (NVTX), how long they took and where their time went.
#pragma once

#include "analyzer/facts/call.hpp"
#include "analyzer/reader/open_ranges.hpp"
#include "trace/records.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace umadvisor::tables {

/// Where the time of the thread went, nanoseconds.
struct RangeTimes {
    double wait_ns = 0;            ///< for work that was queued before, in whatever call
    double copy_ns = 0;            ///< in calls that copy, set or prefetch, without such waits
    double call_ns = 0;            ///< in other calls
    double all_ns = 0;             ///< from the beginning to the end
    std::uint64_t host_faults = 0; ///< recorded page faults on managed memory

    double own_ns() const { return std::max(0.0, all_ns - wait_ns - copy_ns - call_ns); }
    void add(const RangeTimes& other);
};

/// All ranges of one name. A range inside another of the same name is part of that.
struct RangeTotals {
    std::uint64_t text = 0, domain = 0; ///< strings
    std::uint64_t count = 0;            ///< that have begun and ended
    std::uint64_t begun = 0;
    std::uint64_t depth = UINT64_MAX; ///< 0: no other range was around it
    RangeTimes total, worst;
    std::uint64_t worst_index = 0; ///< of those that have begun, counted from 0
    ids::CallSite longest;         ///< call of the worst
    double longest_ns = 0;

    /// Of the ranges that took as long as the median, within one part in 64: their mean.
    RangeTimes median() const;

    struct Bucket {
        std::uint64_t count = 0;
        RangeTimes sum;
    };
    std::map<std::uint32_t, Bucket> buckets; ///< by duration
};

/// Follows the events in the order of time, and learns later from a clock how long calls waited. A range is of
/// the thread that began it. Memory: open ranges, those that have ended with calls whose waits are not known
/// yet, `most_names` names, and `most_buckets` durations of all of them together.
class NamedRanges {
public:
    static constexpr std::size_t most_names = 4096, most_buckets = 1 << 16;
    static constexpr std::uint64_t deepest = 256; ///< around a range, looked at for its own name

    explicit NamedRanges(double ns_per_tick) : ns_per_tick_(ns_per_tick) {}

    void add(const trace::Range& record, std::uint32_t thread, std::uint64_t now);
    void add(const trace::ManagedEvent& record);
    void pause();
    /// A call of the thread begins: the number of the innermost range that it is in, for settle(); 0: none.
    std::uint32_t enter(std::uint32_t thread) { return thread < inner_.size() ? hold(thread) : 0; }
    /// How long that call waited is known.
    void settle(const facts::Call& call, double waited_ns);

    using Names = std::map<std::pair<std::uint64_t, std::uint64_t>, RangeTotals>; ///< by domain and text
    const Names& names() const { return names_; }
    std::uint64_t unnamed() const { return unnamed_; } ///< ranges whose name came when there were too many

private:
    struct Range {
        RangeTotals* totals = nullptr; ///< nullptr: part of one of the same name, or one name too many
        std::uint32_t thread = 0, parent = 0;
        std::uint32_t pending = 0; ///< calls and ranges in it that are not settled
        bool open = true, whole = true;
        std::uint64_t begin = 0, index = 0;
        RangeTimes times;
        ids::CallSite longest;
        double longest_ns = 0;
    };

    std::uint32_t hold(std::uint32_t thread);
    std::uint32_t begin(const trace::Range& record, std::uint32_t thread, std::uint64_t now);
    void end(std::uint32_t number, std::uint64_t now);
    void close(std::uint32_t number);
    void keep(const Range& range);
    RangeTotals* totals_of(const trace::Range& record, std::uint32_t parent);

    double ns_per_tick_;
    reader::OpenRanges<std::uint32_t> open_;
    std::vector<std::vector<std::uint32_t>> inner_; ///< by thread, open ranges, the innermost last
    std::vector<Range> ranges_{1};                  ///< by number
    std::vector<std::uint32_t> free_;
    Names names_;
    std::size_t buckets_ = 0;
    std::uint64_t unnamed_ = 0;
};

} // namespace umadvisor::tables
