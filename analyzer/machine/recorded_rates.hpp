/// The prices that a trace carries.
#pragma once

#include "analyzer/machine/rates.hpp"
#include "analyzer/reader/dictionary.hpp"

namespace umadvisor::machine {

/// What moving memory costs on the machine of the run, for the first device of the trace. Where the trace does
/// not say, or what it says cannot be read: Rates{}, which have no device.
Rates recorded_rates(const reader::Dictionary& dictionary);

/// Whether `rates` tell what the host of a trace takes to lock, touch and copy pages. The built-in ones tell it
/// of one host and of simcuda, whose model charges them; hosts differ by three times.
bool tell_of_host(const Rates& rates, const reader::Dictionary& dictionary);

} // namespace umadvisor::machine
