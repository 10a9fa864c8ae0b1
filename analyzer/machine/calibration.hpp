/// Measures what moving memory costs on this machine.
#pragma once

#include "analyzer/machine/rates.hpp"

#include <string>
#include <vector>

namespace umadvisor::machine {

struct Calibration {
    Rates rates;                         ///< zero where not measured
    std::vector<std::string> unmeasured; ///< sentences: what, and why
};

/// On device `ordinal`, with at most 192 MiB of its memory, a third of it managed. Throws
/// reader::Error where there is no driver or device, or too little free memory.
Calibration calibrate(int ordinal);

} // namespace umadvisor::machine
