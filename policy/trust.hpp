/// Whether what is foretold comes true often enough to act on it.
#pragma once

#include <cstdint>

namespace umadvisor::policy {

/// Of launches: what is brought for one that does not come leaves again, so after four wrong guesses running
/// nothing is foretold for a while. Not thread-safe: its owner's lock covers it.
class Trust {
public:
    static constexpr unsigned most_misses = 4, rest = 256; ///< launches

    /// The next launch is to reach the allocation at this address.
    void expect(std::uint64_t address) noexcept { expected_ = address; }
    bool expects(std::uint64_t address) const noexcept { return expected_ == address; }

    /// A launch has come; `met`: it reaches what was expected, if anything was. Whether the next may be
    /// foretold.
    bool earned(bool met) noexcept {
        if (expected_ != 0)
            misses_ = met ? 0 : misses_ + 1;
        expected_ = 0;
        if (misses_ == most_misses) {
            misses_ = 0;
            resting_ = rest;
        }
        resting_ -= resting_ != 0;
        return resting_ == 0;
    }

private:
    std::uint64_t expected_ = 0; ///< 0: nothing
    unsigned misses_ = 0, resting_ = 0;
};

} // namespace umadvisor::policy
