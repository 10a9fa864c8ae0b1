#include "analyzer/rules/allocation/allocation_failures.hpp"

#include "analyzer/tables/failed_calls.hpp"

namespace umadvisor::rules {

void AllocationFailures::add(const trace::Alloc& record) {
    untold_ = untold_ || record.memory == trace::Memory::managed || dictionary_.is_stream_ordered(record.entry);
    if (untold_ || (record.memory != trace::Memory::device && record.memory != trace::Memory::array))
        return;
    if (record.status == 0) {
        live_[record.allocation] = record.bytes;
        live_bytes_ += record.bytes;
    } else if (record.status == tables::out_of_memory && record.memory == trace::Memory::device) {
        FailureTotals& totals = sites_[{record.stack, record.entry}];
        ++totals.count;
        if (record.bytes > totals.bytes) {
            totals.bytes = record.bytes;
            totals.live_bytes = live_bytes_;
            totals.freed_bytes = freed_bytes_;
        }
    }
}

void AllocationFailures::add(const trace::Free& record) {
    const std::uint64_t* const bytes = live_.find(record.allocation);
    if (record.status != 0 || bytes == nullptr)
        return;
    live_bytes_ -= *bytes;
    freed_bytes_ += *bytes;
    live_.erase(record.allocation);
}

} // namespace umadvisor::rules
