/// Records to fill a trace with.
#pragma once

#include "interposer/record/recorder.hpp"
#include "trace/records.hpp"

#include <cstdint>
#include <string>

namespace umadvisor::record {

/// Synchronisations, and now and then what comes with them: a count, a look at the clock, a new string.
inline void write_syncs(std::uint64_t count) {
    trace::Sync sync;
    for (std::uint64_t i = 0; i < count; ++i) {
        sync.start = record::now();
        sync.object = i + 1;
        record::write(sync);
        if (i % 64 == 0) {
            __atomic_fetch_add(&umadvisor_counters[3], 1, __ATOMIC_RELAXED); // as the exports do
            record::renew_clock();
        }
        if (i % 1000 == 0)
            record::string_id("text " + std::to_string(i));
    }
}

} // namespace umadvisor::record
