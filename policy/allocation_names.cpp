#include "policy/allocation_names.hpp"

#include "policy/mix.hpp"

namespace umadvisor::policy {

void AllocationNames::add(std::uint64_t allocation, std::uint64_t bytes, std::uint64_t stack,
                          std::uint64_t key) noexcept {
    if (key == 0 || by_allocation_[allocation % slots] != 0)
        return;
    for (std::uint64_t alike = 0; alike < most_alike; ++alike) {
        const std::uint64_t name = mix(mix(key, bytes), alike) | 1;
        const std::uint64_t place = name >> 1 & (slots - 1);
        Slot& slot = by_name_[place];
        if (slot.allocation != 0 && slot.named.name == name)
            continue;
        if (slot.allocation == 0) {
            slot = {allocation, {name, bytes, stack}};
            by_allocation_[allocation % slots] = static_cast<std::uint16_t>(place + 1);
        }
        return;
    }
}

void AllocationNames::remove(std::uint64_t allocation) noexcept {
    std::uint16_t& place = by_allocation_[allocation % slots];
    if (place == 0 || by_name_[place - 1].allocation != allocation)
        return;
    by_name_[place - 1].allocation = 0;
    place = 0;
}

AllocationNames::Named AllocationNames::find(std::uint64_t allocation) const noexcept {
    const std::uint16_t place = by_allocation_[allocation % slots];
    return place != 0 && by_name_[place - 1].allocation == allocation ? by_name_[place - 1].named : Named{};
}

} // namespace umadvisor::policy
