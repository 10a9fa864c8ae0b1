#pragma once

#include <string>
#include <string_view>

namespace umadvisor::text {

/// A word of a command line, quoted where a shell would not read it back as it is.
std::string shell_word(std::string_view word);
/// The same for a path, which must not look like an option.
std::string shell_path(const std::string& path);

} // namespace umadvisor::text
