/// Many copies in one call, in both ABIs. A record for each copy, after the call: a batch has no bound.
#pragma once

#include "interposer/wrappers/copy.hpp"

#include <tuple>

namespace umadvisor::wrappers {

/// `call` has what all records share. The arguments of a call that failed may be invalid and are not read, so
/// it has one record without ends.
void finish_batch(trace::Copy& call, const CUdeviceptr* destinations, const CUdeviceptr* sources,
                  const std::size_t* sizes, std::size_t count) noexcept;
void finish_batch(trace::Copy& call, const CUDA_MEMCPY3D_BATCH_OP* operations, std::size_t count) noexcept;

CopyBox box_of(const CUDA_MEMCPY3D_BATCH_OP& operation) noexcept;

/// One copy, with attributes as batches have them.
struct copy_with_attributes : WhileRecording {
    template <Entry E>
    static CUresult call(CUdeviceptr destination, CUdeviceptr source, std::size_t bytes,
                         CUmemcpyAttributes* attributes, CUstream stream) noexcept {
        return copy_later<E>({destination, source, bytes}, stream, destination, source, bytes, attributes,
                             stream);
    }
};

struct copy_rows_with_attributes : WhileRecording {
    template <Entry E>
    static CUresult call(CUDA_MEMCPY3D_BATCH_OP* operation, unsigned long long flags,
                         CUstream stream) noexcept {
        return copy_later<E>(operation != nullptr ? box_of(*operation) : CopyBox(), stream, operation, flags,
                             stream);
    }
};

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
