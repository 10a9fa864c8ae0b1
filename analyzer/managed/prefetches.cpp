/// Prefetches: too late, for nothing, or against each other.
#include "analyzer/managed/verdict.hpp"
#include "analyzer/reader/saturated.hpp"

#include <algorithm>
#include <iterator>

namespace umadvisor::managed {
namespace {

constexpr std::uint64_t fault_bytes = 64 * 1024; ///< a device fault brings as much, or more
constexpr std::uint64_t fewest_faults = 4;       ///< beside what may be another's

/// No program reads memory faster from one thread.
constexpr double fastest_bytes_per_ns = 100;

bool brought_by_prefetch(const Stay& stay) {
    return stay.by_prefetch != 0 && stay.by_prefetch >= stay.by_fault;
}

/// Nothing on the device has used it, as far as that can be known.
bool unused_on_device(const Subject& subject, const Stay& stay) {
    const bool by_others =
        subject.terms.first_anywhere <= stay.end && stay.begin <= subject.terms.last_anywhere;
    return stay.launches == 0 && !by_others;
}

/// It left the host again before the host could have used half of it. Where there was time enough, the trace
/// does not show whether the host used it. Where the clock stands still while the host computes, the trace does
/// not show how much time there was.
bool unused_on_host(const Subject& subject, const Stay& stay) {
    if (stay.ready == 0)
        return true;
    if (!subject.terms.host_time_known)
        return false;
    const double ns =
        static_cast<double>(stay.end - std::min(stay.end, stay.ready)) * subject.terms.ns_per_tick;
    return ns * fastest_bytes_per_ns < static_cast<double>(stay.by_prefetch) / 2;
}

/// Prefetched after a launch that was not waited for and that may have pulled it over.
bool behind_launch(const Subject& subject, const Stay& stay) {
    return stay.late_bytes != 0 &&
           (subject.terms.faults_known ? stay.device_faults != 0 : stay.late_bytes >= subject.bytes() / 10 * 9);
}

void judge_late(const Subject& subject, std::vector<Verdict>& found) {
    Verdict verdict{.kind = VerdictKind::late_prefetch};
    for (const Stay& stay : subject.stays.list()) {
        if (!stay.on_device)
            continue;
        // After the launch; or before it, but not so that it waited.
        const bool after = behind_launch(subject, stay) && subject.much(stay.by_fault);
        const bool beside = stay.by_prefetch >= subject.bytes() / 10 * 9 && stay.by_prefetch != 0 &&
                            stay.launches != 0 &&
                            stay.device_faults >= std::max(fewest_faults, subject.bytes() / fault_bytes / 2);
        if (!after && !beside)
            continue;
        ++verdict.times;
        verdict.bytes += std::max(stay.late_bytes, stay.by_prefetch);
        verdict.kernel = stay.kernel;
        verdict.prefetch_stack = stay.prefetch_stack;
    }
    if (verdict.times != 0)
        found.push_back(verdict);
}

/// Once may be caution; the same again is a call for nothing in a loop.
void judge_redundant(const Subject& subject, std::vector<Verdict>& found) {
    const RedundantPrefetches& redundant = subject.stays.redundant();
    if (redundant.calls < 2 || has(found, VerdictKind::late_prefetch) ||
        redundant.bytes < (redundant.last - redundant.first) / 2 * 3)
        return;
    found.push_back({.kind = VerdictKind::redundant_prefetch,
                     .times = redundant.calls,
                     .bytes = redundant.bytes,
                     .prefetch_stack = redundant.stack});
}

void judge_unused(const Subject& subject, std::vector<Verdict>& found) {
    Verdict verdict{.kind = VerdictKind::unused_prefetch};
    const auto& stays = subject.stays.list();
    for (std::size_t i = 0; i < stays.size(); ++i) {
        const Stay& stay = stays[i];
        if (!stay.on_device || stay.end == 0 || !brought_by_prefetch(stay) || !unused_on_device(subject, stay))
            continue;
        ++verdict.times;
        verdict.bytes += stay.by_prefetch;
        verdict.prefetch_stack = stay.prefetch_stack;
        if (i + 1 == stays.size())
            continue;
        const Stay& next = stays[i + 1];
        if (brought_by_prefetch(next)) {
            verdict.prefetched_back += std::min(next.by_prefetch, stay.by_prefetch);
            continue;
        }
        verdict.taken_back += std::min(next.by_fault, stay.by_prefetch);
        verdict.written += std::min(written(next), stay.by_prefetch);
        if (verdict.host_code == 0)
            verdict.host_code = next.code;
    }
    if (verdict.times != 0)
        found.push_back(verdict);
}

void judge_prefetch_ping_pong(const Subject& subject, std::vector<Verdict>& found) {
    Verdict verdict{.kind = VerdictKind::prefetch_ping_pong};
    const auto& stays = subject.stays.list();
    for (std::size_t i = 0; i + 1 < stays.size(); ++i) {
        const Stay &stay = stays[i], &next = stays[i + 1];
        if (!brought_by_prefetch(stay) || !brought_by_prefetch(next) ||
            !(stay.on_device ? unused_on_device(subject, stay) : unused_on_host(subject, stay)))
            continue;
        ++verdict.times;
        verdict.bytes += stay.by_prefetch + next.by_prefetch;
        verdict.prefetch_stack = next.prefetch_stack;
    }
    if (verdict.times >= 2)
        found.push_back(verdict);
}

} // namespace

LateCandidates late_candidates(const Subject& subject) {
    LateCandidates candidates;
    if (subject.marks.by_umadvisor)
        return candidates;
    for (const Stay& stay : subject.stays.list()) {
        if (!stay.on_device || stay.late_bytes == 0)
            continue;
        if (!behind_launch(subject, stay) || (stay.looked_at && !subject.much(stay.by_fault))) {
            ++candidates.on_time;
        } else if (!subject.much(stay.by_fault)) {
            ++candidates.unseen;
            reader::add_saturated(candidates.unseen_bytes, stay.late_bytes);
        }
    }
    return candidates;
}

std::vector<WastedPrefetch> wasted_prefetches(const Subject& subject) {
    using Why = WastedPrefetch::Why;
    std::vector<WastedPrefetch> found;
    // What was evicted in the meantime was not there any more.
    const RedundantPrefetches& redundant = subject.stays.redundant();
    if (redundant.calls != 0 && subject.marks.evicted_bytes == 0 && subject.stays.evicted() == 0)
        found.push_back({Why::there, redundant.stack, redundant.bytes});
    for (const Stay& stay : subject.stays.list())
        if (stay.end != 0 && brought_by_prefetch(stay) &&
            (stay.on_device ? unused_on_device(subject, stay) : unused_on_host(subject, stay)))
            found.push_back({stay.on_device ? Why::unused_on_device : Why::unused_on_host, stay.prefetch_stack,
                             stay.by_prefetch});
    return found;
}

void LateCandidates::add(const LateCandidates& other) {
    reader::add_saturated(unseen, other.unseen);
    reader::add_saturated(unseen_bytes, other.unseen_bytes);
    reader::add_saturated(on_time, other.on_time);
}

void judge_prefetches(const Subject& subject, std::vector<Verdict>& found) {
    if (subject.marks.by_umadvisor)
        return;
    judge_late(subject, found);
    judge_redundant(subject, found);
    judge_unused(subject, found);
    judge_prefetch_ping_pong(subject, found);
}

} // namespace umadvisor::managed
