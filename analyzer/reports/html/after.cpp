#include "analyzer/reports/html/after.hpp"

#include <algorithm>
#include <numeric>

namespace umadvisor::html {
namespace {

/// Nanoseconds that `row` has of `cause` from `begin` to `end`.
double time_of(const PieceRow& row, const Span& span, Cause cause, double begin, double end) {
    double bins = 0;
    for_bins(span, row.bins(), begin, end, [&](std::size_t bin, double part) {
        bins += part * row.share(static_cast<std::size_t>(cause), bin);
    });
    return bins * span.length() / static_cast<double>(row.bins());
}

} // namespace

double After::sum() const {
    return std::accumulate(where.begin(), where.begin() + static_cast<std::size_t>(Cause::start), added_ns);
}

After after(const Timeline& timeline, const timeline::Spared& spared) {
    After result{timeline.where()};
    if (timeline.main >= spared.threads.size() || timeline.main >= timeline.threads.size() ||
        !timeline.threads[timeline.main])
        return result;
    const auto less = [&result](Cause cause, double ns) {
        result.where[static_cast<std::size_t>(cause)] -= ns;
    };
    const timeline::Spared::Thread& thread = spared.threads[timeline.main];
    const PieceRow& row = timeline.threads[timeline.main]->causes;
    for (const timeline::Spared::Stretch& stretch : thread.stretches) {
        const auto faults = [&](Cause cause, double ns) {
            return ns > 0 ? std::min(ns, time_of(row, timeline.span, cause, stretch.begin, stretch.end)) : 0;
        };
        const double host = faults(Cause::host_faults, stretch.code_ns);
        less(Cause::host_faults, host);
        less(Cause::code, stretch.code_ns - host);
        const double device = faults(Cause::device_faults, stretch.waits_ns + stretch.copies_ns);
        const double of_waits = std::clamp(stretch.waits_ns, 0.0, device);
        less(Cause::device_faults, device);
        less(Cause::kernels, stretch.waits_ns - of_waits);
        less(Cause::copies, of_waits - device); // those of copies are no longer theirs
    }
    for (const auto& [entry, ns] : thread.own_ns)
        if (const auto cause = timeline.cause_of.find(entry); cause != timeline.cause_of.end())
            less(cause->second, ns);
    if (spared.last_thread == timeline.main)
        less(Cause::code, spared.tail_ns);
    for (double& ns : result.where)
        ns = std::max(0.0, ns);
    result.added_ns = thread.added_ns;
    return result;
}

} // namespace umadvisor::html
