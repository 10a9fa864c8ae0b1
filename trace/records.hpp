/// Every record of the format, and the way from a type number to its record.
#pragma once

#include "trace/copy_records.hpp"
#include "trace/definitions.hpp"
#include "trace/event_records.hpp"
#include "trace/graph_records.hpp"
#include "trace/lifecycle_records.hpp"
#include "trace/managed_records.hpp"
#include "trace/memory_records.hpp"
#include "trace/python_records.hpp"

namespace umadvisor::trace {

/// Calls `v.template operator()<R>()` for the record of `type`; false where this version knows none.
template <class Visitor>
bool visit_type(Type type, Visitor&& v) {
    switch (type) {
#define UMADVISOR_RECORD(R)                                                                                    \
    case R::type:                                                                                              \
        v.template operator()<R>();                                                                            \
        return true
        UMADVISOR_RECORD(LaunchShape);
        UMADVISOR_RECORD(Launch);
        UMADVISOR_RECORD(Alloc);
        UMADVISOR_RECORD(Free);
        UMADVISOR_RECORD(Copy);
        UMADVISOR_RECORD(Set);
        UMADVISOR_RECORD(Sync);
        UMADVISOR_RECORD(Stream);
        UMADVISOR_RECORD(Event);
        UMADVISOR_RECORD(Prefetch);
        UMADVISOR_RECORD(Advise);
        UMADVISOR_RECORD(Residency);
        UMADVISOR_RECORD(DeviceTime);
        UMADVISOR_RECORD(GpuModule);
        UMADVISOR_RECORD(Clock);
        UMADVISOR_RECORD(VirtualMemory);
        UMADVISOR_RECORD(Pool);
        UMADVISOR_RECORD(Context);
        UMADVISOR_RECORD(Peer);
        UMADVISOR_RECORD(HostFunction);
        UMADVISOR_RECORD(Range);
        UMADVISOR_RECORD(Pause);
        UMADVISOR_RECORD(Ipc);
        UMADVISOR_RECORD(External);
        UMADVISOR_RECORD(Discard);
        UMADVISOR_RECORD(Attach);
        UMADVISOR_RECORD(ManagedEvent);
        UMADVISOR_RECORD(ManagedCounters);
        UMADVISOR_RECORD(ManagedDetail);
        UMADVISOR_RECORD(Content);
        UMADVISOR_RECORD(Comparison);
        UMADVISOR_RECORD(Query);
        UMADVISOR_RECORD(GraphLaunch);
        UMADVISOR_RECORD(Graph);
        UMADVISOR_RECORD(Entry);
        UMADVISOR_RECORD(String);
        UMADVISOR_RECORD(Process);
        UMADVISOR_RECORD(Thread);
        UMADVISOR_RECORD(Device);
        UMADVISOR_RECORD(Driver);
        UMADVISOR_RECORD(Option);
        UMADVISOR_RECORD(Module);
        UMADVISOR_RECORD(Frame);
        UMADVISOR_RECORD(Function);
        UMADVISOR_RECORD(HostRange);
        UMADVISOR_RECORD(UnknownLookup);
        UMADVISOR_RECORD(Runtime);
        UMADVISOR_RECORD(Notice);
        UMADVISOR_RECORD(GraphNode);
        UMADVISOR_RECORD(Interpreter);
        UMADVISOR_RECORD(PythonCode);
        UMADVISOR_RECORD(PythonLines);
        UMADVISOR_RECORD(PythonFrame);
        UMADVISOR_RECORD(ManagedSource);
        UMADVISOR_RECORD(HostReturn);
        UMADVISOR_RECORD(PeerLink);
#undef UMADVISOR_RECORD
    }
    return false;
}

} // namespace umadvisor::trace
