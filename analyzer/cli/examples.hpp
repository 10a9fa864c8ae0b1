/// Examples for `umadvisor COMMAND --help`.
#pragma once

#include <span>
#include <string_view>

namespace umadvisor::cli {

/// Two command lines of this command.
std::span<const std::string_view> examples_of(std::string_view command);

} // namespace umadvisor::cli
