/// The advice on managed memory that is in effect, as far as it is known.
#pragma once

#include <cstddef>
#include <cstdint>

namespace umadvisor::policy {

struct Advice {
    /// Advice of one kind replaces earlier advice of that kind.
    enum class Kind : std::uint8_t { read_mostly, preferred_location, accessed_by };
    Kind kind;
    bool set; ///< else taken back
    std::uint64_t allocation;
    std::uint64_t address, bytes;
    std::uint64_t location; ///< any number; 0 where advice has none

    bool operator==(const Advice&) const noexcept = default;
};

/// The driver does nothing for advice that equals what is in effect, with one exception: that a processor
/// accesses memory maps what it does not have mapped at the moment, and a preferred location unmaps some of
/// that. So such advice never counts as in effect, nor does a preferred location where there is such advice.
class GivenAdvice {
public:
    static constexpr std::size_t most = 128; ///< in effect; with more, all is forgotten
    static constexpr std::size_t most_accessed = 128;

    /// Whether the driver has this advice already, and would do nothing.
    bool in_effect(const Advice& advice) const noexcept;
    /// The driver has accepted it.
    void given(const Advice& advice) noexcept;
    /// The allocation was freed.
    void forget(std::uint64_t allocation) noexcept;
    void forget_all() noexcept { count_ = 0; }
    /// There may be advice that was not seen.
    void miss() noexcept { missed_ = true; }

private:
    bool is_accessed(std::uint64_t allocation) const noexcept;

    Advice all_[most] = {};
    std::uint64_t accessed_[most_accessed] = {}; ///< allocations with parts that another processor accesses
    std::size_t count_ = 0, accessed_count_ = 0;
    bool missed_ = false; ///< it is not known which are
};

} // namespace umadvisor::policy
