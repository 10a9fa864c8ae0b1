#include "analyzer/tables/failed_calls.hpp"

#include <algorithm>
#include <array>

namespace umadvisor::tables {
namespace {

/// CUresult: deinitialized, peer access that is enabled already, not ready.
constexpr std::array<std::uint64_t, 3> harmless_statuses{4, 704, 600};
/// CUresult: illegal address, launch timeout, assert, hardware stack error, illegal instruction, misaligned
/// address, invalid address space, invalid program counter, launch failed.
constexpr std::array<std::uint64_t, 9> fatal_statuses{700, 702, 710, 714, 715, 716, 717, 718, 719};

/// CUresult, stream capture: unsupported, merge, isolation, implicit, captured event. Each ends the capture.
constexpr std::array<std::uint64_t, 5> capture_statuses{capture_forbids, 902, 905, 906, 907};
constexpr std::size_t most_captures = 64;

} // namespace

/// The capture that a call of the thread met: its own, or the only one there is. Null where that is not clear.
FailedCalls::Capture* FailedCalls::capture_of(std::uint32_t thread) {
    const auto own = std::ranges::find(captures_, thread, &Capture::thread);
    return own != captures_.end() ? &*own : captures_.size() == 1 ? &captures_.front() : nullptr;
}

void FailedCalls::add(const trace::Graph& record, std::uint32_t thread) {
    const bool begins = record.action == trace::GraphAction::begin_capture && record.status == 0;
    if (!begins && record.action != trace::GraphAction::end_capture)
        return;
    std::erase_if(captures_, [&](const Capture& capture) { return capture.stream == record.stream; });
    if (begins && captures_.size() < most_captures)
        captures_.push_back({record.stream, thread, ids::CallSite::of(record), {}});
}

void FailedCalls::queued(const trace::HostFunction& record) {
    if (record.status == 0 && !host_function_.stack.known())
        host_function_ = ids::CallSite::of(record);
}

FailedTotals* FailedCalls::add(const ids::CallSite& site, std::uint64_t status, std::uint64_t start,
                               std::uint32_t thread) {
    if (status == 0 || std::ranges::find(harmless_statuses, status) != harmless_statuses.end())
        return nullptr;
    if (fatal_.status != 0) {
        ++after_fatal_;
        return nullptr;
    }
    if (std::ranges::find(fatal_statuses, status) != fatal_statuses.end())
        fatal_ = {site, status};
    const bool by_capture = std::ranges::find(capture_statuses, status) != capture_statuses.end();
    Capture* const capture = by_capture || status == capture_ended ? capture_of(thread) : nullptr;
    if (capture != nullptr && by_capture && !capture->ended_by.stack.known())
        capture->ended_by = site;
    FailedTotals& totals = sites_[{site, status}];
    if (totals.count++ != 0) {
        if (capture == nullptr || !(capture->ended_by == totals.ended_by))
            totals.ended_by = {}; // no one call ended all of these captures
        return nullptr;
    }
    totals.start = start;
    if (status == not_permitted)
        totals.host_function = host_function_;
    if (capture != nullptr) {
        totals.capture = capture->begun;
        totals.of_other_thread = capture->thread != thread;
        totals.ended_by = capture->ended_by;
    }
    return &totals;
}

void FailedCalls::tried(const trace::Alloc& record, std::uint32_t thread) {
    const auto before = tries_.find(thread);
    const bool failed = record.status == out_of_memory && fatal_.status == 0;
    if (before == tries_.end() && !failed)
        return;
    const ids::CallSite site = ids::CallSite::of(record);
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

} // namespace umadvisor::tables
