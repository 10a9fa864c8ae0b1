/// Many copies in one call, in both ABIs. A record for each copy, after the call: a batch has no bound.
#pragma once

#include "interposer/wrappers/copy.hpp"

#include <tuple>

namespace umadvisor::wrappers {

/// `call` has what all records share. Of a call that failed nothing is known to have been good enough to read:
/// it has one record without ends.
void finish_batch(trace::Copy& call, const CUdeviceptr* destinations, const CUdeviceptr* sources,
                  const std::size_t* sizes, std::size_t count) noexcept;
void finish_batch(trace::Copy& call, const CUDA_MEMCPY3D_BATCH_OP* operations, std::size_t count) noexcept;

struct copy_batch : WhileRecording {
    /// `rest`: attributes; failIdx before CUDA 13.0; the stream.
    template <Entry E, class... Rest>
    static CUresult call(CUdeviceptr* destinations, CUdeviceptr* sources, std::size_t* sizes, std::size_t count,
                         Rest... rest) noexcept {
        trace::Copy record;
        record.stream = stream_of<E>(std::get<CUstream>(std::tuple(rest...)));
        const CUresult result = timed<E>(record, destinations, sources, sizes, count, rest...);
        finish_batch(record, destinations, sources, sizes, count);
        return result;
    }
};

struct copy_rows_batch : WhileRecording {
    /// `rest`: failIdx before CUDA 13.0; flags; the stream.
    template <Entry E, class... Rest>
    static CUresult call(std::size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, Rest... rest) noexcept {
        trace::Copy record;
        record.stream = stream_of<E>(std::get<CUstream>(std::tuple(rest...)));
        const CUresult result = timed<E>(record, count, operations, rest...);
        finish_batch(record, operations, count);
        return result;
    }
};

} // namespace umadvisor::wrappers
