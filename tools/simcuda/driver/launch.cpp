// Kernel launches. A kernel is carried out at once, on the calling thread and without the driver's lock; its
// place in time is the stream's.
#include "tools/simcuda/driver/capture.hpp"
#include "tools/simcuda/driver/graph.hpp"
#include "tools/simcuda/driver/kernel_run.hpp"
#include "tools/simcuda/driver/stream.hpp"
#include "tools/simcuda/driver/work.hpp"

namespace simcuda {

const CUkern_st* find_kernel(CUfunction function) {
    const Driver& state = driver();
    if (state.functions.contains(function)) {
        return function->kernel;
    }
    if (state.kernels.contains(function)) {
        return reinterpret_cast<const CUkern_st*>(function);
    }
    return nullptr;
}

const char* packed_parameters(void** extra) {
    for (; extra && extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
            return static_cast<const char*>(extra[1]);
        }
    }
    return nullptr;
}

bool good_shape(const Shape& shape) {
    const std::uint64_t threads = 1ull * shape.block[0] * shape.block[1] * shape.block[2];
    const std::uint64_t blocks = 1ull * shape.grid[0] * shape.grid[1] * shape.grid[2];
    return threads != 0 && threads <= 1024 && blocks != 0;
}

void run_kernel(const KernelEntry& entry, void** parameters, const Shape& shape, CUstream_st* stream,
                int device) {
    Driver& state = driver();
    KernelRun run(device, shape);
    entry.run(parameters, shape);

    const Guard guard(state.mutex);
    // Another thread may have destroyed the stream meanwhile, as it may while a real kernel runs.
    if (state.streams.contains(stream)) {
        const Nanoseconds start = earliest_start(*stream, Engine::compute);
        occupy(*stream, Engine::compute, start + run.finish(start));
        if (run.illegal()) {
            stream->context->sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
        }
    }
}

} // namespace simcuda

using namespace simcuda;

namespace {

constexpr std::size_t parameter_limit = 1024;

CUresult launch(CUfunction function, const Shape& shape, unsigned shared_bytes, CUstream handle,
                bool per_thread, void** parameters, void** extra) {
    Driver& state = driver();
    const KernelEntry* entry = nullptr;
    CUstream_st* stream = nullptr;
    int device = 0;
    {
        const Guard guard(state.mutex);
        const CUkern_st* kernel = find_kernel(function);
        stream = resolve_stream(handle, per_thread);
        if (!kernel || !stream) {
            return CUDA_ERROR_INVALID_HANDLE;
        }
        entry = kernel->entry;
        const char* packed = packed_parameters(extra);
        if (!good_shape(shape) || entry->parameter_count > parameter_limit ||
            (entry->parameter_count && !parameters && !packed)) {
            return CUDA_ERROR_INVALID_VALUE;
        }
        bool captured = false;
        if (const CUresult refused = admit_operation(*stream, captured); refused) {
            return refused;
        }
        if (captured) {
            KernelWork work;
            const CUresult failed =
                kernel_work(work, function, nullptr, shape, shared_bytes, parameters, extra);
            return failed ? failed : capture_work(*stream, std::move(work));
        }
        ++state.control.launches;
        state.clock.advance(state.prices.launch_call);
        device = stream->context->device;
    }

    std::vector<void*> unpacked;
    if (!parameters) {
        unpacked.resize(entry->parameter_count);
        char* packed = const_cast<char*>(packed_parameters(extra));
        for (std::size_t index = 0; index < entry->parameter_count; ++index) {
            unpacked[index] = packed + entry->parameter_offsets[index];
        }
        parameters = unpacked.data();
    }
    run_kernel(*entry, parameters, shape, stream, device);
    return CUDA_SUCCESS;
}

} // namespace

#define SIMCUDA_SHAPE                                                                                          \
    Shape {                                                                                                    \
        {grid_x, grid_y, grid_z}, {                                                                            \
            block_x, block_y, block_z                                                                          \
        }                                                                                                      \
    }

SIMCUDA_STREAM_PAIR(cuLaunchKernel, _ptsz,
                    (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                     unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** parameters,
                     void** extra),
                    return launch(function, SIMCUDA_SHAPE, shared, stream, per_thread, parameters, extra);)

SIMCUDA_STREAM_PAIR(cuLaunchCooperativeKernel, _ptsz,
                    (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                     unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** parameters),
                    return launch(function, SIMCUDA_SHAPE, shared, stream, per_thread, parameters, nullptr);)

SIMCUDA_STREAM_PAIR(cuLaunchKernelEx, _ptsz,
                    (const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra), {
                        const Shape shape{{config->gridDimX, config->gridDimY, config->gridDimZ},
                                          {config->blockDimX, config->blockDimY, config->blockDimZ}};
                        return launch(function, shape, config->sharedMemBytes, config->hStream, per_thread,
                                      parameters, extra);
                    })
