/// Measures what moving memory costs on this machine.
#pragma once

#include "analyzer/machine/rates.hpp"

#include <string>
#include <vector>

namespace umadvisor::machine {

struct Calibration {
    Rates rates;
    std::vector<std::string> unmeasured; ///< sentences: what kept its usual value, and why
};

/// Takes a second or two on device `ordinal` and at most 192 MiB of its memory, a third of it managed. Throws
/// reader::Error where there is no driver or device, or too little free memory.
Calibration calibrate(int ordinal);

} // namespace umadvisor::machine
