#include "analyzer/tables/pool_gains.hpp"

#include <algorithm>
#include <cmath>

namespace umadvisor::tables {
namespace {

constexpr std::size_t most_times = 64, fewest_before = 2;
constexpr double equal_share = 0.02; ///< times that differ by less count as equal

} // namespace

void PoolGains::add(const trace::Pool& record) {
    if (record.origin == trace::Origin::umadvisor && record.status == 0 &&
        record.reason == trace::Reason::pool_refills && !raised_)
        raised_ = ActionSite{kind_of(record.reason), ids::StackId::of(record)};
}

void PoolGains::add(const trace::Alloc& record) {
    if (record.status != 0 || record.captured != 0 || record.memory != trace::Memory::device ||
        !ids::StackId::of(record).known())
        return;
    Calls& calls = sites_[ids::StackId::of(record)];
    const auto ticks = static_cast<double>(record.duration);
    if (raised_) {
        ++calls.after;
        calls.ticks += ticks;
    } else if (calls.before.size() < most_times) {
        calls.before.push_back(ticks);
    }
}

std::map<ActionSite, CallGains::Gain> PoolGains::gains() const {
    CallGains::Gain gain;
    double all_before = 0;
    for (const auto& [stack, calls] : sites_) {
        if (calls.after == 0 || calls.before.size() < fewest_before)
            continue;
        std::vector<double> times = calls.before;
        const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
        std::ranges::nth_element(times, middle);
        const double before = *middle * static_cast<double>(calls.after);
        all_before += before;
        gain.ticks += before - calls.ticks;
        gain.with += calls.after;
        gain.without += calls.before.size();
    }
    if (!raised_ || gain.without == 0)
        return {};
    gain.alike = std::abs(gain.ticks) <= equal_share * all_before;
    return {{*raised_, gain}};
}

} // namespace umadvisor::tables
