/// Memory that one side makes and the other uses: first touches, read-backs, and what would better have been
/// made where it is used.
#include "analyzer/managed/verdict.hpp"

#include <algorithm>

namespace umadvisor::managed {
namespace {

bool takes_turns(const std::vector<Verdict>& found) {
    return std::ranges::any_of(found, [](const Verdict& verdict) {
        return verdict.kind == VerdictKind::thrashing || verdict.kind == VerdictKind::false_sharing ||
               verdict.kind == VerdictKind::read_only_bouncing || verdict.kind == VerdictKind::ping_pong;
    });
}

void judge_first_touch(const Subject& subject, std::vector<Verdict>& found) {
    const auto& stays = subject.stays.list();
    if (stays.size() < 2 || stays[0].on_device || !stays[0].populated || !stays[1].on_device ||
        !subject.much(stays[1].by_fault) || takes_turns(found) || has(found, VerdictKind::late_prefetch))
        return;
    found.push_back({.kind = VerdictKind::first_touch,
                     .times = std::max<std::uint64_t>(1, stays[1].pulls),
                     .bytes = stays[1].by_fault,
                     .kernel = stays[1].kernel,
                     .host_code = stays[0].code});
}

/// What the kernels have made comes to the host by its faults.
void judge_read_back(const Subject& subject, std::vector<Verdict>& found) {
    const bool only_read = subject.marks.launches != 0 && subject.marks.writing_launches == 0;
    if (takes_turns(found) || only_read)
        return;
    Verdict verdict{.kind = VerdictKind::read_back};
    const Stay* before = nullptr;
    bool host_had_it = false, prefetched = true;
    std::uint64_t lowest = UINT64_MAX, highest = 0;
    for (const Stay& stay : subject.stays.list()) {
        if (before != nullptr && before->on_device && before->launches != 0 && !stay.on_device &&
            stay.by_fault != 0) {
            ++verdict.times;
            verdict.bytes += stay.by_fault;
            verdict.new_bytes += host_had_it ? 0 : stay.by_fault;
            verdict.written += host_had_it ? written(stay) : 0;
            verdict.kernel = before->last_kernel;
            verdict.host_code = stay.code;
            prefetched = prefetched && stay.faults != 0 && before->by_prefetch > stay.by_fault;
            lowest = std::min(lowest, stay.lowest);
            highest = std::max(highest, stay.highest);
        }
        host_had_it = host_had_it || !stay.on_device;
        before = &stay;
    }
    if (!subject.much(verdict.bytes))
        return;
    const std::uint64_t part = (highest | (granule - 1)) + 1 - std::min(lowest / granule * granule, highest);
    if (prefetched && verdict.times >= 2 && part <= subject.bytes() / 2)
        verdict.same_part = part;
    found.push_back(verdict);
}

/// Filled by the host's own code, as far as that is recorded, with what a kernel could have made.
bool could_be_made_on_device(const Subject& subject, const Stay& filled) {
    return subject.terms.faults_known
               ? filled.write_faults != 0 && filled.regularity != trace::Regularity::irregular
               : filled.regularity == trace::Regularity::regular;
}

/// Filled by the host, and from then on the device's alone.
void judge_host_populate(const Subject& subject, std::vector<Verdict>& found) {
    const auto& stays = subject.stays.list();
    if (stays.size() < 2 || stays[0].on_device || !stays[0].populated ||
        !could_be_made_on_device(subject, stays[0]))
        return;
    std::uint64_t launches = 0, back = 0;
    for (const Stay& stay : stays)
        if (stay.on_device)
            launches += stay.launches;
        else
            back += stay.arrived();
    if (launches < 2 || subject.much(back))
        return;
    found.push_back({.kind = VerdictKind::host_populate,
                     .times = launches,
                     .bytes = stays[1].arrived(),
                     .kernel = stays[1].kernel,
                     .host_code = stays[0].code});
}

} // namespace

void judge_one_way(const Subject& subject, std::vector<Verdict>& found) {
    judge_first_touch(subject, found);
    judge_read_back(subject, found);
    judge_host_populate(subject, found);
}

} // namespace umadvisor::managed
