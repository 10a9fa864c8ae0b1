/// The prices of this machine, which a trace carries so that its report is the same on any other.
#pragma once

#include <string_view>

namespace umadvisor::runtime {

/// Remembers where `umadvisor calibrate` keeps them. Called once, from the library's constructor.
void remember_rates_file() noexcept;

/// Defines those of the device of this name, if the file has them.
void define_machine_rates(std::string_view device) noexcept;

/// The object of a device in the text of such a file; empty: it has none.
std::string_view rates_of_device(std::string_view file, std::string_view device) noexcept;

} // namespace umadvisor::runtime
