/// Copies between host and device memory where both are one: each byte is read and written in the same memory,
/// and is there twice.
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace umadvisor::rules {
namespace {

struct OneMemoryCopies {
    tables::Tally copies;
    EditedCalls calls;
    double spent_ns = 0;
    std::uint64_t entry = 0;
};

bool is_within_one_memory(const tables::CopySite& site) {
    return (facts::is_host_memory(site.source) && site.destination == trace::Memory::device) ||
           (site.source == trace::Memory::device && facts::is_host_memory(site.destination));
}

/// Of a copy that is queued, the device's time, where it was sampled; of others their own time.
double time_in_one_memory(const tables::CopySite& site, const tables::CopyTotals& totals) {
    const bool queued = site.asynchronous && site.source != trace::Memory::pageable &&
                        site.destination != trace::Memory::pageable;
    if (!queued)
        return totals.large.own_ns;
    return totals.measured_bytes == 0
               ? 0
               : static_cast<double>(totals.measured_ns) * static_cast<double>(totals.large.bytes) /
                     static_cast<double>(totals.measured_bytes);
}

bool is_one_pool(const Profile& profile) {
    const auto& devices = profile.dictionary().devices;
    return !devices.empty() && std::ranges::all_of(devices, [&profile](const trace::Device& device) {
        return profile.memory_mode(device) == machine::MemoryMode::one_pool;
    });
}

using OneMemoryKey = std::pair<ids::StackId, facts::Direction>;

Finding describe_one_memory(const Profile& profile, const OneMemoryKey& key, const OneMemoryCopies& line) {
    const auto bytes = static_cast<double>(line.copies.bytes);
    Finding finding;
    finding.title = fmt::format("{}, {}", uma_124.title, facts::words(key.second));
    finding.summary = fmt::format(
        "{}, {} in all; host and device share one physical memory, so both could use the same buffer",
        copies_text(profile, line.entry, bytes, line.copies.count), time_text(line.spent_ns));
    finding.evidence = {
        {"copies", static_cast<double>(line.copies.count)}, {"bytes", bytes}, {"time_ns", line.spent_ns}};
    finding.advice = fmt::format("allocate one buffer with {} and use its pointer on the host and in kernels; "
                                 "keep a copy only where the host changes the data while kernels still read it",
                                 profile.uses_runtime() ? "cudaMallocManaged" : "cuMemAllocManaged");
    finding.saving_ns = line.spent_ns;
    finding.edit = line.calls.gone(profile);
    finding.basis = "time of these copies (waits for earlier work excluded)";
    finding.confidence = Confidence::medium; // whether the host needs a copy of its own is not seen
    return finding;
}

} // namespace

std::vector<Finding> find_one_memory_copies(const Profile& profile, const LineOf& line_of) {
    if (!is_one_pool(profile))
        return {};
    std::map<OneMemoryKey, OneMemoryCopies> lines;
    for (const auto& [site, totals] : profile.copies().sites()) {
        if (site.graph || !is_within_one_memory(site) || totals.large.count == 0)
            continue;
        OneMemoryCopies& line = lines[{line_of(site.stack), totals.direction}];
        line.copies.add(totals.large);
        line.calls.add(site, totals.large.count);
        line.spent_ns += time_in_one_memory(site, totals);
        line.entry = site.entry;
    }
    return judge_lines(uma_124, profile, lines, describe_one_memory);
}

constinit const Rule uma_124{.id = "UMA-124",
                             .name = "one-memory-copy",
                             .title = "copies within memory that host and device share",
                             .find = &find_one_memory_copies};

} // namespace umadvisor::rules
