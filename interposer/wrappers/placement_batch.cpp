#include "interposer/wrappers/placement_batch.hpp"

#include "interposer/act/action.hpp"
#include "interposer/observe/allocations.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/managed_watch.hpp"
#include "interposer/observe/residency_sampler.hpp"
#include "interposer/record/checked_read.hpp"
#include "interposer/record/off_stack.hpp"

#include <algorithm>

namespace umadvisor::wrappers {

namespace {

/// Writes `call` once for each range; `fill(i)` fills in the rest.
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
        call.allocation =
            trace::AllocationId{observe::allocations().find(call.address, allocation) ? allocation.id : 0};
        fill(i);
        record::write(call);
        ++call.batch;
        call.duration = 0;
    }
}

/// The location for range `i`; null if there is none. `next` is the state between calls for ascending ranges.
const CUmemLocation* location_of(std::size_t i, const RangeLocations& targets, std::size_t& next) {
    while (next < targets.count && targets.first[next] <= i)
        ++next;
    return next != 0 ? &targets.locations[next - 1] : nullptr;
}

constexpr std::size_t most_looked_at = 256;

/// Copies the program's arguments before the driver has checked them.
template <class Value>
bool copy_given(Value* to, const Value* given, std::size_t count) {
    return record::read_checked(to, reinterpret_cast<std::uintptr_t>(given), count * sizeof(Value));
}

} // namespace

void begin_prefetches(const trace::Prefetch& call, Ranges ranges, RangeLocations targets) noexcept {
    const KeepErrno keep;
    if (!observe::residency_sampler().works() || observe::allocations().managed_count() == 0 ||
        observe::is_captured(reinterpret_cast<CUstream>(call.stream)))
        return;
    struct Given {
        CUdeviceptr addresses[most_looked_at];
        CUmemLocation locations[most_looked_at];
        std::size_t first[most_looked_at];
    };
    const record::OffStack<Given> given;
    auto& [addresses, locations, first] = *given;
    const std::size_t count = std::min(ranges.count, most_looked_at);
    const std::size_t location_count = std::min(targets.count, most_looked_at);
    if (!copy_given(addresses, ranges.addresses, count) ||
        !copy_given(locations, targets.locations, location_count) ||
        !copy_given(first, targets.first, location_count))
        return;
    const RangeLocations copied{locations, first, location_count};
    for (std::size_t i = 0, next = 0; i < count; ++i) {
        const CUmemLocation* const to = location_of(i, copied, next);
        if (to != nullptr && MemoryLocation(*to).kind == trace::Location::device)
            look_before_prefetch(addresses[i]);
    }
}

void finish_prefetches(trace::Prefetch& call, Ranges ranges, RangeLocations targets) noexcept {
    std::size_t next = 0;
    write_ranges(call, ranges, [&](std::size_t i) {
        if (const CUmemLocation* const to = location_of(i, targets, next); to != nullptr) {
            const MemoryLocation location(*to);
            call.location = location.kind;
            call.location_id = location.id;
        }
        act::notify<&act::Action::on_prefetch>(call);
    });
}

void finish_discards(trace::Discard& call, Ranges ranges) noexcept {
    // The driver may drop the pages on either side, or keep them.
    write_ranges(call, ranges, [&](std::size_t) {
        act::notify<&act::Action::on_move>(number(call.allocation), call.address, call.bytes);
    });
}

} // namespace umadvisor::wrappers
