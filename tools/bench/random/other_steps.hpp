/// Streams that come and go, functions on the host, and calls that are to fail.
#pragma once

#include "tools/bench/random/memory_steps.hpp"

namespace random_program {

inline void stream_step(Worker& worker) {
    constexpr std::size_t kept = 5; ///< of which two capture
    if (worker.own.size() < 8)
        return worker.add_stream(worker.random.one_in(2) ? cudaStreamDefault : cudaStreamNonBlocking);
    auto& chosen = worker.own[kept + worker.random.below(worker.own.size() - kept)];
    for (const auto& buffer : worker.buffers)
        if (buffer->last == chosen.get())
            worker.settle(*buffer);
    if (worker.table && worker.table->last == chosen.get())
        worker.settle(*worker.table);
    worker.expect(cudaStreamDestroy(chosen->handle));
    std::swap(chosen, worker.own.back());
    worker.own.pop_back();
}

struct HostWork {
    unsigned char* at;
    std::size_t bytes;
    unsigned char key;
};

inline void CUDART_CB run_on_host(void* given) {
    const std::unique_ptr<HostWork> work(static_cast<HostWork*>(given));
    for (std::size_t i = 0; i < work->bytes; ++i)
        work->at[i] = static_cast<unsigned char>(work->at[i] * 3 + work->key);
}

/// Bytes change on the host, in the stream's order.
inline void host_function_step(Worker& worker) {
    Buffer* const buffer = worker.any([](const Buffer& each) { return each.host_reaches(); });
    if (!buffer)
        return;
    Stream& stream = worker.any_stream();
    worker.order(*buffer, stream);
    const std::size_t bytes = worker.random.length(std::min<std::size_t>(buffer->bytes, 4096));
    auto* const work =
        new HostWork{worker.any_place(*buffer, bytes), bytes, static_cast<unsigned char>(worker.random.next())};
    worker.expect(cudaLaunchHostFunc(stream.handle, run_on_host, work));
    buffer->last = &stream;
}

/// What kind of memory the driver takes an address for; of memory that --act leaves as it is.
inline void attributes_step(Worker& worker) {
    Buffer* const buffer = worker.any([](const Buffer& each) { return each.host_reaches(); });
    if (!buffer)
        return;
    cudaPointerAttributes attributes{};
    worker.expect(cudaPointerGetAttributes(&attributes, buffer->at + worker.random.below(buffer->bytes)));
    worker.digest.add(static_cast<std::uint64_t>(attributes.type));
}

inline void invalid_step(Worker& worker) {
    void* made = nullptr;
    char bytes[64] = {};
    const cudaStream_t stream = worker.any_stream().handle;
    Buffer* const memory = worker.any([](const Buffer& each) { return each.only_device(); });
    switch (worker.random.below(10)) {
    case 0: // rarely: an action that fails often switches itself off
        if (!worker.random.one_in(16))
            return;
        return worker.see(cudaMalloc(&made, std::size_t{1} << 50));
    case 1:
        return worker.see(cudaMallocManaged(&made, 0, cudaMemAttachGlobal));
    case 2:
        return worker.see(cudaMemcpy(nullptr, bytes, sizeof bytes, cudaMemcpyHostToDevice));
    case 3:
        return worker.see(cudaMemcpyAsync(bytes, nullptr, sizeof bytes, cudaMemcpyDeviceToHost, stream));
    case 4:
        return worker.see(cudaFree(bytes));
    case 5:
        return worker.see(cudaMemcpy2D(bytes, 4, bytes + 32, 4, 8, 2, cudaMemcpyHostToHost));
    case 6:
        return worker.see(cudaHostUnregister(bytes));
    case 7:
        return memory ? worker.see(cudaFreeHost(memory->at)) : void();
    case 8: // the wrong direction
        if (memory == nullptr)
            return;
        worker.settle(*memory);
        return worker.see(
            cudaMemcpy(memory->at, bytes, std::min(sizeof bytes, memory->bytes), cudaMemcpyDeviceToHost));
    default:
        return worker.see(cudaStreamWaitEvent(stream, nullptr, 0));
    }
}

} // namespace random_program
