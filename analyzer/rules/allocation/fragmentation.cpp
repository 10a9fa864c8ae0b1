/// Allocations that failed though the device had room enough for them, in pieces.
#include "analyzer/facts/direction.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/dictionary.hpp"
#include "analyzer/rules/line_rule.hpp"
#include "analyzer/rules/unknown_work.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/tables/failed_calls.hpp"

#include <cstdint>
#include <map>

namespace umadvisor::rules {
namespace {

struct FailureTotals {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;                       ///< asked for: the most, and of that call:
    std::uint64_t live_bytes = 0, freed_bytes = 0; ///< what the program had, and had given back before

    void add(const FailureTotals& other) {
        const std::uint64_t all = count + other.count;
        if (bytes < other.bytes)
            *this = other;
        count = all;
    }
};

/// Nothing from the first stream-ordered or managed allocation on: what a pool keeps, and how much of managed
/// memory is on the device, is unknown. Memory: one entry a site that failed.
class AllocationFailures : public Counter {
public:
    explicit AllocationFailures(const Begin& begin) : dictionary_(begin.dictionary), live_(begin.live) {}

    void add(const trace::Alloc& record);
    void add(const trace::Free& record);

    const std::map<ids::CallSite, FailureTotals>& sites() const { return sites_; }

private:
    const reader::Dictionary& dictionary_;
    const facts::LiveMemory& live_;
    std::map<ids::CallSite, FailureTotals> sites_;
    std::uint64_t live_bytes_ = 0, freed_bytes_ = 0;
    bool unknown_ = false; ///< how much memory the program has
};

void AllocationFailures::add(const trace::Alloc& record) {
    unknown_ =
        unknown_ || record.memory == trace::Memory::managed || dictionary_.is_stream_ordered(record.entry);
    if (unknown_ || !facts::is_device_memory(record.memory))
        return;
    if (record.status == 0) {
        live_bytes_ += record.bytes;
    } else if (record.status == tables::out_of_memory && record.memory == trace::Memory::device) {
        FailureTotals& totals = sites_[ids::CallSite::of(record)];
        ++totals.count;
        if (record.bytes > totals.bytes) {
            totals.bytes = record.bytes;
            totals.live_bytes = live_bytes_;
            totals.freed_bytes = freed_bytes_;
        }
    }
}

void AllocationFailures::add(const trace::Free& record) {
    const trace::Alloc* const made = live_.find(record.allocation);
    if (unknown_ || record.status != 0 || made == nullptr || !facts::is_device_memory(made->memory))
        return;
    live_bytes_ -= made->bytes;
    freed_bytes_ += made->bytes;
}

/// The driver's own memory and that of contexts come to less than the rest.
constexpr double most_filled = 0.9;

struct FailureLine {
    std::uint64_t entry = 0;
    FailureTotals totals;
};

Finding describe_fragmentation(const Profile& profile, ids::StackId, const FailureLine& line) {
    const FailureTotals& totals = line.totals;
    const std::uint64_t device_bytes = profile.dictionary().devices.front().memory_bytes;
    const auto bytes = static_cast<double>(totals.bytes);
    Finding finding;
    finding.summary = fmt::format(
        "{} of {} failed because memory ran out, {}; {} of {} were allocated, and {} had been freed before",
        profile.call_name(line.entry), bytes_text(bytes), count_text(totals.count, "time"),
        bytes_text(totals.live_bytes), bytes_text(device_bytes), bytes_text(totals.freed_bytes));
    finding.evidence = {{"failures", static_cast<double>(totals.count)},
                        {"bytes", bytes},
                        {"live_bytes", static_cast<double>(totals.live_bytes)},
                        {"freed_bytes", static_cast<double>(totals.freed_bytes)},
                        {"device_bytes", static_cast<double>(device_bytes)}};
    finding.advice = fmt::format(
        "allocate the largest and longest-lived buffers first, and take short-lived ones from one pool "
        "({}) or one arena; or map physical memory into one address range with cuMemMap",
        profile.uses_runtime() ? "cudaMallocAsync" : "cuMemAllocAsync");
    finding.saving_bytes = totals.bytes;
    finding.basis = "memory that was free on the device, but not in one piece";
    // Other processes may have had it.
    finding.confidence = Confidence::low;
    return finding;
}

} // namespace

std::vector<Finding> find_fragmentation(const Profile& profile, const LineOf& line_of) {
    // Of several devices a failed call does not say which.
    if (memory_use_is_unknown(profile) || profile.dictionary().devices.size() != 1)
        return {};
    const std::uint64_t device_bytes = profile.dictionary().devices.front().memory_bytes;
    std::map<ids::StackId, FailureLine> lines;
    for (const auto& [site, totals] : profile.counted<AllocationFailures>().sites()) {
        if (static_cast<double>(totals.live_bytes + totals.bytes) >
                most_filled * static_cast<double>(device_bytes) ||
            totals.freed_bytes < totals.bytes || totals.bytes < least_saving_bytes)
            continue;
        FailureLine& line = lines[line_of(site.stack)];
        if (line.totals.bytes < totals.bytes)
            line.entry = site.entry;
        line.totals.add(totals);
    }
    return judge_lines(uma_408, profile, lines, describe_fragmentation, 0);
}

constinit const Rule uma_408{.id = "UMA-408",
                             .name = "fragmentation",
                             .title = "allocations that fail although enough memory is free",
                             .find = &find_fragmentation,
                             .counter = &count<AllocationFailures>};

} // namespace umadvisor::rules
