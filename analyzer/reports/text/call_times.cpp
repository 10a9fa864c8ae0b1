#include "analyzer/reports/text/call_times.hpp"

#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <map>
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
    return text;
}

} // namespace umadvisor::reports
