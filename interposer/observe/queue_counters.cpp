#include "interposer/observe/queue_counters.hpp"

#include "interposer/record/clock.hpp"
#include "interposer/record/recorder.hpp"
#include "residency/tools_interface.hpp"

#include <sched.h>

namespace umadvisor::observe {

namespace tools = residency::tools;

QueueCounters::Totals QueueCounters::read(const std::uint64_t* counters) noexcept {
    const auto one = [counters](tools::Counter which) {
        return __atomic_load_n(&counters[which], __ATOMIC_RELAXED);
    };
    return {one(tools::bytes_to_device), one(tools::bytes_to_host), one(tools::host_faults),
            one(tools::device_faults)};
}

trace::ManagedCounters QueueCounters::record_of(const Totals& totals, const Totals& before) noexcept {
    trace::ManagedCounters record;
    record.start = record::now();
    record.bytes_to_device = totals[0] - before[0];
    record.bytes_to_host = totals[1] - before[1];
    record.host_faults = totals[2] - before[2];
    record.device_faults = totals[3] - before[3];
    return record;
}

void QueueCounters::record_change(const std::uint64_t* counters) noexcept {
    const TryLock::Attempt attempt(lock_);
    if (!attempt)
        return;
    const Totals totals = read(counters);
    if (totals == recorded_)
        return;
    recorded_ = totals;
    record::write(record_of(totals, before_));
}

void QueueCounters::begin_recording(const std::uint64_t* counters) noexcept {
    for (;; sched_yield()) // it is held for one record
        if (const TryLock::Attempt attempt(lock_); attempt) {
            before_ = recorded_ = read(counters);
            return;
        }
}

} // namespace umadvisor::observe
