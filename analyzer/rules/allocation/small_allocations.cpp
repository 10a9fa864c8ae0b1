/// Many allocations of a few bytes that live side by side: each costs its call, and one could hold all.
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace umadvisor::rules {
namespace {

constexpr std::uint64_t least_live = 100;        ///< fewer are no loop
constexpr std::uint64_t most_small_bytes = 4096; ///< a page of the host
constexpr double least_calls_share = 0.01;       ///< of the run: a smaller one is not worth a change

struct SmallTally {
    std::uint64_t count = 0; ///< the most that were live at once
    std::uint64_t ticks = 0, longest_ticks = 0, all = 0, bytes = 0, live = 0;

    SmallTally& operator+=(const SmallTally& other) {
        count += other.count;
        ticks += other.ticks;
        longest_ticks = std::max(longest_ticks, other.longest_ticks);
        all += other.all;
        bytes += other.bytes;
        live += other.live;
        return *this;
    }
};

/// Counts small allocations of one line that are live at once; what is freed and made anew is for the rules on
/// churn. Memory: one tally a call site.
struct SmallAllocations : LineRule<SmallAllocations, SmallTally> {
    explicit SmallAllocations(const Begin& begin) : live_(begin.live) {}

    void add(const trace::Alloc& record) {
        if (!is_small(record))
            return;
        SmallTally& tally = at(ids::CallSite::of(record));
        ++tally.all;
        tally.ticks += record.duration;
        tally.longest_ticks = std::max(tally.longest_ticks, record.duration);
        tally.bytes += record.bytes;
        tally.count = std::max(tally.count, ++tally.live);
    }
    void add(const trace::Free& record) {
        const trace::Alloc* const made = live_.find(record.allocation);
        if (record.status == 0 && made != nullptr && is_small(*made))
            --at(ids::CallSite::of(*made)).live;
    }

    std::optional<Finding> judge(const Line<SmallTally>& line) const {
        const SmallTally& tally = line.tally;
        if (tally.count < least_live)
            return std::nullopt;
        const auto all = static_cast<double>(tally.all), live = static_cast<double>(tally.count);
        // The longest may have loaded or mapped what the others use, and one call for all is made anyway.
        const double time_ns = line.ns(tally.ticks), longest_ns = line.ns(tally.longest_ticks);
        const double saving_ns = (time_ns - longest_ns) * live / all;
        if (saving_ns < line.share_of_run(least_calls_share))
            return std::nullopt;
        const std::string call = line.profile.call_name(line.entry);
        return Finding{.summary = fmt::format(
                           "{} of {} on average {}, up to {} live at once: {} a call, {} in all", call,
                           bytes_text(static_cast<double>(tally.bytes) / all), count_text(tally.all, "time"),
                           tally.count, time_text(time_ns / all), time_text(time_ns)),
                       .evidence = {{"allocations", all},
                                    {"live_at_once", live},
                                    {"bytes", static_cast<double>(tally.bytes)},
                                    {"time_ns", time_ns},
                                    {"longest_ns", longest_ns}},
                       .advice = fmt::format("allocate once for all of them and use parts of that allocation: "
                                             "{}(&arena, count * size), then arena + i * size",
                                             call),
                       .saving_ns = saving_ns,
                       .edit = line.calls.gone(line.profile, longest_ns),
                       .basis = "time of the calls that one allocation replaces, minus the longest of them",
                       .confidence = Confidence::high};
    }

private:
    /// Parts of a pool, variables, and what a graph allocates cost no call of their own.
    static bool is_small(const trace::Alloc& record) {
        return record.status == 0 && record.bytes <= most_small_bytes &&
               record.origin == trace::Origin::program && record.captured == 0 && record.symbol == 0 &&
               record.pool == 0 && record.part == 0;
    }
    const facts::LiveMemory& live_;
};

} // namespace

constinit const Rule uma_419{.id = "UMA-419",
                             .name = "small-allocations",
                             .title = "many small allocations that stay allocated",
                             .find = &SmallAllocations::find<uma_419>,
                             .counter = &count<SmallAllocations>};

} // namespace umadvisor::rules
