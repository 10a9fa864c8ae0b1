/// The memory that a program has at a moment.
#pragma once

#include "analyzer/reader/flat_map.hpp"
#include "trace/event_records.hpp"

#include <cstdint>

namespace umadvisor::facts {

/// Each allocation that was made and not yet freed, as the record of its call has it. Memory: that record for
/// each live allocation.
class LiveMemory {
public:
    /// To be called before others count the record.
    void add(const trace::Alloc& record) {
        if (record.status == 0 && record.captured == 0)
            live_[record.allocation] = record;
    }
    /// To be called after others have counted the record: they may still ask for what it frees.
    void remove(const trace::Free& record) {
        if (record.status == 0 && record.captured == 0)
            live_.erase(record.allocation);
    }
    /// By its id. Null: it is not known, or was freed. The pointer holds until the next record.
    const trace::Alloc* find(trace::AllocationId allocation) const {
        return known(allocation) ? live_.find(allocation) : nullptr;
    }

private:
    reader::FlatMap<trace::Alloc, trace::AllocationId> live_;
};

} // namespace umadvisor::facts
