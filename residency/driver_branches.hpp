/// What is known of single branches of NVIDIA's driver: the one list, which docs/driver.md shows.
#pragma once

#include <cstdint>
#include <string_view>

namespace umadvisor::residency {

/// How it is known that the layouts of tools_interface.hpp are this branch's: they were read in its source, and
/// some tested, too.
enum class ToolsQueue : std::uint8_t { unknown, read, tested };

struct DriverBranch {
    unsigned number; ///< 0: not known
    ToolsQueue queue;
    bool cdmm; ///< by default the driver, not the system's kernel, manages memory of coherent devices
};

/// In order. A branch that is missing here is like the one before it, but for the tools queue.
inline constexpr DriverBranch driver_branches[] = {
    {565, ToolsQueue::read, false},   {570, ToolsQueue::read, false}, {575, ToolsQueue::read, false},
    {580, ToolsQueue::tested, false}, {590, ToolsQueue::read, false}, {595, ToolsQueue::read, false},
    {615, ToolsQueue::unknown, true},
};

/// The branch of a release such as "580.159.04".
constexpr DriverBranch branch_of(std::string_view release) noexcept {
    DriverBranch found{};
    for (const char digit : release) {
        if (digit == '.')
            break;
        if (digit < '0' || digit > '9' || found.number > 100'000)
            return {};
        found.number = found.number * 10 + static_cast<unsigned>(digit - '0');
    }
    for (const DriverBranch& known : driver_branches) {
        if (known.number == found.number)
            return known;
        if (known.number < found.number)
            found.cdmm = known.cdmm;
    }
    return found;
}

} // namespace umadvisor::residency
