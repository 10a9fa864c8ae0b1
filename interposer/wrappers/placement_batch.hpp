/// Prefetches and discards of many ranges in one call. A record for each range, after the call.
#pragma once

#include "interposer/wrappers/placement.hpp"

namespace umadvisor::wrappers {

struct Ranges {
    const CUdeviceptr* addresses;
    const std::size_t* sizes;
    std::size_t count;
};

/// Location k applies to the ranges from `first[k]` on.
struct RangeLocations {
    const CUmemLocation* locations;
    const std::size_t* first;
    std::size_t count;
};

/// Samples the residency of ranges that are to be prefetched to a device; of many ranges only the first.
void begin_prefetches(const trace::Prefetch& call, Ranges ranges, RangeLocations targets) noexcept;

/// `call` has what all records share. The arguments of a call that failed may be invalid and are not read, so
/// it has one record without a range.
void finish_prefetches(trace::Prefetch& call, Ranges ranges, RangeLocations targets) noexcept;
void finish_discards(trace::Discard& call, Ranges ranges) noexcept;

struct prefetch_batch : WhileRecording {
    template <Entry E>
    static CUresult call(CUdeviceptr* addresses, std::size_t* sizes, std::size_t count,
                         CUmemLocation* locations, std::size_t* first, std::size_t location_count,
                         unsigned long long flags, CUstream stream) noexcept {
        trace::Prefetch record;
        record.stream = stream_of<E>(stream);
        record.discarded =
            E == Entry::cuMemDiscardAndPrefetchBatchAsync || E == Entry::cuMemDiscardAndPrefetchBatchAsync_ptsz;
        begin_prefetches(record, {addresses, sizes, count}, {locations, first, location_count});
        const CUresult result =
            timed<E>(record, addresses, sizes, count, locations, first, location_count, flags, stream);
        finish_prefetches(record, {addresses, sizes, count}, {locations, first, location_count});
        return result;
    }
};

struct discard_batch : WhileRecording {
    template <Entry E>
    static CUresult call(CUdeviceptr* addresses, std::size_t* sizes, std::size_t count,
                         unsigned long long flags, CUstream stream) noexcept {
        trace::Discard record;
        record.stream = stream_of<E>(stream);
        const CUresult result = timed<E>(record, addresses, sizes, count, flags, stream);
        finish_discards(record, {addresses, sizes, count});
        return result;
    }
};

} // namespace umadvisor::wrappers
