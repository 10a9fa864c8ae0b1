#include "analyzer/reports/text/call_times.hpp"

#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

namespace umadvisor::reports {
namespace {

constexpr std::size_t most_named = 4;
constexpr std::uint64_t least_percent = 1; ///< of all time in calls, to be named

struct CallSum {
    std::string name;
    std::uint64_t count = 0, measured = 0, ns = 0;

    void add(const CallSum& other) {
        count += other.count;
        measured += other.measured;
        ns += other.ns;
    }
    std::string time_text() const { return (measured < count ? "about " : "") + text::time_text(ns); }
};

/// The one that took longest first.
std::vector<CallSum> sums_by_name(const rules::Profile& profile) {
    std::map<std::string, CallSum> by_name; // a runtime's call may be several of the driver's
    for (const auto& [entry, totals] : profile.calls())
        if (!profile.makes_contexts(entry))
            by_name[profile.call_name(entry)].add(
                {{}, totals.count, totals.time.measured, profile.nanoseconds(totals.time)});
    std::vector<CallSum> sums;
    for (auto& [name, sum] : by_name) {
        sum.name = name;
        sums.push_back(std::move(sum));
    }
    std::ranges::stable_sort(sums, std::greater<>(), &CallSum::ns);
    return sums;
}

} // namespace

std::string call_times_text(const rules::Profile& profile) {
    const std::vector<CallSum> sums = sums_by_name(profile);
    CallSum all, others;
    for (const CallSum& sum : sums)
        all.add(sum);
    std::string text;
    std::size_t left_out = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const CallSum& sum = sums[i];
        if (i >= most_named || (i != 0 && sum.ns * 100 < all.ns * least_percent)) {
            others.add(sum);
            ++left_out;
            continue;
        }
        text += fmt::format("{}{} {} ({}{})", i == 0 ? "" : ", ", sum.name, sum.time_text(), sum.count,
                            sum.measured < sum.count ? fmt::format(", {} of them measured", sum.measured) : "");
    }
    if (left_out != 0)
        text += fmt::format(", {} {}", text::count_text(left_out, "other"), others.time_text());
    if (text.empty() || profile.dictionary().threads.size() != 1 || profile.inside() || profile.paused())
        return text;
    return fmt::format("{} of {} (the rest is the host's own code): {}", all.time_text(),
                       text::time_text(profile.net_ns()), text);
}

std::string spinning_text(const rules::Profile& profile) {
    constexpr double least_run_share = 0.2, least_ns = 1e9;
    const tables::SpinningWaits& waits = profile.spinning_waits();
    const auto ns = static_cast<double>(profile.nanoseconds(waits.ticks()));
    if (!waits.known() || ns < least_ns || ns < least_run_share * static_cast<double>(profile.recorded_ns()))
        return {};
    return fmt::format("{} of 10 ms or more, {} in all, keep a core busy, because waiting threads spin: {} "
                       "would free the core for other work; it saves no time here",
                       text::count_text(waits.count(), "wait"), text::time_text(ns),
                       profile.uses_runtime() ? "cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync)"
                                              : "CU_CTX_SCHED_BLOCKING_SYNC");
}

std::string questions_text(const rules::Profile& profile) {
    constexpr std::uint64_t least_launches = 1000; // what a start asks does not count then
    constexpr std::array<std::string_view, 3> questions{"cuDeviceGetAttribute", "cuFuncGetAttribute",
                                                        "cuOccupancy"};
    std::uint64_t launches = 0;
    for (const auto& [group, totals] : profile.launches().groups())
        launches += totals.count;
    std::string text;
    for (const rules::CountedEntry& entry : profile.counted())
        if (launches >= least_launches && entry.count >= launches &&
            std::ranges::any_of(questions,
                                [&](std::string_view each) { return entry.symbol.starts_with(each); }))
            text += fmt::format("{}{} x {}, {:.1f} a launch", text.empty() ? "" : "; ", entry.symbol,
                                entry.count, static_cast<double>(entry.count) / static_cast<double>(launches));
    return text.empty() ? text : "driver queries, counted and not timed: " + text;
}

} // namespace umadvisor::reports
