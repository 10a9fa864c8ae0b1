#pragma once

namespace umadvisor::act {

/// Cores that the process may use: by its affinity at the start, and by its control groups. Calls open(2), a
/// cancellation point.
unsigned usable_cores() noexcept;

} // namespace umadvisor::act
