/// What decides where a run's memory is: the allocations, and the order in which host and device reach them.
#pragma once

#include "residency/address_space.hpp"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace umadvisor::whatif {

/// One allocation, from its beginning to its end. It has addresses of its own in the model, since those of the
/// program are used again: whole pages of its own, as far from a 2 MiB block's beginning as in the program.
struct Extent {
    std::uint64_t place = 0, bytes = 0;
    bool moves = false;        ///< managed memory, or treated as such; else it stays on the device
    std::vector<bool> reached; ///< by 2 MiB block: a fault on it or a prefetch of it to a device was recorded
    std::uint64_t blocks() const {
        return (place + bytes - 1) / residency::block_bytes - place / residency::block_bytes + 1;
    }
};

/// A part of an extent that something is done to.
struct Part {
    std::uint32_t extent = 0;
    residency::Access access{}; ///< of touches
    residency::Advice advice{}; ///< of advice
    bool device = false;        ///< who touches, where a prefetch or an advice sends it
    std::uint64_t offset = 0, bytes = 0;
};

enum class StepKind : std::uint8_t { begin, end, launch, touch, prefetch, advise, discard };

/// Time in units of Job::unit_ns since the run began; `index` of an extent (begin, end), of a reach (launch) or
/// of a part.
struct Step {
    std::uint32_t time;
    StepKind kind : 4;
    std::uint32_t index : 28;
};
static_assert(sizeof(Step) == 8);

/// Memory: 8 bytes a step, 4 for each extent that a launch reaches, 40 a part, 64 and a bit for each block an
/// extent, and block_price for each block that lives while it is replayed, together at most so many bytes.
/// Time: that of at most so many blocks that come to life or are reached. What comes after is left out, and
/// `left_out` counts it.
class Job {
public:
    static constexpr std::uint64_t usual_bytes = std::uint64_t{320} << 20;
    static constexpr std::uint64_t most_work = std::uint64_t{1} << 25;
    /// Of a block in the model: its state, and a node of a tree for its place in the order of eviction.
    static constexpr std::uint64_t block_price = sizeof(residency::Block) + 64;
    explicit Job(std::uint64_t most_bytes = usual_bytes) : most_bytes_(most_bytes) {}

    double unit_ns = 1; ///< of the steps' times

    /// Each adds a step, or counts one left out.
    std::uint32_t begin(std::uint64_t time, std::uint64_t address, std::uint64_t bytes, bool moves);
    void end(std::uint64_t time, std::uint32_t extent);
    /// Extents that a kernel reaches, in the order of its parameters; none that stays.
    void launch(std::uint64_t time, const std::vector<std::uint32_t>& reach);
    void add(std::uint64_t time, StepKind kind, const Part& part);
    /// A device is known to have reached [offset, offset + bytes) of it.
    void reached(std::uint32_t extent, std::uint64_t offset, std::uint64_t bytes);
    /// Call it after the last step: it sorts the steps by time, since some were recorded late.
    void finish();

    const std::vector<Extent>& extents() const { return extents_; }
    const std::vector<Step>& steps() const { return steps_; }
    const Part& part(const Step& step) const { return parts_[step.index]; }
    std::span<const std::uint32_t> reach(const Step& step) const { return reaches_[step.index]; }
    std::uint64_t accesses() const { return accesses_; } ///< extents of all launches
    std::uint64_t launches() const { return launches_; }
    std::uint64_t left_out() const { return left_out_; }
    /// False: launches are assumed to reach the whole of their extents.
    bool parts_known = false;
    /// Whether launches reach this block of the extent.
    bool reaches(const Extent& extent, std::uint64_t block) const {
        return !parts_known || extent.reached[block];
    }
    std::uint64_t reach_bytes(const Step& step) const; ///< of the blocks that a launch reaches

    struct Peak {
        std::uint64_t all = 0, stays = 0; ///< bytes that lived at once; of those of memory that stays, the most
        std::uint64_t launch = 0;         ///< that one launch reached
    };
    Peak peak() const;

private:
    bool spend(std::uint64_t bytes, std::uint64_t reached = 0, std::uint64_t begun = 0);
    void add(std::uint64_t time, StepKind kind, std::uint64_t index);

    std::uint64_t most_bytes_;
    std::vector<Extent> extents_;
    std::vector<Step> steps_;
    std::vector<Part> parts_;
    std::vector<std::vector<std::uint32_t>> reaches_;
    std::unordered_multimap<std::uint64_t, std::uint32_t> reach_numbers_; ///< by hash
    std::uint64_t next_place_ = 0, accesses_ = 0, launches_ = 0, left_out_ = 0, spent_ = 0, live_ = 0,
                  worked_ = 0; ///< live_: blocks; worked_: blocks reached
};

/// Bytes of the extent in its block of that number.
std::uint64_t bytes_in_block(const Extent& extent, std::uint64_t block);

} // namespace umadvisor::whatif
