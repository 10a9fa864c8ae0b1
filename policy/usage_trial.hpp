/// Whether launches use what is brought for them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace umadvisor::policy {

/// What is brought cannot be seen to be used. So now and then one block of an allocation is left to faults: if
/// nobody has come for it by the end of the launches, three times running, the allocation is left to faults
/// itself, and brought again after a while. Plain data of one allocation.
class UsageTrial {
public:
    /// Something of the allocation is missing. False: it is left to faults.
    bool worth_bringing() noexcept;
    bool given_up() const noexcept { return given_up_at_ != 0; }
    /// Whether it was given up since this was last asked.
    bool just_given_up() noexcept;

    /// Whether a block is to be left out this time. Sooner where room is short: there nothing may be wasted.
    bool due(bool crowded) const noexcept;
    bool under_way() const noexcept { return left_out_ != 0; }
    /// While it is: the block that was left out.
    std::size_t block() const noexcept { return left_out_ - 1; }

    /// `block` is left to the faults of a launch on `stream`.
    void begin(std::size_t block, std::uint64_t stream) noexcept;
    /// Blocks [from, until) leave the device by our own doing: nobody can tell any more.
    void cancel(std::size_t from, std::size_t until) noexcept;

    /// The allocation's pages are being looked at; the host has blocks [from, until).
    void look() noexcept { looked_ = true; }
    void on_host(std::size_t from, std::size_t until) noexcept { unused_ = unused_ || covers(from, until); }

    /// The program has waited for `stream`, or for everything; what was looked at was so after that.
    void end(bool everything, std::uint64_t stream) noexcept;

private:
    bool covers(std::size_t from, std::size_t until) const noexcept {
        return left_out_ > from && left_out_ <= until;
    }
    void judge() noexcept;

    unsigned asked_ = 0;       ///< times that something was missing
    unsigned next_ = 0;        ///< time of the next trial; 0: the first
    unsigned misses_ = 0;      ///< running
    unsigned given_up_at_ = 0; ///< time; 0: it is not
    std::size_t left_out_ = 0; ///< number + 1
    std::uint64_t stream_ = 0;
    bool looked_ = false, unused_ = false, told_ = false;
};

} // namespace umadvisor::policy
