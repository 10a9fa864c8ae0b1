/// What a flame graph shows: how much each stack of a program weighs.
#pragma once

#include "analyzer/rules/profile.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace umadvisor::reports {

enum class Weight : std::uint8_t { blocked, copied, pageable, allocated, faults };
inline constexpr Weight weights[] = {Weight::blocked, Weight::copied, Weight::pageable, Weight::allocated,
                                     Weight::faults};

/// "blocked" and so on, as options name them.
std::string_view name(Weight weight);
/// "time blocked", "bytes copied", ...
std::string_view words(Weight weight);
/// Nanoseconds, not bytes.
inline bool is_time(Weight weight) {
    return weight == Weight::blocked;
}
/// How many, not bytes.
inline bool is_count(Weight weight) {
    return weight == Weight::faults;
}

struct WeighedSite {
    ids::CallSite site;         ///< entry 0: no call but an access of the host
    std::uint64_t function = 0; ///< of the kernel that is held to have faulted; 0: no kernel
    std::uint64_t weight = 0;   ///< never 0
    bool of_device = false;     ///< faults of a device, and it is not known of which kernel
};

/// Sites in the order of their stacks. Throws reader::Error where the trace has no such weights.
std::vector<WeighedSite> weigh(const rules::Profile& profile, Weight weight);

} // namespace umadvisor::reports
