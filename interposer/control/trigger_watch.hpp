/// Looks once a second whether UMADVISOR_WHEN holds.
#pragma once

#include "interposer/control/sample.hpp"
#include "policy/trigger.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace umadvisor::control {

using policy::Condition, policy::Trigger;

/// Belongs to the thread of the server. Times are those of CLOCK_MONOTONIC in nanoseconds. All zeros: no
/// condition.
class TriggerWatch {
public:
    static constexpr std::uint64_t interval = 1'000'000'000;
    static constexpr std::uint64_t most_an_hour = 60;

    /// The text must stay. It may fire `limit` times an hour, and no more than `most_an_hour`.
    void begin(std::string_view text, std::uint64_t limit, std::uint64_t now) noexcept;

    bool is_set() const noexcept { return trigger_.count != 0; }
    bool needs_calls() const noexcept { return trigger_.needs_calls(); }

    /// When the next look is due.
    std::uint64_t next() const noexcept { return next_; }
    bool is_due(std::uint64_t now) const noexcept { return is_set() && now >= next_; }

    /// Whether the limit is reached: for the rest of the hour no condition fires.
    bool rests(std::uint64_t now) const noexcept { return is_set() && !may_fire(now); }

    /// Returns the condition that has held for long enough; empty: none has, or the limit is reached. A
    /// condition that has fired has to hold anew. While `idle` is false nothing fires. To be called once a
    /// second.
    std::string_view look(const Sample& sample, bool idle) noexcept;

    /// The same with the longest step of each condition; not a number: none has ended.
    std::string_view judge(const Sample& sample, const double* steps, bool idle) noexcept;

private:
    static constexpr std::uint64_t hour = 3'600'000'000'000;

    bool may_fire(std::uint64_t now) const noexcept;

    Trigger trigger_;
    std::size_t step_[Trigger::most] = {};    ///< numbers for longest_step()
    std::uint64_t since_[Trigger::most] = {}; ///< since when the condition holds; 0: it does not
    std::uint64_t fired_[most_an_hour] = {};  ///< when it last fired, in a ring
    std::uint64_t count_ = 0, limit_ = 0, next_ = 0;
    bool has_last_ = false;
    Sample last_{};
};

} // namespace umadvisor::control
