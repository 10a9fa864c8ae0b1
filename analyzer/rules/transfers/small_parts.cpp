/// Batches of copies whose parts lie side by side: each part costs as a copy does, and one copy could carry
/// all.
#include "analyzer/facts/device_work.hpp"
#include "analyzer/facts/direction.hpp"
#include "analyzer/facts/per_thread.hpp"
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/tables/copies.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

namespace umadvisor::rules {
namespace {

constexpr double least_part_share = 0.01; ///< of the run: a smaller one is not worth a change

struct PartTally {
    std::uint64_t count = 0; ///< parts that go on where the one before ends, on both sides
    std::uint64_t ticks = 0, all = 0, bytes = 0, calls = 0;
    trace::Memory source{}, destination{};
    std::map<ids::CallSite, std::uint64_t> sites{}; ///< `all` of each

    PartTally& operator+=(const PartTally& other) {
        count += other.count;
        ticks += other.ticks;
        all += other.all;
        bytes += other.bytes;
        calls += other.calls;
        source = other.source;
        destination = other.destination;
        for (const auto& [site, parts] : other.sites)
            sites[site] += parts;
        return *this;
    }
};

/// Counts the parts of batches. Memory: one tally a call site and one part a thread.
struct SmallParts : LineRule<SmallParts, PartTally> {
    void add(const trace::Copy& record, std::uint32_t thread) {
        if (record.batch == 0 || record.status != 0 || record.captured != 0 ||
            record.origin != trace::Origin::program)
            return;
        const ids::CallSite site = ids::CallSite::of(record);
        PartTally& tally = at(site);
        Part& before = parts_[thread];
        ++tally.all;
        ++tally.sites[site];
        tally.ticks += record.duration;
        tally.bytes += record.bytes;
        tally.calls += record.batch == 1;
        tally.source = record.source_memory;
        tally.destination = record.destination_memory;
        tally.count += record.batch > 1 && record.width == 0 && record.source == before.source_end &&
                       record.destination == before.destination_end;
        before = {record.source + record.bytes, record.destination + record.bytes};
    }

    std::optional<Finding> judge(const Line<PartTally>& line) const {
        const PartTally& tally = line.tally;
        const Profile& profile = line.profile;
        const auto all = static_cast<double>(tally.all), joined = static_cast<double>(tally.count);
        const double bytes = static_cast<double>(tally.bytes);
        if (tally.count == 0 || bytes >= static_cast<double>(tables::small_copy_bytes) * all)
            return std::nullopt;
        const double call_ns = line.ns(tally.ticks);
        const double device_ns = profile.device_ns(tally.sites);
        const bool inside = facts::is_device_memory(tally.source) && facts::is_device_memory(tally.destination);
        const double rate = inside ? profile.rates().device_to_device : profile.rates().pinned_to_device;
        // What stays: the bytes, and a part for each stretch of parts that adjoin.
        const double stays_ns = bytes / rate * 1e9 + (1 - joined / all) * (call_ns + device_ns);
        Finding finding;
        finding.saving_ns = call_ns + device_ns - stays_ns;
        if (finding.saving_ns < line.share_of_run(least_part_share))
            return std::nullopt;
        finding.summary =
            fmt::format("{} {} with {} parts of {} on average; {} of them continue the previous part on both "
                        "sides: {} of the host's time a part",
                        profile.call_name(line.entry), count_text(tally.calls, "time"),
                        tally.all / std::max<std::uint64_t>(1, tally.calls), bytes_text(bytes / all),
                        percent_text(joined / all), time_text(call_ns / all));
        finding.evidence = {{"calls", static_cast<double>(tally.calls)},
                            {"parts", all},
                            {"adjoining_parts", joined},
                            {"bytes", bytes},
                            {"time_ns", call_ns},
                            {"device_ns", device_ns}};
        finding.advice =
            fmt::format("pass adjacent parts as one; where all are adjacent, {} of all their bytes",
                        profile.uses_runtime() ? "cudaMemcpyAsync" : "cuMemcpyAsync");
        EditedCalls parts; // the first of a batch has the time of its call, so no part may stay as it is
        for (const auto& [site, count] : tally.sites)
            parts.add(site, count);
        finding.edit = parts.gone(profile, stays_ns);
        finding.basis = fmt::format("time of the calls and of the device for the parts that merging adjacent "
                                    "parts removes, minus the same bytes at {}, measured on {}",
                                    rate_text(rate), profile.rates().whose());
        finding.confidence = Confidence::medium;
        return finding;
    }

private:
    struct Part {
        std::uint64_t source_end = 0, destination_end = 0;
    };
    facts::PerThread<Part> parts_;
};

} // namespace

constinit const Rule uma_125{.id = "UMA-125",
                             .name = "small-parts",
                             .title = "batches of copies in small parts",
                             .find = &SmallParts::find<uma_125>,
                             .counter = &count<SmallParts>,
                             .fits = Fits::separate_memory,
                             .price = Price::rates,
                             .order = OrderUse::none};

} // namespace umadvisor::rules
