/// Allocations of every kind and their ends, and what the host does to them.
#pragma once

#include "tools/bench/random/worker.hpp"

#include <bit>

namespace random_program {

inline constexpr std::size_t page = 4096;

inline void* pages(std::size_t bytes) {
    return std::aligned_alloc(page, (bytes + page - 1) / page * page);
}

/// From a pool of the worker's own, or from the device's.
inline void allocate_pooled(Worker& worker, Buffer& made) {
    Stream& stream = worker.any_stream();
    if (worker.random.one_in(2)) {
        worker.expect(cudaMallocAsync(reinterpret_cast<void**>(&made.at), made.bytes, stream.handle));
    } else {
        if (worker.pool == nullptr) {
            CUmemPoolProps properties{};
            properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
            properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
            worker.expect(driver().make_pool(&worker.pool, &properties));
        }
        CUdeviceptr address = 0;
        worker.expect(driver().allocate_from_pool(&address, made.bytes, worker.pool, stream.handle));
        made.at = reinterpret_cast<unsigned char*>(address);
    }
    made.last = &stream;
}

inline void allocate_host(Worker& worker, Buffer& made) {
    if (made.kind == Kind::pinned) {
        const unsigned flags[] = {cudaHostAllocDefault, cudaHostAllocPortable, cudaHostAllocMapped};
        worker.expect(
            cudaHostAlloc(reinterpret_cast<void**>(&made.at), made.bytes, flags[worker.random.below(3)]));
        made.on_device = made.at;
        return;
    }
    made.at = static_cast<unsigned char*>(pages(made.bytes));
    if (made.kind == Kind::registered) {
        worker.expect(cudaHostRegister(made.at, made.bytes, cudaHostRegisterDefault));
        worker.expect(cudaHostGetDevicePointer(reinterpret_cast<void**>(&made.on_device), made.at, 0));
    }
}

inline void fill(Worker& worker, Buffer& made) {
    if (made.host_reaches() && (!made.is_managed() || worker.random.one_in(2))) {
        worker.random.fill(made.at, made.bytes);
        return;
    }
    Stream& stream = made.last ? *made.last : worker.any_stream();
    worker.expect(
        cudaMemsetAsync(made.at, static_cast<int>(worker.random.below(256)), made.bytes, stream.handle));
    made.last = &stream;
}

inline std::unique_ptr<Buffer> allocate(Worker& worker, Kind kind, std::size_t bytes) {
    std::unique_ptr<Buffer> made(new Buffer{kind});
    made->bytes = bytes;
    switch (kind) {
    case Kind::device:
        worker.expect(cudaMalloc(reinterpret_cast<void**>(&made->at), bytes));
        break;
    case Kind::pitched: {
        const std::size_t width = worker.random.length(bytes);
        std::size_t pitch = 0;
        const std::size_t height = std::max<std::size_t>(1, bytes / (width + 512));
        worker.expect(cudaMallocPitch(reinterpret_cast<void**>(&made->at), &pitch, width, height));
        made->bytes = pitch * height;
        break;
    }
    case Kind::pooled:
        allocate_pooled(worker, *made);
        break;
    case Kind::managed:
        worker.expect(cudaMallocManaged(reinterpret_cast<void**>(&made->at), bytes, cudaMemAttachGlobal));
        break;
    default:
        allocate_host(worker, *made);
    }
    if (!made->on_host())
        made->on_device = made->at;
    if (made->at == nullptr)
        return nullptr;
    fill(worker, *made);
    worker.bytes += made->bytes;
    worker.device_bytes += made->only_device() ? made->bytes : 0;
    return made;
}

inline void release(Worker& worker, Buffer& buffer) {
    worker.drop_graphs_of(buffer);
    worker.bytes -= buffer.bytes;
    worker.device_bytes -= buffer.only_device() ? buffer.bytes : 0;
    if (buffer.kind == Kind::pooled && !worker.random.one_in(4)) {
        Stream& stream = worker.any_stream();
        worker.order(buffer, stream);
        worker.expect(cudaFreeAsync(buffer.at, stream.handle));
        return;
    }
    worker.settle(buffer);
    switch (buffer.kind) {
    case Kind::pinned:
        worker.expect(cudaFreeHost(buffer.at));
        break;
    case Kind::registered:
        worker.expect(cudaHostUnregister(buffer.at));
        [[fallthrough]];
    case Kind::pageable:
        std::free(buffer.at);
        break;
    case Kind::variable:
        break;
    default:
        worker.expect(cudaFree(buffer.at));
    }
}

inline void free_step(Worker& worker) {
    if (worker.buffers.size() < 4)
        return;
    auto& chosen = worker.buffers[worker.random.below(worker.buffers.size())];
    if (chosen->lasts)
        return;
    release(worker, *chosen);
    std::swap(chosen, worker.buffers.back());
    worker.buffers.pop_back();
}

/// Long copies between pageable and device memory need both to be there. Another thread goes on with them,
/// whose own default stream is another.
inline void furnish(Worker& worker) {
    for (const Kind kind : {Kind::device, Kind::pageable}) {
        worker.buffers.push_back(
            allocate(worker, kind, std::min(worker.bytes_limit / 6, std::size_t{6} << 20)));
        worker.buffers.back()->lasts = true;
        worker.settle(*worker.buffers.back());
    }
}

inline void allocate_step(Worker& worker) {
    constexpr Kind kinds[] = {Kind::device,  Kind::device,  Kind::pitched, Kind::pooled,     Kind::managed,
                              Kind::managed, Kind::managed, Kind::pinned,  Kind::registered, Kind::pageable};
    const bool large = worker.random.one_in(8);
    Kind kind = kinds[worker.random.below(std::size(kinds))];
    if (kind == Kind::pinned && !worker.settings.with("pinned"))
        kind = Kind::pageable;
    std::size_t bytes = large ? (2u << 20) + worker.random.below(3u << 20) : worker.random.length(1u << 18);
    if (worker.random.one_in(2)) // so that sizes come back
        bytes = std::bit_floor(bytes);
    if (kind == Kind::pinned) // a few lengths, which come again
        bytes = large ? 4u << 20 : bytes % 2 == 0 ? 1u << 16 : (1u << 18) + 1;
    // What has to lie on the device is a quarter, so that a small card holds it beside managed memory that it
    // does not.
    const bool on_device = kind == Kind::device || kind == Kind::pitched || kind == Kind::pooled;
    // Rows of a few bytes take a pitch each.
    const std::size_t most = kind == Kind::pitched ? bytes + 1024 : bytes;
    if (worker.buffers.size() >= 32 || worker.bytes + most > worker.bytes_limit ||
        (on_device && worker.device_bytes + most > worker.bytes_limit / 4))
        return free_step(worker);
    if (auto made = allocate(worker, kind, bytes))
        worker.buffers.push_back(std::move(made));
}

inline void write_step(Worker& worker) {
    if (Buffer* const buffer = worker.any([](const Buffer& each) { return each.host_reaches(); })) {
        worker.settle(*buffer);
        const std::size_t bytes = worker.random.length(std::min<std::size_t>(buffer->bytes, 1u << 16));
        worker.random.fill(worker.any_place(*buffer, bytes), bytes);
    }
}

inline void read_step(Worker& worker) {
    if (Buffer* const buffer = worker.any([](const Buffer& each) { return each.host_reaches(); })) {
        worker.settle(*buffer);
        const std::size_t bytes = worker.random.length(buffer->bytes);
        worker.read(*buffer, worker.any_place(*buffer, bytes), bytes);
    }
}

/// Ends a registration and makes another, of the same memory and mostly of the same part; between them the
/// memory is pageable for the driver.
inline void register_step(Worker& worker) {
    Buffer* const buffer = worker.any([](const Buffer& each) { return each.kind == Kind::registered; });
    if (!buffer)
        return;
    worker.drop_graphs_of(*buffer);
    worker.settle(*buffer);
    worker.expect(cudaHostUnregister(buffer->at));
    if (worker.random.one_in(4)) {
        const std::size_t part = worker.random.length(buffer->bytes);
        worker.expect(cudaHostRegister(buffer->at, part, cudaHostRegisterPortable));
        worker.see(cudaHostRegister(buffer->at, buffer->bytes, cudaHostRegisterDefault));
        worker.expect(cudaHostUnregister(buffer->at));
    }
    if (Buffer* const to = worker.any([](const Buffer& each) { return each.only_device(); })) {
        const std::size_t bytes = worker.random.length(std::min(buffer->bytes, to->bytes));
        Stream& stream = worker.any_stream();
        worker.order(*to, stream);
        worker.expect(cudaMemcpyAsync(to->at, buffer->at, bytes, cudaMemcpyHostToDevice, stream.handle));
        to->last = buffer->last = &stream;
        worker.settle(*buffer);
        worker.random.fill(buffer->at, bytes); // the copy has the bytes from before
    }
    worker.expect(cudaHostRegister(buffer->at, buffer->bytes, cudaHostRegisterDefault));
    worker.expect(cudaHostGetDevicePointer(reinterpret_cast<void**>(&buffer->on_device), buffer->at, 0));
}

/// Every byte of a buffer.
inline void compare(Worker& worker, Buffer& buffer) {
    worker.settle(buffer);
    if (buffer.host_reaches())
        return worker.read(buffer, buffer.at, buffer.bytes);
    std::vector<unsigned char> bytes(buffer.bytes);
    worker.expect(cudaMemcpy(bytes.data(), buffer.at, bytes.size(), cudaMemcpyDeviceToHost));
    worker.read(buffer, bytes.data(), bytes.size());
}

inline void compare_step(Worker& worker) {
    for (const auto& buffer : worker.buffers)
        compare(worker, *buffer);
}

inline cudaMemLocation any_location(Worker& worker) {
    cudaMemLocation location{};
    location.type = worker.random.one_in(3) ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    return location;
}

/// The program's own prefetches.
inline void prefetch_step(Worker& worker) {
    Buffer* const buffer = worker.any([](const Buffer& each) { return each.is_managed(); });
    if (!buffer)
        return;
    Stream& stream = worker.any_stream();
    worker.order(*buffer, stream);
    const std::size_t bytes = worker.random.length(buffer->bytes);
    unsigned char* const at = worker.any_place(*buffer, bytes);
    worker.expect(cudaMemPrefetchAsync(at, bytes, any_location(worker), 0, stream.handle));
    buffer->last = &stream;
}

inline void advise_step(Worker& worker) {
    constexpr cudaMemoryAdvise advice[] = {
        cudaMemAdviseSetReadMostly,          cudaMemAdviseUnsetReadMostly, cudaMemAdviseSetPreferredLocation,
        cudaMemAdviseUnsetPreferredLocation, cudaMemAdviseSetAccessedBy,   cudaMemAdviseUnsetAccessedBy};
    Buffer* const buffer = worker.any([](const Buffer& each) { return each.is_managed(); });
    if (!buffer)
        return;
    const cudaMemoryAdvise given = advice[worker.random.below(std::size(advice))];
    cudaMemLocation location = any_location(worker);
    if (given == cudaMemAdviseSetPreferredLocation && !worker.settings.prefers_host())
        location.type = cudaMemLocationTypeDevice;
    worker.expect(cudaMemAdvise(buffer->at, buffer->bytes, given, location));
}

} // namespace random_program
