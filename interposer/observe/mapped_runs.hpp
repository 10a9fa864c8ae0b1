/// The runs of pages that one look has found mapped by the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace umadvisor::observe {

inline constexpr std::uint64_t recorded_page = 4096; ///< FORMAT.md, Residency

/// The first 15 of them, and the last.
class MappedRuns {
public:
    void add(std::uint64_t first, std::uint64_t last) {
        if (count_ == std::size(runs_))
            pages_ -= pages_of(runs_[--count_]);
        runs_[count_++] = {first, last};
        pages_ += pages_of(runs_[count_ - 1]);
    }
    std::uint64_t pages() const { return pages_; }
    /// Address of the nth.
    std::uint64_t page(std::uint64_t n) const {
        const Run* run = runs_;
        for (; n >= pages_of(*run); ++run)
            n -= pages_of(*run);
        return run->first + n * recorded_page;
    }
    /// Whether all of it is adjacent.
    bool single() const { return count_ == 1; }

private:
    struct Run {
        std::uint64_t first, last;
    };
    static std::uint64_t pages_of(const Run& run) { return (run.last - run.first) / recorded_page; }

    Run runs_[16];
    std::size_t count_ = 0;
    std::uint64_t pages_ = 0;
};

} // namespace umadvisor::observe
