/// Whether launches use what is brought for them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace umadvisor::act {

/// What is brought cannot be seen to be used. So now and then one block of an allocation is left to faults: if
/// nobody has come for it by the end of the launches, three times running, the allocation is left to faults
/// itself, and brought again after a while. Plain data of one allocation.
class UsageTrial {
public:
    /// Something of the allocation is missing. False: it is left to faults.
    bool worth_bringing() noexcept {
        ++asked_;
        if (given_up_at_ != 0 && asked_ - given_up_at_ < rest)
            return false;
        if (given_up_at_ != 0) {
            given_up_at_ = misses_ = 0;
            next_ = asked_;
        }
        return true;
    }
    bool given_up() const noexcept { return given_up_at_ != 0; }
    /// Whether it was given up since this was last asked.
    bool just_given_up() noexcept {
        const bool just = given_up() && !told_;
        told_ = given_up();
        return just;
    }

    /// Whether a block is to be left out this time. Sooner where room is short: there nothing may be wasted.
    bool due(bool crowded) const noexcept {
        return !under_way() && asked_ >= (crowded ? next_ / first : next_);
    }
    bool under_way() const noexcept { return left_out_ != 0; }

    /// `block` is left to the faults of a launch on `stream`.
    void begin(std::size_t block, std::uint64_t stream) noexcept {
        left_out_ = block + 1;
        stream_ = stream;
        looked_ = unused_ = false;
    }
    /// Blocks [from, until) leave the device by our own doing: nobody can tell any more.
    void cancel(std::size_t from, std::size_t until) noexcept {
        if (covers(from, until))
            left_out_ = 0;
    }
    /// The allocation's pages are being looked at; the host has blocks [from, until).
    void look() noexcept { looked_ = true; }
    void on_host(std::size_t from, std::size_t until) noexcept { unused_ = unused_ || covers(from, until); }

    /// The program has waited for `stream`, or for everything; what was looked at was so after that.
    void end(bool everything, std::uint64_t stream) noexcept {
        if (!under_way())
            return;
        if (everything || stream == stream_) {
            left_out_ = 0;
            if (looked_)
                judge();
        }
        looked_ = unused_ = false;
    }

private:
    static constexpr unsigned first = 4;       ///< time that something is missing
    static constexpr unsigned most_misses = 3; ///< the driver may have evicted a block that was used
    static constexpr unsigned rest = 64;       ///< times that something is missing

    bool covers(std::size_t from, std::size_t until) const noexcept {
        return left_out_ > from && left_out_ <= until;
    }
    void judge() noexcept {
        misses_ = unused_ ? misses_ + 1 : 0;
        next_ = unused_ ? asked_ + 1 : std::max(first, 4 * asked_);
        if (misses_ == most_misses)
            given_up_at_ = asked_;
    }

    unsigned asked_ = 0, next_ = first, misses_ = 0, given_up_at_ = 0;
    std::size_t left_out_ = 0; ///< number + 1
    std::uint64_t stream_ = 0;
    bool looked_ = false, unused_ = false, told_ = false;
};

} // namespace umadvisor::act
