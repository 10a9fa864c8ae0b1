/// Durations on command lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace umadvisor::cli {

/// Nanoseconds of "30s", "0.5s", "500ms", "2min", "1h", or "30" (seconds). Nothing for anything else, for 0,
/// and for more than a year.
std::optional<std::uint64_t> parse_duration(const std::string& text);

} // namespace umadvisor::cli
