#pragma once

#include "tools/simcuda/driver/driver.hpp"

namespace simcuda {

/// Reads SIMCUDA_CONFIG ("capacity=1GiB,devices=2,fail=ENTRY:NTH:RESULT,...") and SIMCUDA_REPORT.
void read_config(Driver& state);
/// Copies the residency model's counters into the control struct. The caller holds the mutex.
void refresh_control(Driver& state);
/// Writes the counters as one JSON object to the file named by SIMCUDA_REPORT, if any. The caller holds the
/// mutex.
void write_report(Driver& state);

} // namespace simcuda
