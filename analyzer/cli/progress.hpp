/// A line on the terminal while symbols are looked up.
#pragma once

#include "analyzer/symbols/options.hpp"

namespace umadvisor::cli {

/// For symbols::Options: says where it is, once it takes long, and only on a terminal. Empty where stderr is
/// none.
decltype(symbols::Options::progress) symbol_progress();

/// Takes the line away, so that something else can be printed.
void end_progress();

} // namespace umadvisor::cli
