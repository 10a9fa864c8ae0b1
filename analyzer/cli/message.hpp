/// What the commands say beside their results: errors, warnings, what to do next.
#pragma once

#include <fmt/core.h>
#include <string>

namespace umadvisor::cli {

/// Writes one line to stderr, "umadvisor: " before it. Whatever it repeats of others is made plain.
void say(const std::string& line);

/// From now on say() drops a line that would have to wait for its reader. `umadvisor run` needs this: whoever
/// starts a program may keep its stderr open without reading it, and that must not keep the program from
/// ending.
void drop_unread_messages();

} // namespace umadvisor::cli
