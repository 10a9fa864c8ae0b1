/// What a flame graph shows: how much each stack of a program weighs.
#pragma once

#include "analyzer/rules/profile.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::html {
struct Timeline;
}

namespace umadvisor::reports {

enum class Weight : std::uint8_t { time, copied, pageable, allocated, faults };
inline constexpr Weight weights[] = {Weight::time, Weight::copied, Weight::pageable, Weight::allocated,
                                     Weight::faults};

/// "copied" and so on, as options name them.
std::string_view name(Weight weight);
/// "time", "bytes copied", ...
std::string_view words(Weight weight);
/// The same as the head of an output, which says where overlapped work counts.
std::string title(Weight weight);
/// Nanoseconds, not bytes.
inline bool is_time(Weight weight) {
    return weight == Weight::time;
}
/// How many, not bytes.
inline bool is_count(Weight weight) {
    return weight == Weight::faults;
}

struct WeighedSite {
    ids::CallSite site;         ///< entry 0: no call
    std::uint64_t function = 0; ///< of the kernel that is held to have faulted; 0: no kernel
    std::uint64_t weight = 0;   ///< never 0
    std::string_view outer{};   ///< a frame that stands for unknown callers
    std::string_view inner{};   ///< a frame below the call, or in its place: what its time went into
    std::string thread{};       ///< the outermost frame; empty: of all threads, or of the only one
};

/// Sites in the order of their stacks. Throws reader::Error where the trace has no such weights. Time is that
/// of `timeline`: of the main thread all that the page's bar holds, of the others that in calls.
std::vector<WeighedSite> weigh(const rules::Profile& profile, Weight weight,
                               const html::Timeline* timeline = nullptr);

} // namespace umadvisor::reports
