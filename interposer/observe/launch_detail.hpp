/// How much is recorded of launches (runtime::LaunchDetail).
#pragma once

#include <atomic>

namespace umadvisor::observe {

namespace detail {
extern constinit std::atomic<bool> brief_launches;
}

/// Launches are told by kernel, shape, stream and time alone. One load.
inline bool launches_are_brief() noexcept {
    return detail::brief_launches.load(std::memory_order_relaxed);
}

/// As the options want it, with a Notice. Once there is a trace.
void begin_brief_launches() noexcept;

/// The program has managed memory of its own: what launches do to it is told from now on, unless the options
/// want all of them brief.
void note_own_managed_memory() noexcept;

} // namespace umadvisor::observe
