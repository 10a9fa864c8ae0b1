/// Coherent machines whose driver keeps the device's memory (CDMM): pageable memory stays on the host. Kernels
/// read it across the link each time, and a prefetch to the device returns success and moves nothing
/// (uvm_migrate.c and uvm_ats_faults.c of NVIDIA's open kernel modules, 595).
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/unified/pageable_uses.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace umadvisor::rules {
namespace {

/// What is smaller holds flags, parameters and results.
constexpr std::uint64_t least_range_bytes = 1024 * 1024;
/// The first use has to cross the link in any case.
constexpr std::uint64_t least_launches = 3;

bool keeps_pageable_on_host(const Profile& profile) {
    const auto& devices = profile.dictionary().devices;
    return !devices.empty() && std::ranges::all_of(devices, [&profile](const trace::Device& device) {
        return profile.memory_mode(device) == machine::MemoryMode::coherent_cdmm;
    });
}

/// Nothing: its bounds are not those of one allocation, or it is small.
const trace::HostRange* large_range(const Profile& profile, std::uint64_t id) {
    const auto& ranges = profile.dictionary().host_ranges;
    const auto found = ranges.find(id);
    if (found == ranges.end() || found->second.last - found->second.first < least_range_bytes)
        return nullptr;
    const trace::HostRangeKind kind = found->second.kind;
    return kind == trace::HostRangeKind::heap || kind == trace::HostRangeKind::mapping ? &found->second
                                                                                       : nullptr;
}

struct ReachLine {
    std::uint64_t count = 0, bytes = 0, function = 0, entry = 0;
};

std::string device_allocator(const Profile& profile) {
    return profile.uses_runtime() ? "cudaMalloc or cudaMallocManaged" : "cuMemAlloc or cuMemAllocManaged";
}

} // namespace

std::vector<Finding> find_pageable_reach(const Profile& profile, const LineOf& line_of) {
    if (!keeps_pageable_on_host(profile))
        return {};
    std::vector<Finding> findings;
    std::map<ids::StackId, ReachLine> prefetches;
    std::map<std::pair<ids::StackId, std::uint64_t>, ReachLine> launches; ///< by line and range
    for (const auto& [use, totals] : profile.counted<PageableUses>().prefetches()) {
        ReachLine& line = prefetches[line_of(use.call.stack)];
        line.count += totals.count;
        line.bytes += totals.bytes;
        line.entry = use.call.entry;
    }
    for (const auto& [use, totals] : profile.counted<PageableUses>().launches()) {
        const trace::HostRange* const range = large_range(profile, use.host_range);
        if (range == nullptr)
            continue;
        ReachLine& line = launches[{line_of(use.call.stack), use.host_range}];
        line.count += totals.count;
        line.bytes = range->last - range->first;
        line.function = totals.function;
        line.entry = use.call.entry;
    }
    for (const auto& [stack, line] : prefetches) {
        Finding finding;
        finding.rule = &uma_216;
        finding.title = finding.rule->title;
        finding.stack = stack;
        finding.summary = fmt::format("{} x {}, {} of pageable memory in all: the driver returns success and "
                                      "leaves it on the host (CDMM)",
                                      profile.call_name(line.entry), line.count, bytes_text(line.bytes));
        finding.evidence = {{"prefetches", static_cast<double>(line.count)},
                            {"bytes", static_cast<double>(line.bytes)}};
        finding.advice =
            fmt::format("allocate it with {} if kernels use it repeatedly; otherwise remove the prefetch",
                        device_allocator(profile));
        findings.push_back(std::move(finding));
    }
    for (const auto& [key, line] : launches) {
        if (line.count < least_launches)
            continue;
        Finding finding;
        finding.rule = &uma_217;
        finding.title = finding.rule->title;
        finding.stack = key.first;
        finding.summary = fmt::format("{} of {} may access {} of pageable memory, which stays on the host "
                                      "(CDMM): each crosses the link again",
                                      count_text(line.count, "launch"), kernels_text(profile, {line.function}),
                                      bytes_text(line.bytes));
        finding.evidence = {{"launches", static_cast<double>(line.count)},
                            {"range_bytes", static_cast<double>(line.bytes)}};
        finding.advice = "allocate it with " + device_allocator(profile) +
                         ", or copy it to device memory once, before these launches";
        findings.push_back(std::move(finding));
    }
    return findings;
}

constinit const Rule uma_216{.id = "UMA-216",
                             .name = "ignored-prefetch",
                             .title = "prefetches of pageable memory that have no effect",
                             .find = &find_pageable_reach,
                             .counter = &count<PageableUses>,
                             .price = Price::unknown};

constinit const Rule uma_217{.id = "UMA-217",
                             .name = "pageable-reach",
                             .title = "kernels access pageable memory across the link again and again",
                             .find = &find_pageable_reach,
                             .counter = &count<PageableUses>,
                             .price = Price::unknown};

} // namespace umadvisor::rules
