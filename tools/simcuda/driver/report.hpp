#pragma once

#include "tools/simcuda/driver/driver.hpp"

namespace simcuda {

/// Reads SIMCUDA_REPORT and SIMCUDA_CONFIG, a list KEY=VALUE,KEY=VALUE,... of
///     capacity=SIZE        memory of each device, with K, M, G or KiB, MiB, GiB (8GiB)
///     card=FILE            processes that name the same file share the memory of the devices
///     contiguous=1         all devices' memory is one range of `capacity` addresses: it fragments (0)
///     devices=N            number of devices (1)
///     host_nodes=N         NUMA nodes of the host (1), with a device each: device n is nearest to node n % N,
///                          and pinned and registered memory lies on node m % N, where the thread that asks
///                          runs on node m
///     peers=0              devices cannot reach each other's memory: no peer access
///     driver=VERSION       what cuDriverGetVersion answers (13000)
///     concurrent=0         no concurrent managed access: prefetch and advice to a device are refused
///     thrashing=0          the driver's thrashing detection off
///     driver_prefetch=0    the driver's prefetch at faults off
///     tools_queue=0        the tools device of the unified-memory module cannot be opened
///     tools_enables=N      it enables events or counters so often, and then refuses
///     pageable=BYTES       a second, that copies between pageable and device memory move each way (10300000000
///                          to the device, 19400000000 back)
///     fail=ENTRY:N:RESULT  the N-th call of ENTRY (0: each) answers the CUresult RESULT; up to eight
void read_config(Driver& state);
/// Copies the residency model's counters into the control struct. The caller holds the mutex.
void refresh_control(Driver& state);
/// Writes the counters as one JSON object to the file named by SIMCUDA_REPORT, if any. The caller holds the
/// mutex.
void write_report(Driver& state);

} // namespace simcuda
