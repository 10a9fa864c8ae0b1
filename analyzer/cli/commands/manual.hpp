/// Manual pages, in the language of scdoc(5), from the lists of commands, options and variables.
#pragma once

#include <iosfwd>

namespace umadvisor::cli {

/// umadvisor(1).
void write_command_manual(std::ostream& out);

/// libumadvisor(7): the variables of the shim.
void write_shim_manual(std::ostream& out);

} // namespace umadvisor::cli
