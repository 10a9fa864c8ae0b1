#include "policy/usage_trial.hpp"

#include <algorithm>

namespace umadvisor::policy {

namespace {

constexpr unsigned first = 4;       ///< time that something is missing
constexpr unsigned most_misses = 3; ///< the driver may have evicted a block that was used
constexpr unsigned rest = 64;       ///< times that something is missing

} // namespace

bool UsageTrial::worth_bringing() noexcept {
    ++asked_;
    if (given_up_at_ != 0 && asked_ - given_up_at_ < rest)
        return false;
    if (given_up_at_ != 0) {
        given_up_at_ = misses_ = 0;
        next_ = asked_;
    }
    return true;
}

bool UsageTrial::just_given_up() noexcept {
    const bool just = given_up() && !told_;
    told_ = given_up();
    return just;
}

bool UsageTrial::due(bool crowded) const noexcept {
    const unsigned next = next_ != 0 ? next_ : first;
    return !under_way() && asked_ >= (crowded ? next / first : next);
}

void UsageTrial::begin(std::size_t block, std::uint64_t stream) noexcept {
    left_out_ = block + 1;
    stream_ = stream;
    looked_ = unused_ = false;
}

void UsageTrial::cancel(std::size_t from, std::size_t until) noexcept {
    if (covers(from, until))
        left_out_ = 0;
}

void UsageTrial::end(bool everything, std::uint64_t stream) noexcept {
    if (!under_way())
        return;
    if (everything || stream == stream_) {
        left_out_ = 0;
        if (looked_)
            judge();
        else // a wait for another stream came first, or looks are short: it told nothing and cost its faults
            next_ = 2 * asked_;
    }
    looked_ = unused_ = false;
}

void UsageTrial::judge() noexcept {
    misses_ = unused_ ? misses_ + 1 : 0;
    next_ = unused_ ? asked_ + 1 : std::max(first, 4 * asked_);
    if (misses_ == most_misses)
        given_up_at_ = asked_;
}

} // namespace umadvisor::policy
