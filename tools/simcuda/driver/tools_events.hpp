#pragma once

#include "residency/observer.hpp"

namespace simcuda {

namespace residency = umadvisor::residency;

/// The host thread that is stopped at a fault.
struct FaultingThread {
    std::uint32_t id = 0;
    std::uint64_t program_counter = 0; ///< 0: not known
};

/// Writes what happens in the model to the rings and counters of the tools device, in the entries that the
/// module writes (uvm_tools.c of driver 580). It writes no eviction entry, as no branch does whose source was
/// read: what is evicted shows as migrations with that cause. The caller of the model holds the driver's mutex.
class ToolsEvents : public residency::Observer {
public:
    void set_faulting_thread(const FaultingThread& thread) { thread_ = thread; }

    void host_fault(const residency::HostFault& fault) override;
    void device_fault(const residency::DeviceFault& fault) override;
    void migrated(const residency::Migration& migration) override;
    void thrashing_found(const residency::Thrashing& found) override;
    void throttled(const residency::Throttling& wait) override;
    void remote_mapped(const residency::RemoteMapping& mapping) override;
    void read_duplicated(const residency::ReadDuplicate& made) override;
    void read_duplicate_ended(const residency::ReadDuplicateEnd& end) override;

private:
    FaultingThread thread_;
};

} // namespace simcuda
