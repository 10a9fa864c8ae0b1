/// What the commands say beside their results: errors, warnings, what to do next.
#pragma once

#include <string>

namespace umadvisor::cli {

/// Writes one line to stderr, "umadvisor: " before it. Whatever it repeats of others is made plain.
void say(const std::string& line);

/// From now on a line that nobody reads now is dropped. Of `umadvisor run`: whoever starts a program may keep
/// its stderr open without reading it, and the program alone would end.
void never_wait_to_say();

} // namespace umadvisor::cli
