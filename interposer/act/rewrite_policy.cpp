#include "interposer/act/rewrite_policy.hpp"

#include <algorithm>

namespace umadvisor::act {

AllocationDecision decide_allocation(std::uint64_t bytes, const DeviceState& device) noexcept {
    AllocationDecision decision{};
    decision.rewrite = bytes != 0 && device.concurrent_managed_access;
    if (!decision.rewrite)
        return decision;
    const bool fitted = device.rewritten_bytes <= device.memory_bytes;
    decision.place = fitted && bytes <= device.memory_bytes - device.rewritten_bytes;
    decision.unplace_others = fitted && !decision.place && device.rewritten_bytes != 0;
    return decision;
}

MemoryInfo pretend(MemoryInfo real, std::uint64_t pretended, std::uint64_t rewritten_bytes) noexcept {
    const std::uint64_t total = pretended != 0 ? std::min(pretended, real.total) : real.total;
    const std::uint64_t used = real.total - std::min(real.free, real.total) + rewritten_bytes;
    return {total - std::min(used, total), total};
}

} // namespace umadvisor::act
