/// How much is recorded of launches (runtime::LaunchDetail).
#pragma once

#include <atomic>

namespace umadvisor::observe {

namespace detail {
extern constinit std::atomic<bool> brief_launches;
}

/// Whether launches are recorded by kernel, shape, stream and time alone. One load.
inline bool launches_are_brief() noexcept {
    return detail::brief_launches.load(std::memory_order_relaxed);
}

/// Sets it as the options say, with a Notice. Called once there is a trace.
void begin_brief_launches() noexcept;

/// The program has managed memory of its own, so launches are recorded in full from now on, unless the options
/// ask for brief records.
void note_own_managed_memory() noexcept;

} // namespace umadvisor::observe
