#include "interposer/control/trigger_watch.hpp"

#include "interposer/control/steps.hpp"

#include <algorithm>

namespace umadvisor::control {

void TriggerWatch::begin(std::string_view text, std::uint64_t limit, std::uint64_t now) noexcept {
    static_assert(Trigger::most <= most_steps);
    policy::Misread misread; // the options know of it
    if (!parse(text, trigger_, misread))
        trigger_.count = 0;
    for (std::size_t i = 0; i < trigger_.count; ++i)
        if (trigger_.conditions[i].metric == Metric::step)
            step_[i] = measure_steps(trigger_.conditions[i].step);
    limit_ = std::min(limit, most_an_hour);
    next_ = now + interval;
}

bool TriggerWatch::may_fire(std::uint64_t now) const noexcept {
    if (count_ < limit_)
        return true;
    return limit_ != 0 && now - fired_[(count_ - limit_) % most_an_hour] >= hour;
}

std::string_view TriggerWatch::judge(const Sample& sample, const double* steps, bool idle) noexcept {
    std::string_view fires;
    for (std::size_t i = 0; i < trigger_.count && has_last_; ++i) {
        const Condition& condition = trigger_.conditions[i];
        const double value =
            condition.metric == Metric::step ? steps[i] : value_of(condition.metric, last_, sample);
        if (value != value) // no such step has ended
            continue;
        if (!condition.holds_for(value))
            since_[i] = 0;
        else if (since_[i] == 0)
            since_[i] = last_.time_ns; // it held in the whole second before
        if (since_[i] != 0 && sample.time_ns - since_[i] >= condition.for_ns && fires.empty())
            fires = condition.text;
    }
    last_ = sample;
    has_last_ = true;
    if (fires.empty() || !idle || !may_fire(sample.time_ns))
        return {};
    fired_[count_++ % most_an_hour] = sample.time_ns;
    std::fill(std::begin(since_), std::end(since_), 0);
    return fires;
}

std::string_view TriggerWatch::look(const Sample& sample, bool idle) noexcept {
    next_ = sample.time_ns + interval;
    double steps[Trigger::most] = {};
    for (std::size_t i = 0; i < trigger_.count; ++i)
        if (trigger_.conditions[i].metric == Metric::step) {
            const std::uint64_t longest = longest_step(step_[i]);
            steps[i] = longest != 0 ? static_cast<double>(longest) : __builtin_nan("");
        }
    return judge(sample, steps, idle);
}

} // namespace umadvisor::control
