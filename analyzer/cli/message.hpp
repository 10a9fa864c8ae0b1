/// What the commands say beside their results: errors, warnings, what to do next.
#pragma once

#include <string>

namespace umadvisor::cli {

/// Writes one line to stderr, "umadvisor: " before it. Whatever it repeats of others is made plain.
void say(const std::string& line);

} // namespace umadvisor::cli
