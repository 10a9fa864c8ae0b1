/// Memory that host and device take from each other by faults: thrashing, false sharing, read-only bouncing and
/// plain ping-pong, of which the narrowest is reported.
#include "analyzer/managed/verdict.hpp"
#include "analyzer/reader/saturated.hpp"

#include <algorithm>

namespace umadvisor::managed {
namespace {

constexpr std::uint64_t line = 64; ///< what lies in one is used together

/// The stays of an allocation that page faults ended: memory that went to the host, and back to the device.
struct Turns {
    std::vector<const Stay*> returns, pulls; ///< to the host, to the device
    std::uint64_t bytes = 0;

    /// Once there and once back is no alternation yet: it takes another return.
    bool alternate() const { return returns.size() >= 2 && !pulls.empty(); }
    /// A long history lists some of its stays only. The factor from listed returns to all of them.
    double times_listed(const Stays& stays) const {
        const auto listed = static_cast<double>(returns.size());
        return returns.empty() ? 1 : (listed + static_cast<double>(stays.left_out()) / 2) / listed;
    }
};

Turns turns_of(const Stays& stays) {
    Turns turns;
    const Stay* before = nullptr;
    for (const Stay& stay : stays.list()) {
        if (before != nullptr && before->on_device != stay.on_device && stay.by_fault != 0) {
            // The first pull of what the host had filled is a first touch.
            if (stay.on_device && !turns.returns.empty())
                turns.pulls.push_back(&stay);
            else if (!stay.on_device)
                turns.returns.push_back(&stay);
            turns.bytes += stay.by_fault;
        }
        before = &stay;
    }
    return turns;
}

/// The driver's rule, by what was seen of whole allocations: an arrival by fault soon after the other side's is
/// one event, and a longer gap begins anew. Arrivals at the host are seen no later than they happened.
std::uint64_t quick_turns(const Subject& subject) {
    const auto lapse = static_cast<double>(subject.terms.thrashing_lapse_ns) / subject.terms.ns_per_tick;
    std::uint64_t quick = 0, longest = 0;
    const Stay* before = nullptr;
    for (const Stay& stay : subject.stays.list()) {
        if (before != nullptr && before->by_fault != 0 && stay.by_fault != 0 &&
            static_cast<double>(stay.begin - std::min(stay.begin, before->begin)) <= lapse)
            longest = std::max(longest, ++quick);
        else
            quick = 0;
        before = &stay;
    }
    return longest;
}

/// Pages by the driver's events; where those are not recorded, by its rule; where moves are not recorded
/// either, turns.
std::uint64_t thrashing_of(const Subject& subject) {
    if (subject.terms.thrashing_known)
        return subject.marks.thrashing_pages;
    if (subject.marks.replayed_pages != 0)
        return subject.marks.replayed_pages;
    const std::uint64_t quick = quick_turns(subject);
    return quick >= subject.terms.thrashing_threshold ? quick : 0;
}

enum class Content : std::uint8_t { unknown, same, changing };

/// The same contents: what the host had each time before the device took it was what it had the time before, in
/// three cases of four or more.
Content content_of(const Turns& turns) {
    std::uint64_t compared = 0, changed = 0, last = 0;
    for (const Stay* stay : turns.returns) {
        if (stay->write_faults != 0)
            ++changed;
        if (stay->content == 0)
            continue;
        if (last != 0) {
            ++compared;
            changed += stay->content != last;
        }
        last = stay->content;
    }
    if (compared == 0)
        return Content::unknown;
    return 4 * changed <= compared ? Content::same : Content::changing;
}

/// Whether at most one launch in four may write it: with more, the device may have filled it.
bool kernels_read(const Marks& marks) {
    return marks.writing_launches <= marks.launches / 4;
}

/// Whether one side uses a cache line and the other side the memory beside it: the pages that came back differ
/// in that line, and outside it either nowhere or everywhere.
bool one_line_only(const Turns& turns) {
    std::uint64_t place = 0, compared = 0;
    for (const Stay* stay : turns.returns)
        if (stay->content != 0 && compared++ != 0) { // the first has none to compare with
            if (stay->lone_line == 0 || (place != 0 && stay->lone_line != place))
                return false;
            place = stay->lone_line;
        }
    return place != 0;
}

/// Where no faults are recorded. An allocation of one page has one place only.
bool one_place_by_looks(const Subject& subject, const Turns& turns) {
    return one_line_only(turns) ||
           (subject.bytes() <= page && subject.bytes() > line && content_of(turns) == Content::changing);
}

/// Each time one page is all that the host asks for, always the same, and it writes there. The page with which
/// the driver's granule begins says nothing: a loop over the whole granule faults there, too. Nor does one
/// fault that brought more than a granule, unless the contents show that one line alone has changed.
bool one_place_by_faults(const Subject& subject, const Turns& turns) {
    const std::uint64_t place = turns.returns.front()->lowest;
    const bool all_came =
        std::ranges::any_of(turns.returns, [](const Stay* stay) { return stay->by_fault > granule; });
    return std::ranges::all_of(turns.returns,
                               [&](const Stay* stay) {
                                   return stay->faults == 1 && stay->write_faults == 1 && stay->lowest == place;
                               }) &&
           ((subject.marks.address + place) % granule >= page || subject.bytes() <= page) &&
           (!all_came || one_line_only(turns));
}

} // namespace

void judge_turns(const Subject& subject, std::vector<Verdict>& found) {
    const Turns turns = turns_of(subject.stays);
    Verdict verdict{.kind = VerdictKind::ping_pong, .times = turns.returns.size(), .bytes = turns.bytes};
    const double all = turns.times_listed(subject.stays);
    verdict.pulls = reader::saturated(static_cast<double>(turns.pulls.size()) * all);
    for (const Stay* stay : turns.returns) {
        if (stay->write_faults == 0) // what it only reads, a kernel can read in its place
            verdict.host_ticks +=
                reader::saturated(static_cast<double>(stay->last_fault - stay->first_fault) * all);
        verdict.written += written(*stay);
        if (verdict.host_code == 0)
            verdict.host_code = stay->code;
    }
    if (!turns.pulls.empty())
        verdict.kernel = turns.pulls.front()->kernel;
    else if (const auto device = std::ranges::find(subject.stays.list(), true, &Stay::on_device);
             device != subject.stays.list().end())
        verdict.kernel = device->kernel; // it all happened in one kernel

    if (const std::uint64_t thrashing = thrashing_of(subject); thrashing != 0) {
        verdict.kind = VerdictKind::thrashing;
        verdict.times = thrashing;
    } else if (!turns.alternate()) {
        return;
    } else if (subject.terms.faults_known ? one_place_by_faults(subject, turns)
                                          : one_place_by_looks(subject, turns)) {
        verdict.kind = VerdictKind::false_sharing;
    } else if (content_of(turns) == Content::same && kernels_read(subject.marks)) {
        // Where kernels may write, the host may have written the same again.
        verdict.kind = VerdictKind::read_only_bouncing;
    }
    found.push_back(verdict);
}

} // namespace umadvisor::managed
