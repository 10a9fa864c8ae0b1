/// When operations run that are given to the streams of a device, each engine doing one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace umadvisor::rules {

/// Parts of a device that work beside each other.
enum class Engine : std::uint8_t { to_device, to_host, compute };
inline constexpr std::size_t engines = 3;

struct Operation {
    Engine engine{};
    std::uint32_t stream = 0;
    double ns = 0; ///< with the engine and the link to itself
};

struct Machine {
    double call_ns = 0;           ///< from one operation's call to the next
    double handover_ns = 0;       ///< from the end of an operation to the start of one that waited for it
    double duplex = 1;            ///< how much longer copies take while another goes the other way
    bool one_copy_engine = false; ///< for both directions
};

struct Slot {
    double start = 0, end = 0; ///< ns since the first call
};

/// `operations` are in the order of their calls. Of those that are ready, an engine takes the one called first.
/// The run time grows with the square of their number.
std::vector<Slot> schedule(std::span<const Operation> operations, const Machine& machine);

/// When the last of them is done; 0 without any.
double makespan(std::span<const Operation> operations, const Machine& machine);

} // namespace umadvisor::rules
