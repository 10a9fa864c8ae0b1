/// A line on the terminal while traces are read and symbols are looked up.
#pragma once

#include "analyzer/symbols/options.hpp"

#include <cstddef>

namespace umadvisor::cli {

/// From this call on a line says after a second how much of the traces was read and how long the rest takes.
/// Each is read so many times; one of so many `chunks` is open already. Nothing is shown where stderr is no
/// terminal. Ends with the first symbol that is looked up.
void show_reading(double passes, std::size_t chunks = 0);

/// For symbols::Options: says where it is, once it takes long, and only on a terminal. Empty where stderr is
/// none. Begins with show_reading() of a report.
decltype(symbols::Options::progress) symbol_progress();

/// Takes the line away, so that something else can be printed.
void end_progress();

} // namespace umadvisor::cli
