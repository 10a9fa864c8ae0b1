#include "interposer/wrappers/placement_batch.hpp"

#include "interposer/act/executor.hpp"
#include "interposer/observe/allocations.hpp"
#include "interposer/observe/managed_watch.hpp"

namespace umadvisor::wrappers {

namespace {

/// Writes `call` once for each range, `fill` having said the rest of it.
template <class Record, class Fill>
void write_ranges(Record& call, const Ranges& ranges, Fill&& fill) noexcept {
    const KeepErrno keep;
    observe::managed_watch().note_change();
    call.batch = 1;
    call.stack = record::stack();
    if (call.status != CUDA_SUCCESS || ranges.count == 0)
        return record::write(call);
    for (std::size_t i = 0; i < ranges.count; ++i) {
        call.address = ranges.addresses[i];
        call.bytes = ranges.sizes[i];
        observe::Allocation allocation;
        call.allocation = observe::allocations().find(call.address, allocation) ? allocation.id : 0;
        fill(i);
        record::write(call);
        ++call.batch;
        call.duration = 0;
    }
}

} // namespace

void finish_prefetches(trace::Prefetch& call, Ranges ranges, RangePlaces places) noexcept {
    std::size_t next = 0;
    write_ranges(call, ranges, [&](std::size_t i) {
        for (; next < places.count && places.first[next] <= i; ++next) {
            const Place place(places.locations[next]);
            call.location = place.location;
            call.location_id = place.id;
        }
        act::note_prefetch(call);
    });
}

void finish_discards(trace::Discard& call, Ranges ranges) noexcept {
    // The driver may drop the pages on either side, or keep them.
    write_ranges(call, ranges,
                 [&](std::size_t) { act::note_unsettled(call.allocation, call.address, call.bytes); });
}

} // namespace umadvisor::wrappers
