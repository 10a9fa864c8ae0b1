/// How soon a call must follow another to count as following at once.
#pragma once

namespace umadvisor::facts {

/// The host does nothing of its own in so little time.
inline constexpr double at_once_ns = 20'000;

} // namespace umadvisor::facts
