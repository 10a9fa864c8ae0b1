#include "policy/rewrite_policy.hpp"

#include <algorithm>

namespace umadvisor::policy {

std::uint64_t room_of(const DeviceState& device) noexcept {
    return device.memory_bytes - std::min(device.plain_bytes, device.memory_bytes);
}

bool holds_all(const DeviceState& device) noexcept {
    return device.rewritten_bytes + device.plain_bytes + device.other_bytes <= device.memory_bytes;
}

MemoryInfo pretend(MemoryInfo real, std::uint64_t pretended, std::uint64_t held_bytes) noexcept {
    const std::uint64_t total = pretended != 0 ? std::min(pretended, real.total) : real.total;
    const std::uint64_t used = std::max(real.total - std::min(real.free, real.total), held_bytes);
    return {total - std::min(used, total), total};
}

} // namespace umadvisor::policy
