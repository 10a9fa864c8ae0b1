/// Copies with a pageable end: the driver stages them through a small pinned buffer, at a fraction of the
/// link's rate, and an Async one holds the calling thread until the staging is done (CUDA Runtime API, "API
/// synchronization behavior").
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/transfer_fates.hpp"
#include "analyzer/rules/transfers/detours.hpp"
#include "analyzer/rules/transfers/managed_copied.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace umadvisor::rules {
namespace {

using trace::Memory;

struct PageableCopies {
    tables::Tally copies, from_disk; ///< from_disk: these are left out
    EditedCalls calls;
    facts::Footprint memory; ///< that they go through
    std::uint64_t largest = 0, entry = 0;
    std::set<trace::HostRangeKind> kinds;
};

/// By line, direction, whether the program believes the copy to be asynchronous, and whether a graph made it.
using Key = std::tuple<ids::StackId, facts::Direction, bool, bool>;

std::string host_text(const std::set<trace::HostRangeKind>& kinds) {
    std::string text;
    for (const trace::HostRangeKind kind : kinds) {
        constexpr std::string_view words[] = {"pageable memory", "the heap",      "an anonymous mapping",
                                              "the stack",       "a mapped file", "the program's own data",
                                              "shared memory"};
        const auto index = static_cast<std::size_t>(kind);
        text += text.empty() ? "" : ", ";
        text += index < std::size(words) ? words[index] : words[0];
    }
    return text;
}

trace::HostRangeKind kind_of(const Profile& profile, std::uint64_t host_range) {
    const auto& ranges = profile.dictionary().host_ranges;
    const auto found = ranges.find(host_range);
    return found == ranges.end() ? trace::HostRangeKind::unknown : found->second.kind;
}

bool is_fault(const tables::CopySite& site, facts::Direction direction) {
    const bool up = site.source == Memory::pageable &&
                    (direction == facts::Direction::HtoD || direction == facts::Direction::HtoA);
    const bool down = site.destination == Memory::pageable &&
                      (direction == facts::Direction::DtoH || direction == facts::Direction::AtoH);
    return up || down;
}

/// Page-locking a buffer that is copied only once costs more than it saves.
constexpr std::uint64_t least_uses = 2;

/// Its calls are counted by the rule narrow-rows.
bool narrow_rows_of(const Profile& profile, const tables::CopySite& site) {
    if (site.graph)
        return false;
    const auto& sites = profile.narrow_rows().sites();
    const auto found = sites.lower_bound({site});
    return found != sites.end() && found->first.stack == site.stack && found->first.entry == site.entry &&
           found->second.rows >= 100 * found->second.copies;
}

std::optional<Finding> describe_pageable(const Profile& profile, const Key& key, const PageableCopies& group) {
    if (group.copies.bytes < least_uses * group.memory.bytes())
        return std::nullopt;
    const auto& [stack, direction, asynchronous, graph] = key;
    const double bytes = static_cast<double>(group.copies.bytes);
    const bool up = direction == facts::Direction::HtoD || direction == facts::Direction::HtoA;
    const machine::Rates& rates = profile.rates();
    const std::string whose = rates.whose();
    const double pageable_rate = up ? rates.pageable_to_device : rates.device_to_pageable;
    // The nodes of a graph are not timed one by one.
    const double spent_ns = graph ? bytes / pageable_rate * 1e9 : group.copies.own_ns;
    const tables::LinkRate link = profile.copies().link(direction);
    const bool measured = link.bytes != 0;
    const double rate = measured ? link.bytes_per_second()
                        : up     ? rates.pinned_to_device
                                 : rates.device_to_pinned;
    const double pinned_ns = bytes / rate * 1e9;
    const auto locked_bytes = static_cast<double>(graph ? group.largest : group.memory.bytes());
    const double lock_ns = rates.page_lock_ns + locked_bytes / rates.page_lock * 1e9;

    Finding finding;
    // What a graph copies keeps no call waiting that was to return at once.
    finding.rule = asynchronous && !graph ? &uma_102 : &uma_101;
    finding.title =
        fmt::format("{}, {}", graph ? "pageable copies inside a graph" : finding.rule->title, words(direction));
    finding.saving_ns = std::max(0.0, spent_ns - pinned_ns - lock_ns);
    finding.host_cost_ns = lock_ns;
    finding.host_gain_ns = graph ? spent_ns : 0;
    if (!graph)
        finding.edit =
            group.calls.faster(profile, group.copies.bytes, std::max(0.0, spent_ns - pinned_ns), lock_ns);
    const double reached = spent_ns > 0 ? bytes / (spent_ns * 1e-9) : 0;
    finding.summary =
        fmt::format("{0} {1} {2}, {3}; this link carries {4} {1} pinned memory{5}",
                    copies_text(profile, group.entry, bytes, group.copies.count), up ? "from" : "to",
                    host_text(group.kinds), rate_text(reached), rate_text(rate),
                    measured ? "" : fmt::format(" (measured on {})", profile.rates().whose()));
    if (asynchronous && !graph)
        finding.details.push_back("the call returns only when the copy is staged: the host waited " +
                                  time_text(spent_ns) + " in it, and nothing overlapped");
    if (group.from_disk.count != 0)
        finding.details.push_back(fmt::format("{} more, {} in all, waited for pages of the file to come from "
                                              "the disk; they are not counted, because "
                                              "page-locking does not avoid that: read ahead in another thread "
                                              "(MADV_WILLNEED), or map with MAP_POPULATE",
                                              group.from_disk.count, bytes_text(group.from_disk.bytes)));
    finding.evidence = {{"copies", static_cast<double>(group.copies.count)},
                        {"bytes", bytes},
                        {"largest_bytes", static_cast<double>(group.largest)},
                        {"time_ns", spent_ns},
                        {"rate_bytes_per_s", reached},
                        {"pinned_rate_bytes_per_s", rate},
                        {"buffer_bytes", locked_bytes},
                        {"page_lock_ns", lock_ns}};
    const bool runtime = profile.uses_runtime();
    finding.advice =
        fmt::format("page-lock this buffer once and keep it: {} instead of malloc; {} then runs while the host "
                    "continues, and the host must wait for it before it uses the buffer",
                    runtime ? "cudaHostRegister, or cudaMallocHost" : "cuMemHostRegister, or cuMemAllocHost",
                    asynchronous ? "the copy"
                    : runtime    ? "cudaMemcpyAsync on the same stream"
                                 : "cuMemcpyAsync on the same stream");
    finding.basis = fmt::format(
        "time of these copies (waits for earlier work excluded) minus the same bytes at {}, and "
        "minus {} to page-lock {} once{}",
        measured ? "the rate that pinned copies of 16 MiB and more reached in this trace"
                 : fmt::format("{}, measured for pinned memory on {}", rate_text(rate), whose),
        time_text(lock_ns), bytes_text(locked_bytes),
        locked_bytes > 1.5 * static_cast<double>(group.largest) ? ", the buffers of this line" : "");
    if (graph)
        finding.basis =
            fmt::format("these bytes at {}, measured for pageable memory on {}, minus the same at {}",
                        rate_text(pageable_rate), whose,
                        measured ? "the rate of this trace's pinned copies"
                                 : rate_text(rate) + ", measured there for pinned memory");
    finding.confidence = graph                                      ? Confidence::medium
                         : measured                                 ? Confidence::high
                         : group.largest >= tables::link_copy_bytes ? Confidence::high
                                                                    : Confidence::medium;
    return finding;
}

} // namespace

