#include "policy/eviction_plan.hpp"

#include <algorithm>

namespace umadvisor::policy {

namespace {

/// Takes blocks from the end on: which of an allocation's blocks go makes no difference to what comes back.
void evict(const ResidencyView& view, std::uint64_t bytes, PrefetchPlan& plan) {
    const std::uint64_t base = view.address / block_bytes * block_bytes;
    const std::uint64_t end = view.address + view.bytes;
    for (std::size_t i = view.blocks.size(); i > 0 && plan.bytes < bytes;) {
        if (view.blocks[i - 1] != BlockState::device) {
            --i;
            continue;
        }
        if (plan.count == PrefetchPlan::max_ranges)
            return;
        const std::uint64_t behind = std::min(end, base + i * block_bytes);
        std::uint64_t first = behind;
        for (; i > 0 && view.blocks[i - 1] == BlockState::device && plan.bytes + (behind - first) < bytes; --i)
            first = std::max(view.address, base + (i - 1) * block_bytes);
        plan.ranges[plan.count++] = {view.allocation, first, behind - first};
        plan.bytes += behind - first;
    }
}

} // namespace

void foresee(std::span<Resident> residents, const LaunchSequence& sequence) noexcept {
    const auto before = [](const Resident& resident, std::uint64_t address) {
        return resident.view.address < address;
    };
    std::sort(residents.begin(), residents.end(), [](const Resident& left, const Resident& right) {
        return left.view.address < right.view.address;
    });
    for (Resident& resident : residents)
        resident.next_use = LaunchSequence::unknown;
    std::size_t left = residents.size();
    sequence.foretell([&](std::uint64_t address, std::uint32_t launches) {
        const auto at = std::lower_bound(residents.begin(), residents.end(), address, before);
        if (at != residents.end() && at->view.address == address && at->next_use == LaunchSequence::unknown) {
            at->next_use = launches;
            --left;
        }
        return left != 0;
    });
}

void plan_eviction(std::span<Resident> residents, std::uint64_t bytes, PrefetchPlan& plan) noexcept {
    plan.count = 0;
    plan.bytes = plan.withheld = 0;
    std::sort(residents.begin(), residents.end(), [](const Resident& left, const Resident& right) {
        return left.next_use != right.next_use ? left.next_use > right.next_use
                                               : left.last_use < right.last_use;
    });
    for (const Resident& resident : residents)
        if (plan.bytes < bytes)
            evict(resident.view, bytes, plan);
}

} // namespace umadvisor::policy
