#include "analyzer/tables/call_gains.hpp"

#include <algorithm>
#include <cmath>

namespace umadvisor::tables {
namespace {

constexpr std::size_t most_times = 64;
constexpr double equal_share = 0.02; ///< times that differ by less count as equal

} // namespace

void CallGains::add(ids::StackId stack, trace::Type type, ActionKind kind, trace::Origin origin,
                    std::uint64_t ticks) {
    if (!stack.known())
        return;
    const bool acted = text_of(kind).measure == Measure::calls;
    const auto taken = static_cast<double>(ticks);
    if (origin == trace::Origin::umadvisor && !acted)
        return;
    Calls& calls = sites_[{stack, type}];
    if (origin == trace::Origin::umadvisor) {
        calls.ticks += taken;
    } else if (acted) {
        calls.kind = kind;
        ++calls.count;
        calls.ticks += taken;
    } else {
        ++calls.by_driver;
        if (calls.driver.size() < most_times)
            calls.driver.push_back(taken);
    }
}

std::map<ActionSite, CallGains::Gain> CallGains::gains() const {
    std::map<ActionSite, Gain> result;
    for (const auto& [site, calls] : sites_) {
        if (calls.count == 0 || calls.driver.empty())
            continue;
        std::vector<double> times = calls.driver;
        // One call among calls that are answered takes the driver longer than many in a row.
        const auto quartile = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 4);
        std::ranges::nth_element(times, quartile);
        const double before = *quartile * static_cast<double>(calls.count);
        Gain& gain = result[{calls.kind, site.first}];
        gain.ticks = before - calls.ticks;
        gain.with = calls.count;
        gain.without = calls.by_driver;
        gain.alike = std::abs(gain.ticks) <= equal_share * before;
    }
    return result;
}

} // namespace umadvisor::tables