std::vector<Finding> find_pageable_copies(const Profile& profile, const LineOf& line_of) {
    const bool managed_are_known = !made_managed(profile);
    const bool content_is_known = fates_are_known(profile);
    std::map<Key, PageableCopies> groups;
    for (const auto& [site, totals] : profile.copies().sites()) {
        // Small copies cost their call whatever the memory: the rule small-copies speaks of them.
        if (!is_fault(site, totals.direction) || totals.large.count == 0)
            continue;
        if (managed_are_known && copies_managed(site))
            continue; // the rule managed-copied advises to do without the copy
        if (narrow_rows_of(profile, site))
            continue;
        if (!site.graph && profile.counted<ThroughHost>().tells_of(site))
            continue; // the rule through-host advises to do without the copy
        // The rules on content advise to do without the copy.
        const tables::Tally rest =
            content_is_known ? totals.large.without(profile.counted<DeviceContents>().reported(site, false))
                             : totals.large;
        // The disk is no faster for page-locked memory.
        const tables::Tally& disk = totals.from_disk;
        if (rest.count <= disk.count || rest.bytes < disk.bytes || rest.ticks < disk.ticks)
            continue;
        PageableCopies& group = groups[{line_of(site.stack), totals.direction, site.asynchronous, site.graph}];
        group.copies.add(rest.without(disk));
        group.from_disk.add(disk);
        group.calls.add(site, rest.count - disk.count);
        group.memory.add(totals.pageable);
        group.largest = std::max(group.largest, totals.largest);
        group.entry = site.entry;
        group.kinds.insert(kind_of(profile, site.host_range));
    }
    return judge_lines(uma_101, profile, groups, describe_pageable);
}

constinit const Rule uma_101{.id = "UMA-101",
                             .name = "pageable-copy",
                             .title = "pageable copies",
                             .find = &find_pageable_copies,
                             .fits = Fits::staged_copies,
                             .price = Price::rates,
                             .act = "stage",
                             .same_calls_as = &uma_503};

constinit const Rule uma_102{.id = "UMA-102",
                             .name = "pageable-async",
                             .title = "asynchronous in name only: pageable copies",
                             .find = &find_pageable_copies,
                             .fits = Fits::staged_copies,
                             .price = Price::rates,
                             .act = "stage",
                             .same_calls_as = &uma_503,
                             .order = OrderUse::asynchronous};

} // namespace umadvisor::rules
