// Values in memory that streams write and wait for, and callbacks. Everything is carried out at its call, so a
// wait for a value holds nothing back.
#include "tools/simcuda/driver/capture.hpp"
#include "tools/simcuda/driver/stream.hpp"

#include <cstring>

using namespace simcuda;

namespace {

/// Whether `bytes` at the address can be reached by the device of the stream.
CUresult admit(CUstream handle, bool per_thread, CUdeviceptr address, std::size_t bytes, bool& captured) {
    CUstream_st* stream = resolve_stream(handle, per_thread);
    if (!stream) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (address % bytes != 0 || !driver().find(address)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    return admit_operation(*stream, captured);
}

template <class Value>
CUresult write(CUstream stream, bool per_thread, CUdeviceptr address, Value value) {
    const Guard guard(driver().mutex);
    bool captured = false;
    const CUresult refused = admit(stream, per_thread, address, sizeof value, captured);
    if (refused == CUDA_SUCCESS && !captured) {
        std::memcpy(driver().arena.view(address), &value, sizeof value);
    }
    return refused;
}

template <class Value>
CUresult wait(CUstream stream, bool per_thread, CUdeviceptr address, Value) {
    const Guard guard(driver().mutex);
    bool captured = false;
    return admit(stream, per_thread, address, sizeof(Value), captured);
}

CUresult perform(CUstream stream, bool per_thread, const CUstreamBatchMemOpParams& operation) {
    switch (operation.operation) {
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        return write(stream, per_thread, operation.writeValue.address, operation.writeValue.value);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return write(stream, per_thread, operation.writeValue.address, operation.writeValue.value64);
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        return wait(stream, per_thread, operation.waitValue.address, operation.waitValue.value);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return wait(stream, per_thread, operation.waitValue.address, operation.waitValue.value64);
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

} // namespace

SIMCUDA_STREAM_PAIR(cuStreamWriteValue32_v2, _ptsz,
                    (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned),
                    return write(stream, per_thread, address, value);)
SIMCUDA_STREAM_PAIR(cuStreamWriteValue64_v2, _ptsz,
                    (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned),
                    return write(stream, per_thread, address, value);)
SIMCUDA_STREAM_PAIR(cuStreamWaitValue32_v2, _ptsz,
                    (CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned),
                    return wait(stream, per_thread, address, value);)
SIMCUDA_STREAM_PAIR(cuStreamWaitValue64_v2, _ptsz,
                    (CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned),
                    return wait(stream, per_thread, address, value);)
SIMCUDA_STREAM_PAIR(cuStreamBatchMemOp_v2, _ptsz,
                    (CUstream stream, unsigned count, CUstreamBatchMemOpParams* operations, unsigned), {
                        for (unsigned i = 0; i < count; ++i) {
                            if (const CUresult refused = perform(stream, per_thread, operations[i])) {
                                return refused;
                            }
                        }
                        return CUDA_SUCCESS;
                    })

SIMCUDA_STREAM_PAIR(cuStreamAddCallback, _ptsz,
                    (CUstream handle, CUstreamCallback callback, void* data, unsigned flags), {
                        {
                            const Guard guard(driver().mutex);
                            CUstream_st* stream = resolve_stream(handle, per_thread);
                            if (!stream || flags != 0) {
                                return stream ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
                            }
                            bool captured = false;
                            if (const CUresult refused = admit_operation(*stream, captured)) {
                                return refused;
                            }
                            if (captured) {
                                return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
                            }
                        }
                        run_host_function([&] { callback(handle, CUDA_SUCCESS, data); });
                        return CUDA_SUCCESS;
                    })
