/// How much memory is in use at once, at the most.
#pragma once

#include <cstdint>
#include <vector>

namespace umadvisor::tables {

/// An allocation is in use from its first use to its last, and which use is the last shows only when it is
/// freed. So the allocations are kept in the order of their last use so far. Between two neighbours lies a span
/// of time: whichever allocation is used again was in use in all of the span or in nothing of it, so the most
/// of each span is enough. Each operation takes constant time. Memory: one node for each live allocation.
class PeakUse {
public:
    using Slot = std::uint32_t;

    /// An allocation of so many bytes exists from now on.
    Slot add(std::uint64_t bytes);
    /// It is used for the first time, now.
    void begin(Slot slot);
    /// It was in use from its last use until now; where it was not used before, since it exists.
    void extend(Slot slot);
    /// It is freed. Its last use was the last begin() or extend().
    void remove(Slot slot);

    /// The most that was in use at once, of the uses that were added so far.
    std::uint64_t bytes() const;

private:
    static constexpr Slot none = ~Slot{0};
    struct Node {
        Slot before = none, after = none;
        std::int64_t bytes = 0;
        std::int64_t step = 0; ///< the most of the span after it less that of the span before it
    };

    void append(Slot slot);
    void unlink(Slot slot);
    void raise_last(std::int64_t least);

    std::vector<Node> nodes_;
    std::vector<Slot> free_;
    Slot head_ = none, tail_ = none;
    std::int64_t first_ = 0,
                 last_ = 0; ///< the most of the span before the first node, and of that after the last
};

} // namespace umadvisor::tables
