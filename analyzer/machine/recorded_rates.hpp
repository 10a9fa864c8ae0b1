/// The prices that a trace carries.
#pragma once

#include "analyzer/machine/rates.hpp"
#include "analyzer/reader/dictionary.hpp"

namespace umadvisor::machine {

/// What moving memory costs on the machine of the run, for the first device of the trace. Where the trace does
/// not say, or what it says cannot be read: Rates{}, which have no device.
Rates recorded_rates(const reader::Dictionary& dictionary);

/// Whether `rates` hold for the time in which a trace's host locks, touches and copies pages. The built-in
/// ones hold for one host and for simcuda, whose model uses them; hosts differ by a factor of three.
bool tell_of_host(const Rates& rates, const reader::Dictionary& dictionary);

} // namespace umadvisor::machine
