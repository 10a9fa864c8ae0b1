/// Kernels that read and write buffers to which they come in different ways.
#pragma once

#include "tools/bench/random/memory_steps.hpp"
#include "tools/simcuda/portable.hpp"

#include <cstdint>

#ifdef __CUDACC__
#define ON_DEVICE __device__
#else
#define ON_DEVICE
#endif

namespace random_program {

/// So many bytes of a buffer a launch touches at most: from its first on, `stride` apart.
inline constexpr std::size_t touches = 48;

struct Operand {
    unsigned char* at;
    std::size_t bytes;
};

struct Operands {
    std::size_t stride;
    Operand out, in;
    unsigned key;
};

ON_DEVICE inline void combine(DevicePtr<unsigned char> out, std::size_t out_bytes, DevicePtr<unsigned char> in,
                              std::size_t in_bytes, std::size_t stride, unsigned key) {
    const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
         i < touches && i * stride < out_bytes; i += threads) {
        const unsigned before = out[static_cast<std::ptrdiff_t>(i * stride)];
        const unsigned other = in[static_cast<std::ptrdiff_t>(i * stride % in_bytes)];
        out[static_cast<std::ptrdiff_t>(i * stride)] = static_cast<unsigned char>(before * 5 + other + key);
    }
}

} // namespace random_program

/// Changes one buffer.
KERNEL change(DevicePtr<unsigned char> out, std::size_t bytes, std::size_t stride, unsigned key) {
    random_program::combine(out, bytes, out, bytes, stride, key);
}

/// Changes one by what another holds.
KERNEL merge(DevicePtr<unsigned char> out, std::size_t out_bytes, DevicePtr<unsigned char> in,
             std::size_t in_bytes, std::size_t stride, unsigned key) {
    random_program::combine(out, out_bytes, in, in_bytes, stride, key);
}

/// The same, the pointers inside a structure.
KERNEL merge_struct(random_program::Operands given) {
    random_program::combine(given.out.at, given.out.bytes, given.in.at, given.in.bytes, given.stride,
                            given.key);
}

/// The same for each pair of a table in memory.
KERNEL merge_table(DevicePtr<random_program::Operand> table, unsigned pairs, std::size_t stride, unsigned key) {
    for (unsigned i = 0; i < pairs; ++i) {
        const random_program::Operand out = table[2 * i], in = table[2 * i + 1];
        random_program::combine(out.at, out.bytes, in.at, in.bytes, stride, key);
    }
}

MANAGED_ARRAY(unsigned char, random_variable, 1 << 16);

namespace random_program {

inline bool reachable(const Buffer& buffer) {
    return buffer.on_device != nullptr;
}

inline std::size_t any_stride(Worker& worker, const Buffer& out) {
    return worker.random.one_in(2) ? 1 : 1 + out.bytes / touches;
}

inline void launch_change(Worker& worker, Buffer& out, cudaStream_t stream) {
    const std::size_t stride = any_stride(worker, out);
    const auto blocks = static_cast<unsigned>(1 + worker.random.below(3));
    const auto key = static_cast<unsigned>(worker.random.next());
    LAUNCH(change, blocks, 32, stream, out.on_device, out.bytes, stride, key);
    worker.expect(cudaGetLastError());
}

inline void launch_merge(Worker& worker, Buffer& out, Buffer& in, cudaStream_t stream) {
    const std::size_t stride = any_stride(worker, out);
    const auto key = static_cast<unsigned>(worker.random.next());
    if (worker.random.one_in(2)) {
        LAUNCH(merge, 2, 32, stream, out.on_device, out.bytes, in.on_device, in.bytes, stride, key);
    } else {
        const Operands given{stride, {out.on_device, out.bytes}, {in.on_device, in.bytes}, key};
        LAUNCH(merge_struct, 1, 64, stream, given);
    }
    worker.expect(cudaGetLastError());
}

/// Fills the worker's table with `operands`, as a program may: by a copy, or by hand where the host reaches it.
inline Buffer& write_table(Worker& worker, const std::vector<Operand>& operands, Stream& stream) {
    if (worker.table == nullptr || worker.random.one_in(32)) {
        if (worker.table)
            release(worker, *worker.table);
        constexpr Kind kinds[] = {Kind::device, Kind::managed, Kind::registered};
        worker.table = allocate(worker, kinds[worker.random.below(3)], 64 * sizeof(Operand));
    }
    Buffer& table = *worker.table;
    const std::size_t bytes = operands.size() * sizeof(Operand);
    if (table.host_reaches() && worker.random.one_in(2)) {
        worker.settle(table);
        std::memcpy(table.at, operands.data(), bytes);
    } else {
        if (table.on_host()) // the host copies, and need not wait for the stream
            worker.settle(table);
        worker.order(table, stream);
        worker.expect(cudaMemcpyAsync(table.at, operands.data(), bytes, cudaMemcpyDefault, stream.handle));
        // Only where nothing is managed or registered the source is free when the call is back.
        table.last = &stream;
        worker.settle(table);
    }
    return table;
}

inline void launch_table(Worker& worker, Stream& stream) {
    const unsigned pairs = 1 + static_cast<unsigned>(worker.random.below(3));
    std::vector<Buffer*> buffers;
    std::vector<Operand> operands;
    for (unsigned i = 0; i < 2 * pairs; ++i) {
        // An output of one pair may not be an input of another: threads of a kernel are not ordered.
        Buffer* const found = worker.any([&](const Buffer& each) {
            return reachable(each) && std::find(buffers.begin(), buffers.end(), &each) == buffers.end();
        });
        if (!found)
            return;
        buffers.push_back(found);
        operands.push_back({found->on_device, found->bytes});
    }
    Buffer& table = write_table(worker, operands, stream);
    for (Buffer* const buffer : buffers)
        worker.order(*buffer, stream);
    const std::size_t stride = any_stride(worker, *buffers[0]);
    const auto key = static_cast<unsigned>(worker.random.next());
    LAUNCH(merge_table, 1, 32, stream.handle, reinterpret_cast<Operand*>(table.on_device), pairs, stride, key);
    worker.expect(cudaGetLastError());
    for (Buffer* const buffer : buffers)
        buffer->last = &stream;
    table.last = &stream;
}

inline void launch_step(Worker& worker) {
    Stream& stream = worker.any_stream();
    if (worker.random.one_in(4))
        return launch_table(worker, stream);
    Buffer* const out = worker.any(reachable);
    Buffer* const in = worker.any([&](const Buffer& each) { return reachable(each) && &each != out; });
    if (!out || !in)
        return;
    worker.order(*out, stream);
    if (worker.random.one_in(3)) {
        launch_change(worker, *out, stream.handle);
    } else {
        worker.order(*in, stream);
        launch_merge(worker, *out, *in, stream.handle);
        in->last = &stream;
    }
    out->last = &stream;
}

} // namespace random_program
