#include "policy/prefetch_plan.hpp"

#include <algorithm>

namespace umadvisor::policy {

namespace {

/// Adds what fits of [first, last); whether all of it did.
bool add(std::uint64_t allocation, std::uint64_t first, std::uint64_t last, std::uint64_t budget,
         PrefetchPlan& plan) {
    std::uint64_t until = last;
    const std::uint64_t left = budget - plan.bytes;
    if (last - first > left) // at a block's end: half a block would bring its own faults for the rest
        until = std::max(first, (first + left) / block_bytes * block_bytes);
    if (plan.count == PrefetchPlan::max_ranges)
        until = first;
    if (until != first) {
        plan.ranges[plan.count++] = {allocation, first, until - first};
        plan.bytes += until - first;
    }
    plan.withheld += last - until;
    return until == last;
}

/// Calls `visit(first, last)` for each run of missing blocks, clipped to the
/// allocation.
template <class Visit>
void for_each_missing(const ResidencyView& view, Visit&& visit) {
    const std::uint64_t base = view.address / block_bytes * block_bytes;
    const std::uint64_t end = view.address + view.bytes;
    const std::size_t blocks = std::min<std::size_t>(view.blocks.size(), blocks_of(view.address, view.bytes));
    for (std::size_t i = 0; i < blocks;) {
        if (!is_missing(view.blocks[i])) {
            ++i;
            continue;
        }
        std::size_t behind = i;
        while (behind < blocks && is_missing(view.blocks[behind]))
            ++behind;
        visit(std::max(view.address, base + i * block_bytes), std::min(end, base + behind * block_bytes));
        i = behind;
    }
}

} // namespace

void plan_prefetch(std::span<const ResidencyView> touched, std::uint64_t budget, PrefetchPlan& plan) noexcept {
    plan.count = 0;
    plan.bytes = plan.withheld = 0;
    for (const ResidencyView& view : touched)
        for_each_missing(view, [&](std::uint64_t first, std::uint64_t last) {
            if (!add(view.allocation, first, last, budget, plan))
                budget = plan.bytes; // nothing more
        });
}

std::uint64_t missing_bytes(std::span<const ResidencyView> touched) noexcept {
    std::uint64_t bytes = 0;
    for (const ResidencyView& view : touched)
        for_each_missing(view, [&](std::uint64_t first, std::uint64_t last) { bytes += last - first; });
    return bytes;
}

} // namespace umadvisor::policy
