/// A whole buffer of the device copied over another in each round, where the two could change places.
#include "analyzer/facts/device_work.hpp"
#include "analyzer/facts/per_thread.hpp"
#include "analyzer/reader/thread_cursor.hpp"
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

namespace umadvisor::rules {
namespace {

constexpr std::uint64_t least_swaps = 10; ///< fewer are no rounds
constexpr double least_swap_share = 0.02; ///< of the run: a smaller one is not worth a change

struct SwapTally {
    std::uint64_t count = 0, ticks = 0, all = 0, bytes = 0;
    std::map<ids::CallSite, std::uint64_t> sites{}; ///< `count` of each

    SwapTally& operator+=(const SwapTally& other) {
        count += other.count;
        ticks += other.ticks;
        all += other.all;
        bytes += other.bytes;
        for (const auto& [site, copies] : other.sites)
            sites[site] += copies;
        return *this;
    }
};

/// Counts copies of a whole allocation over another of the same size if, since the last such copy of these two,
/// one kernel reached both: it makes the one of the other. A copy of what kernels go on to change alone is kept
/// for later, and one from what they never reach brings it back. Memory: one tally a call site, and for each
/// thread its latest `most_pairs` pairs of allocations.
struct DeviceSwap : LineRule<DeviceSwap, SwapTally> {
    explicit DeviceSwap(const Begin& begin) : live_(begin.live) {}

    void add(const trace::Copy& record, std::uint32_t thread) {
        if (record.origin != trace::Origin::program || record.status != 0 || record.captured != 0)
            return;
        const ids::CallSite site = ids::CallSite::of(record);
        SwapTally& tally = at(site);
        ++tally.all;
        Pairs& pairs = pairs_[thread];
        const bool whole = record.source_memory == trace::Memory::device &&
                           record.destination_memory == trace::Memory::device && record.batch == 0 &&
                           is_all_of(record.source_allocation, record.bytes) &&
                           is_all_of(record.destination_allocation, record.bytes);
        if (!whole) {
            // Whoever sends or brings either of them has them in mind as what they are.
            for (Pair& pair : pairs.all)
                pair.used |= pair.names(record.source_allocation) || pair.names(record.destination_allocation);
            return;
        }
        auto found = std::ranges::find_if(pairs.all, [&](const Pair& pair) {
            return pair.from == record.source_allocation && pair.to == record.destination_allocation;
        });
        if (found == pairs.all.end())
            found = pairs.all.begin() + static_cast<std::ptrdiff_t>(pairs.next++ % most_pairs);
        const Pair before = *found;
        *found = {record.source_allocation, record.destination_allocation};
        if (before.from != found->from || before.to != found->to || !before.met || before.used)
            return;
        ++tally.count;
        ++tally.sites[site];
        tally.ticks += record.duration;
        tally.bytes += record.bytes;
    }
    void add(const Launched& launched) {
        Pairs* const pairs = pairs_.find(launched.thread);
        if (pairs == nullptr || launched.shape == nullptr)
            return;
        const auto reaches = [&](trace::AllocationId allocation) {
            return std::ranges::find(launched.shape->touched, allocation) != launched.shape->touched.end();
        };
        for (Pair& pair : pairs->all)
            if (known(pair.from) && !pair.met)
                pair.met = reaches(pair.from) && reaches(pair.to);
    }
    void add(const trace::Pause&) { pairs_.clear(); }

    std::optional<Finding> judge(const Line<SwapTally>& line) const {
        const SwapTally& tally = line.tally;
        if (tally.count < least_swaps)
            return std::nullopt;
        const auto copies = static_cast<double>(tally.count);
        const double call_ns = line.ns(tally.ticks);
        const double device_ns = line.profile.device_ns(tally.sites);
        Finding finding;
        finding.saving_ns = std::max(call_ns, device_ns);
        if (finding.saving_ns < line.share_of_run(least_swap_share))
            return std::nullopt;
        finding.summary =
            fmt::format("{} of one whole buffer to another on the device, {} {}, with kernels in between that "
                        "use both: {} of the device's time",
                        line.profile.call_name(line.entry), count_text(tally.count, "time"),
                        bytes_text(static_cast<double>(tally.bytes) / copies), time_text(device_ns));
        finding.evidence = {{"copies", copies},
                            {"bytes", static_cast<double>(tally.bytes)},
                            {"time_ns", call_ns},
                            {"device_ns", device_ns}};
        finding.advice =
            "swap the two device pointers, as std::swap does, instead of copying, if the next round "
            "overwrites the whole source buffer before reading it";
        finding.edit = line.calls.gone(line.profile);
        finding.basis = "replay of the run without these copies";
        // Which of both a kernel writes, and whether all of it, no call shows.
        finding.confidence = Confidence::low;
        return finding;
    }

private:
    static constexpr std::size_t most_pairs = 8;
    struct Pair {
        trace::AllocationId from{}, to{};
        bool met = false, used = false; ///< since: by one kernel; by other copies
        bool names(trace::AllocationId allocation) const {
            return known(allocation) && (from == allocation || to == allocation);
        }
    };
    struct Pairs {
        std::array<Pair, most_pairs> all{};
        std::size_t next = 0;
    };
    bool is_all_of(trace::AllocationId allocation, std::uint64_t bytes) const {
        const trace::Alloc* const made = live_.find(allocation);
        return made != nullptr && made->bytes == bytes;
    }

    const facts::LiveMemory& live_;
    facts::PerThread<Pairs> pairs_;
};

} // namespace

constinit const Rule uma_127{.id = "UMA-127",
                             .name = "device-swap",
                             .title = "device copies that a pointer swap could replace",
                             .find = &DeviceSwap::find<uma_127>,
                             .counter = &count<DeviceSwap>};

} // namespace umadvisor::rules
