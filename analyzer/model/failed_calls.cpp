#include "analyzer/model/failed_calls.hpp"

#include <algorithm>
#include <array>

namespace umadvisor::model {
namespace {

/// CUresult: deinitialized, peer access that is enabled already, not ready.
constexpr std::array<std::uint64_t, 3> harmless_statuses{4, 704, 600};
/// CUresult: illegal address, launch timeout, assert, hardware stack error, illegal instruction, misaligned
/// address, invalid address space, invalid program counter, launch failed.
constexpr std::array<std::uint64_t, 9> fatal_statuses{700, 702, 710, 714, 715, 716, 717, 718, 719};

} // namespace

FailedTotals* FailedCalls::add(const CallSite& site, std::uint64_t status, std::uint64_t start) {
    if (status == 0 || std::ranges::find(harmless_statuses, status) != harmless_statuses.end())
        return nullptr;
    if (fatal_.status != 0) {
        ++after_fatal_;
        return nullptr;
    }
    if (std::ranges::find(fatal_statuses, status) != fatal_statuses.end())
        fatal_ = {site, status};
    FailedTotals& totals = sites_[{site, status}];
    if (totals.count++ != 0)
        return nullptr;
    totals.start = start;
    return &totals;
}

void FailedCalls::tried(const trace::Alloc& record, std::uint32_t thread) {
    const auto before = tries_.find(thread);
    const bool failed = record.status == out_of_memory && fatal_.status == 0;
    if (before == tries_.end() && !failed)
        return;
    const CallSite site{record.stack, record.entry};
    const bool follows = before != tries_.end() && record.memory == before->second.memory &&
                         (record.bytes == before->second.bytes ||
                          (site == before->second.last && record.bytes < before->second.bytes));
    if (!failed) {
        if (follows && record.status == 0)
            for (const auto& [each, count] : before->second.failed)
                sites_[{each, out_of_memory}].answered += count;
        tries_.erase(before);
        return;
    }
    if (!follows)
        tries_[thread] = {};
    Tries& tries = tries_[thread];
    ++tries.failed[site];
    tries.last = site;
    tries.bytes = record.bytes;
    tries.memory = record.memory;
}

} // namespace umadvisor::model
