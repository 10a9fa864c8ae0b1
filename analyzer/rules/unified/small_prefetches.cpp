/// Slices of one allocation that lie side by side, each prefetched by a call of its own. Each call has its
/// price, and one call could bring all of them.
#include "analyzer/facts/call.hpp"
#include "analyzer/facts/per_thread.hpp"
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/unified/managed.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/words.hpp"
#include "residency/geometry.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace umadvisor::rules {
namespace {

/// A few arrays may lie side by side in a pool by chance.
constexpr std::uint64_t least_in_group = 8;
constexpr std::uint64_t least_calls = 100; ///< fewer are not worth a change
/// No more time passes between two calls of a loop. A host that is busy for longer prepares one slice after the
/// other.
constexpr double most_between_ns = 20'000;
/// A prefetch of less than a block took 80 us at the most on an H200. The rest of a longer call was a wait for
/// earlier work, which one call would wait for, too.
constexpr double most_call_ns = 100'000;

struct SliceTally {
    std::uint64_t count = 0;                  ///< calls that one for each group would replace
    std::uint64_t all = 0;                    ///< calls of the site
    std::uint64_t calls = 0, groups = 0;      ///< calls in groups
    std::uint64_t ticks = 0;                  ///< that these calls took
    std::uint64_t to_device = 0, to_host = 0; ///< bytes of these calls
    std::uint64_t largest = 0;                ///< bytes of one group

    SliceTally& operator+=(const SliceTally& other) {
        count += other.count;
        all += other.all;
        calls += other.calls;
        groups += other.groups;
        ticks += other.ticks;
        to_device += other.to_device;
        to_host += other.to_host;
        largest = std::max(largest, other.largest);
        return *this;
    }
};

constexpr std::uint64_t first_page(std::uint64_t address) {
    return address / residency::page_bytes;
}
constexpr std::uint64_t end_page(std::uint64_t end) {
    return (end + residency::page_bytes - 1) / residency::page_bytes;
}

/// Prefetches of one call site that follow each other in one thread and stream, to one place, and together
/// reach over one range.
struct Slices {
    trace::Prefetch last;
    std::uint64_t first = 0, end = 0; ///< addresses of the range
    std::uint64_t calls = 0, ticks = 0, bytes = 0;
    std::uint64_t work = 0; ///< number of the last work before it

    /// A prefetch moves whole pages. If the ranges share a page or meet at its border, one call for both moves
    /// no page that neither of them moves.
    bool adjoins(const trace::Prefetch& next) const {
        const std::uint64_t next_end = next.address + next.bytes;
        return next.address >= end ? first_page(next.address) <= end_page(end)
                                   : next_end <= first && end_page(next_end) >= first_page(first);
    }
    bool has_the_place_of(const trace::Prefetch& next) const {
        return last.stack == next.stack && last.entry == next.entry && last.allocation == next.allocation &&
               last.location == next.location && last.location_id == next.location_id &&
               last.stream == next.stream;
    }
};

/// One call in place of the last could replace all calls of a group. So nothing between them may need the first
/// slices earlier: no other call of the thread, no work of any thread, and no long pause. Memory: a group a
/// thread, a tally a call site.
class SmallPrefetches : public LineRule<SmallPrefetches, SliceTally> {
public:
    explicit SmallPrefetches(const Begin& begin)
        : most_between_(static_cast<std::uint64_t>(most_between_ns / begin.ns_per_tick)),
          most_call_(static_cast<std::uint64_t>(most_call_ns / begin.ns_per_tick)) {}

    void add(const trace::Prefetch& record, std::uint32_t thread) {
        if (record.origin != trace::Origin::program)
            return;
        ++at(ids::CallSite::of(record)).all;
        Slices& slices = slices_[thread];
        const bool small = record.status == 0 && known(record.allocation) && record.batch == 0 &&
                           record.bytes != 0 && record.bytes < residency::block_bytes;
        if (!small || !continues(slices, record))
            end(slices);
        if (!small)
            return;
        if (slices.calls != 0) {
            slices.first = std::min(slices.first, record.address);
            slices.end = std::max(slices.end, record.address + record.bytes);
        } else {
            slices.first = record.address;
            slices.end = record.address + record.bytes;
        }
        slices.work = work_;
        slices.last = record;
        ++slices.calls;
        slices.ticks += std::min(record.duration, most_call_);
        slices.bytes += record.bytes;
    }
    void add(const WorkCall& work, std::uint32_t thread) {
        if (std::holds_alternative<trace::Prefetch>(work.cursor.event()))
            return;
        if (work.call.queues == facts::Queues::work)
            ++work_;
        if (Slices* const slices = slices_.find(thread))
            end(*slices);
    }
    void add(const trace::Pause&) { ++work_; } // what is queued meanwhile has no record
    void finish() override {
        slices_.for_each([this](Slices& slices) { end(slices); });
    }

