#include "interposer/control/sample.hpp"
#include "interposer/observe/allocations.hpp"
#include "interposer/observe/managed_watch.hpp"
#include "interposer/record/clock.hpp"

namespace umadvisor::control {

void take(Sample& sample) noexcept {
    sample.time_ns = record::monotonic_nanoseconds();
    record::read_totals(sample.totals);
    if (trace::ManagedCounters now; observe::managed_watch().read_totals(now)) {
        sample.totals.managed_bytes_to_device = now.bytes_to_device;
        sample.totals.managed_bytes_to_host = now.bytes_to_host;
        sample.totals.host_faults = now.host_faults;
        sample.totals.device_faults = now.device_faults;
    }
    const observe::AllocationIndex& live = observe::allocations();
    sample.device_bytes = live.bytes_of(trace::Memory::device);
    sample.managed_bytes = live.bytes_of(trace::Memory::managed);
    sample.pinned_bytes = live.bytes_of(trace::Memory::pinned) + live.bytes_of(trace::Memory::registered);
    sample.allocations = live.count() + observe::arrays().count();
}

} // namespace umadvisor::control
