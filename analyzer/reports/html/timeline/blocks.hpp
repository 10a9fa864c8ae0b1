/// The driver moves managed memory by blocks of 2 MiB. These rows show where each block was, in traces in which
/// the driver reported every move.
#pragma once

#include "analyzer/reports/html/timeline/placement.hpp"
#include "analyzer/reports/html/timeline/timeline.hpp"

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace umadvisor::html {

/// Memory: `most_followed` allocations of `most_blocks` and `most_pieces` each.
class Blocks : public PlacementSink {
public:
    static constexpr std::size_t most_followed = 32, most_blocks = 64, most_pieces = 4'000;

    explicit Blocks(double prefetch_rate) : placement_(*this, prefetch_rate) {}
    /// The steps that Placement takes, in the same order.
    void take(const PlaceStep& step);
    /// Call once, at the end of the run.
    std::vector<BlockRow> finish(double end);

    void stay(std::uint32_t followed, std::uint32_t block, double begin, double end, std::uint64_t bytes,
              const std::array<float, places>& shares) override;
    void move(std::uint32_t followed, std::uint32_t block, double time, bool up, MoveCause cause,
              std::uint64_t bytes) override;
    void use(double, std::uint64_t, std::uint64_t) override {}

private:
    void alloc(const PlaceStep& step);
    void free(const PlaceStep& step);
    void pass_on(PlaceStep step);

    struct Followed {
        std::uint64_t address = 0, end = 0, block_bytes = 0;
        std::uint64_t first = 0, count = 0; ///< its blocks, as the placement numbers them
        std::size_t row = 0;
    };
    Placement placement_;
    std::map<std::uint64_t, Followed> live_;                    ///< by address
    std::unordered_map<trace::AllocationId, std::uint64_t> at_; ///< address of live ones, by allocation
    std::vector<BlockRow> rows_;
    std::vector<std::uint32_t> numbers_; ///< of allocations, by line
    std::uint64_t next_ = 1;
};

} // namespace umadvisor::html