    std::optional<Finding> judge(const Line<SliceTally>& line) const;

private:
    bool continues(const Slices& slices, const trace::Prefetch& next) const {
        const std::uint64_t until = slices.last.start + slices.last.duration;
        return slices.calls != 0 && slices.work == work_ && slices.has_the_place_of(next) &&
               slices.adjoins(next) && (next.start <= until || next.start - until <= most_between_);
    }
    void end(Slices& slices);

    std::uint64_t most_between_, most_call_; ///< ticks
    std::uint64_t work_ = 0;                 ///< number of the last work
    facts::PerThread<Slices> slices_;
};

void SmallPrefetches::end(Slices& slices) {
    if (slices.calls >= least_in_group) {
        SliceTally& tally = at(ids::CallSite::of(slices.last));
        tally.count += slices.calls - 1;
        tally.calls += slices.calls;
        ++tally.groups;
        tally.ticks += slices.ticks;
        (slices.last.location == trace::Location::device ? tally.to_device : tally.to_host) += slices.bytes;
        tally.largest = std::max(tally.largest, slices.bytes);
    }
    slices.calls = slices.ticks = slices.bytes = 0;
}

/// The call as the program has to write it.
std::string joined_call(const Line<SliceTally>& line) {
    const std::string_view place = line.tally.to_host == 0           ? device_location(line.profile)
                                   : line.tally.to_device == 0       ? host_location(line.profile)
                                   : line.profile.uses_old_toolkit() ? "device"
                                                                     : "{type, id}";
    return fmt::format("{}(ptr, bytes, {}, {}stream)",
                       line.profile.uses_runtime() ? "cudaMemPrefetchAsync" : "cuMemPrefetchAsync", place,
                       prefetch_flags(line.profile));
}

std::optional<Finding> SmallPrefetches::judge(const Line<SliceTally>& line) const {
    const SliceTally& tally = line.tally;
    if (tally.count < least_calls || work_is_unknown(line.profile))
        return std::nullopt;
    const machine::Rates& rates = line.profile.rates();
    const auto calls = static_cast<double>(tally.calls), groups = static_cast<double>(tally.groups),
               spared = static_cast<double>(tally.count),
               bytes = static_cast<double>(tally.to_device) + static_cast<double>(tally.to_host);
    const double time_ns = line.ns(tally.ticks);
    const double moved_ns = static_cast<double>(tally.to_device) / rates.prefetch_to_device * 1e9 +
                            static_cast<double>(tally.to_host) / rates.prefetch_to_host * 1e9;
    const double saving_ns = (time_ns - moved_ns) * spared / calls;
    if (saving_ns < least_saving_ns)
        return std::nullopt;
    const std::string largest = bytes_text(tally.largest);
    return Finding{
        .summary = fmt::format("{} of {} on average, {}, {} each: adjacent slices of one allocation, in {}; "
                               "one call per group would replace {} of them",
                               line.profile.call_name(line.entry), bytes_text(bytes / calls),
                               count_text(tally.calls, "time"), time_text(time_ns / calls),
                               count_text(tally.groups, "group"), tally.count),
        .evidence = {{"prefetches", calls},
                     {"groups", groups},
                     {"bytes", bytes},
                     {"mean_bytes", bytes / calls},
                     {"largest_group_bytes", static_cast<double>(tally.largest)},
                     {"time_ns", time_ns},
                     {"time_per_call_ns", time_ns / calls},
                     {"calls_spared", spared}},
        .advice = fmt::format(
            "prefetch the slices with one call after the loop: {}, where ptr is the start of the lowest slice "
            "and bytes the size of all of them ({}{}); or pass them together to {} (CUDA 13.0)",
            joined_call(line), tally.groups == 1 ? "" : "at most ", largest,
            line.profile.uses_runtime() ? "cudaMemPrefetchBatchAsync" : "cuMemPrefetchBatchAsync"),
        .saving_ns = saving_ns,
        .edit = line.calls.gone(line.profile, moved_ns * spared / calls),
        .basis = "time of the calls that one call per group replaces, minus the same bytes at the rate of a "
                 "large prefetch on " +
                 rates.whose(),
        .confidence = Confidence::medium};
}

} // namespace

constinit const Rule uma_218{.id = "UMA-218",
                             .name = "small-prefetches",
                             .title = "adjacent slices prefetched one by one",
                             .find = &SmallPrefetches::find<uma_218>,
                             .counter = &count<SmallPrefetches>,
                             .fits = Fits::separate_memory,
                             .price = Price::rates,
                             .same_calls_as = &uma_212,
                             .order = OrderUse::none};

} // namespace umadvisor::rules
