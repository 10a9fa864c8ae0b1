/// The part of an allocation that the host takes in each round of a loop.
#pragma once

#include <cstdint>

namespace umadvisor::policy {

/// It stays where it is, or moves on by as much each time and around the end, as through a ring of slots. In
/// bytes from the allocation's start. Plain data; all zeros: nothing was taken yet.
class TakenPart {
public:
    struct Range {
        std::uint64_t first = 0, last = 0; ///< equal: nothing
    };

    constexpr TakenPart() noexcept = default;
    /// As if it had been taken once.
    explicit constexpr TakenPart(Range range) noexcept : last_(range), agreed_(1) {}

    /// What is expected to be taken next of an allocation of `room` bytes; nothing where that cannot be.
    Range next(std::uint64_t room) const noexcept;

    Range last() const noexcept { return last_; }

    /// Bytes that it moves on by, round the end; 0: it stays.
    std::uint64_t step() const noexcept { return step_; }

    /// How many times in a row what was taken was the same, or as far from the one before as that was from its
    /// own; the first of them included.
    std::uint32_t agreed() const noexcept { return agreed_; }

    void took(Range range, std::uint64_t room) noexcept;
    /// What was expected was taken.
    void took_next(std::uint64_t room) noexcept { last_ = next(room); }
    /// Nothing was taken where something was expected, or too little to tell.
    void took_nothing() noexcept { agreed_ = 0; }

private:
    Range last_;
    std::uint64_t step_ = 0;
    std::uint32_t agreed_ = 0;
};

} // namespace umadvisor::policy
