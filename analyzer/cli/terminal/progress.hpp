/// A line on the terminal while traces are read and symbols are looked up.
#pragma once

#include "analyzer/symbols/options.hpp"

namespace umadvisor::cli {

/// For symbols::Options: says where it is, once it takes long, and only on a terminal. Empty where stderr is
/// none. From this call on, too, a line says after a second how much of the traces was read and how long the
/// rest takes.
decltype(symbols::Options::progress) symbol_progress();

/// Takes the line away, so that something else can be printed.
void end_progress();

} // namespace umadvisor::cli
