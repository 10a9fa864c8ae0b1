/// Memory that is in the wrong place for all of its use, or has none.
#include "analyzer/managed/verdict.hpp"

#include <algorithm>

namespace umadvisor::managed {
namespace {

constexpr std::uint64_t driver_block = 2 << 20; ///< what is evicted at the least
constexpr std::uint64_t hot = 3;                ///< times that memory was gone through

/// Kernels reach across the link for memory that stays on the host, again and again, as advice asked for.
void judge_remote(const Subject& subject, std::vector<Verdict>& found) {
    if ((!subject.marks.far_advised && subject.marks.remote_pages == 0) || has(found, VerdictKind::thrashing))
        return;
    Verdict verdict{.kind = VerdictKind::remote_access};
    for (const Stay& stay : subject.stays.list())
        if (!stay.on_device && stay.remote_launches > verdict.times) {
            verdict.times = stay.remote_launches;
            verdict.kernel = stay.kernel;
            verdict.host_code = stay.code;
        }
    verdict.bytes = verdict.times * subject.bytes();
    if (verdict.times >= hot)
        found.push_back(verdict);
}

/// The driver had to make room and took what was needed again.
void judge_oversubscribed(const Subject& subject, std::vector<Verdict>& found) {
    const std::uint64_t evicted = std::max(subject.marks.evicted_bytes, subject.stays.evicted());
    if (evicted < driver_block || has(found, VerdictKind::thrashing))
        return;
    Verdict verdict{.kind = VerdictKind::oversubscribed, .times = evicted / page, .bytes = evicted};
    for (const Stay& stay : subject.stays.list())
        if (stay.on_device)
            verdict.kernel = stay.last_kernel;
    found.push_back(verdict);
}

} // namespace

void judge_placement(const Subject& subject, std::vector<Verdict>& found) {
    judge_remote(subject, found);
    judge_oversubscribed(subject, found);
}

} // namespace umadvisor::managed
