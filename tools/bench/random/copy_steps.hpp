/// Copies and sets of all kinds and directions.
#pragma once

#include "tools/bench/random/worker.hpp"

namespace random_program {

/// Rows within a buffer: `height` of `width` bytes, `pitch` from one to the next.
struct Rows {
    std::size_t pitch;
    unsigned char* at;
};

inline Rows any_rows(Worker& worker, const Buffer& buffer, std::size_t width, std::size_t height) {
    const std::size_t room = buffer.bytes - width;
    const std::size_t pitch =
        width + (height > 1 ? worker.random.below((room - (height - 1) * width) / (height - 1) + 1) : 0);
    return {pitch, worker.any_place(buffer, pitch * (height - 1) + width)};
}

inline cudaMemcpyKind direction(Worker& worker, const Buffer& target, const Buffer& source) {
    if (worker.random.one_in(2) || !worker.settings.with("directions"))
        return cudaMemcpyDefault;
    return source.on_host() ? (target.on_host() ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice)
                            : (target.on_host() ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice);
}

/// Two buffers, and the stream that copies between them: nothing says whether it is meant to wait.
struct Passage {
    Buffer* target = nullptr;
    Buffer* source = nullptr;
    Stream* stream = nullptr;
    bool asynchronous = false;
    bool large = false; ///< to be as long as the buffers, nearly
    cudaMemcpyKind kind = cudaMemcpyDefault;

    /// The driver may read the source before what the legacy default stream orders before the copy: release 580
    /// does so with less than 32 KiB of page-locked memory, and with managed memory that prefers the host.
    bool may_read_early(const Settings& settings) const {
        return !target->on_host() && (source->on_host() || (source->is_managed() && settings.prefers_host()));
    }

    /// The copy is done, or the host may do to pageable memory what it likes, when the call is back.
    bool promised() const {
        return (target->kind == Kind::pageable && source->only_device()) ||
               (source->kind == Kind::pageable && target->only_device());
    }
};

inline bool begin(Worker& worker, Passage& passage) {
    // Long copies between pageable and device memory would be rare by chance.
    const bool large = passage.large = worker.random.one_in(16);
    const bool up = worker.random.one_in(2);
    passage.source = worker.any([&](const Buffer& each) {
        return !large || (each.large() && each.kind == (up ? Kind::pageable : Kind::device));
    });
    passage.target = worker.any([&](const Buffer& each) {
        return &each != passage.source &&
               (!large || (each.large() && each.kind == (up ? Kind::device : Kind::pageable)));
    });
    if (!passage.source || !passage.target)
        return false;
    passage.asynchronous = worker.random.one_in(2);
    passage.stream = passage.asynchronous ? &worker.any_stream() : &worker.legacy();
    passage.kind = direction(worker, *passage.target, *passage.source);
    const bool between_hosts = passage.source->on_host() && passage.target->on_host();
    for (Buffer* const buffer : {passage.source, passage.target})
        if (buffer->kind == Kind::pageable || between_hosts)
            worker.settle(*buffer);
        else if (buffer == passage.source && passage.may_read_early(worker.settings))
            worker.order_by_event(*buffer, *passage.stream);
        else
            worker.order(*buffer, *passage.stream);
    return true;
}

/// `promised`: what the copy is to pageable memory may be relied upon.
inline void end(Worker& worker, Passage& passage, bool promised) {
    passage.source->last = passage.target->last = passage.stream;
    const bool pageable = passage.source->kind == Kind::pageable || passage.target->kind == Kind::pageable;
    const bool between_hosts = passage.source->on_host() && passage.target->on_host();
    if (between_hosts || (pageable && !promised)) {
        worker.settle(*passage.source);
        passage.target->last = nullptr;
        return;
    }
    for (Buffer* const buffer : {passage.source, passage.target})
        if (buffer->kind == Kind::pageable)
            buffer->last = nullptr;
}

inline void copy_step(Worker& worker) {
    Passage passage;
    if (!begin(worker, passage))
        return;
    Buffer &target = *passage.target, &source = *passage.source;
    const std::size_t most = std::min(target.bytes, source.bytes);
    const std::size_t bytes = passage.large             ? most - worker.random.below(most / 8)
                              : worker.random.one_in(3) ? most
                                                        : worker.random.length(most);
    unsigned char* const to = worker.any_place(target, bytes);
    unsigned char* const from = worker.any_place(source, bytes);
    worker.expect(passage.asynchronous ? cudaMemcpyAsync(to, from, bytes, passage.kind, passage.stream->handle)
                                       : cudaMemcpy(to, from, bytes, passage.kind));
    end(worker, passage, passage.promised());
    // At once: a copy that reads its source later is found out.
    if (source.kind == Kind::pageable && worker.random.one_in(2))
        worker.random.fill(from, bytes);
}

/// Small uploads in a row, to neighbouring places or to any, some of which overlap.
inline void uploads_step(Worker& worker) {
    Passage passage;
    passage.source = worker.any([](const Buffer& each) { return each.kind == Kind::pinned; });
    passage.target = worker.any([](const Buffer& each) { return each.only_device(); });
    if (!passage.source || !passage.target)
        return;
    passage.stream = &worker.any_stream();
    Buffer &target = *passage.target, &source = *passage.source;
    worker.order_by_event(source, *passage.stream);
    worker.order(target, *passage.stream);
    const std::size_t count = 2 + worker.random.below(40);
    const std::size_t most = std::min(std::min(target.bytes, source.bytes) / count, std::size_t{40} << 10);
    const bool adjoin = worker.random.one_in(2);
    const std::size_t bytes = most == 0 ? 0 : worker.random.length(most);
    for (std::size_t i = 0; i < count && bytes != 0; ++i)
        worker.expect(cudaMemcpyAsync(adjoin ? target.at + i * bytes : worker.any_place(target, bytes),
                                      adjoin && worker.random.one_in(2) ? source.at + i * bytes
                                                                        : worker.any_place(source, bytes),
                                      bytes, direction(worker, target, source), passage.stream->handle));
    end(worker, passage, false);
}

/// The same large upload several times, in this step and in others, with changes of either end between them.
inline void repeat_step(Worker& worker) {
    Passage passage;
    passage.source = worker.any([](const Buffer& each) { return each.on_host() && each.large(); });
    passage.target = worker.any([](const Buffer& each) { return each.only_device() && each.large(); });
    if (!passage.source || !passage.target)
        return;
    constexpr std::size_t bytes = (1u << 20) + 4096;
    Buffer &target = *passage.target, &source = *passage.source;
    for (std::size_t count = 2 + worker.random.below(12); count != 0; --count) {
        passage.asynchronous = worker.random.one_in(2);
        passage.stream = passage.asynchronous ? &worker.any_stream() : &worker.legacy();
        if (source.kind == Kind::pageable || worker.random.one_in(2))
            worker.settle(source);
        else
            worker.order(source, *passage.stream);
        worker.order(target, *passage.stream);
        if (source.last == nullptr && worker.random.one_in(8))
            worker.random.fill(worker.any_place(source, 64), 64);
        unsigned char* const to = worker.any_place(target, bytes);
        const cudaMemcpyKind kind = direction(worker, target, source);
        worker.expect(passage.asynchronous ? cudaMemcpyAsync(to, source.at, bytes, kind, passage.stream->handle)
                                           : cudaMemcpy(to, source.at, bytes, kind));
        end(worker, passage, passage.promised());
        if (worker.random.one_in(4)) {
            worker.order(target, *passage.stream);
            worker.expect(cudaMemsetAsync(to, 3, bytes / 2, passage.stream->handle));
            target.last = passage.stream;
        }
    }
}

/// The same of a structure on the stack, synchronously; it changes after each copy.
inline void structures_step(Worker& worker) {
    Buffer* const found = worker.any([](const Buffer& each) { return each.only_device(); });
    if (!found)
        return;
    Buffer& target = *found;
    worker.order(target, worker.legacy());
    unsigned char structure[5 << 10];
    const std::size_t count = 2 + worker.random.below(40);
    const std::size_t most = std::min(target.bytes / count, sizeof structure);
    const bool adjoin = worker.random.one_in(2);
    const std::size_t bytes = most == 0 ? 0 : worker.random.length(most);
    for (std::size_t i = 0; i < count && bytes != 0; ++i) {
        worker.random.fill(structure, bytes);
        worker.expect(cudaMemcpy(adjoin ? target.at + i * bytes : worker.any_place(target, bytes), structure,
                                 bytes, cudaMemcpyHostToDevice));
    }
    target.last = &worker.legacy();
}

inline void copy_rows_step(Worker& worker) {
    Passage passage;
    if (!begin(worker, passage))
        return;
    Buffer &target = *passage.target, &source = *passage.source;
    const std::size_t most = std::min(target.bytes, source.bytes);
    const std::size_t width = worker.random.length(most);
    const std::size_t height = 1 + worker.random.below(std::min<std::size_t>(most / width, 32));
    const Rows to = any_rows(worker, target, width, height), from = any_rows(worker, source, width, height);
    worker.expect(passage.asynchronous
                      ? cudaMemcpy2DAsync(to.at, to.pitch, from.at, from.pitch, width, height, passage.kind,
                                          passage.stream->handle)
                      : cudaMemcpy2D(to.at, to.pitch, from.at, from.pitch, width, height, passage.kind));
    end(worker, passage, false);
}

inline CUdeviceptr address_of(const unsigned char* pointer) {
    return reinterpret_cast<CUdeviceptr>(pointer);
}

/// `height` and `depth` of rows without gaps, which fit both buffers.
inline CUDA_MEMCPY3D box_between(Worker& worker, const Buffer& target, const Buffer& source) {
    const std::size_t most = std::min(target.bytes, source.bytes);
    CUDA_MEMCPY3D box{};
    box.WidthInBytes = worker.random.length(most);
    box.Height = 1 + worker.random.below(std::min<std::size_t>(most / box.WidthInBytes, 8));
    box.Depth = 1 + worker.random.below(std::min<std::size_t>(most / (box.WidthInBytes * box.Height), 4));
    const std::size_t bytes = box.WidthInBytes * box.Height * box.Depth;
    unsigned char* const to = worker.any_place(target, bytes);
    unsigned char* const from = worker.any_place(source, bytes);
    box.srcMemoryType = source.on_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_UNIFIED;
    box.dstMemoryType = target.on_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_UNIFIED;
    box.srcHost = from;
    box.dstHost = to;
    box.srcDevice = address_of(from);
    box.dstDevice = address_of(to);
    box.srcPitch = box.dstPitch = box.WidthInBytes;
    box.srcHeight = box.dstHeight = box.Height;
    return box;
}

inline void copy_box_step(Worker& worker) {
    Passage passage;
    if (!begin(worker, passage))
        return;
    const CUDA_MEMCPY3D box = box_between(worker, *passage.target, *passage.source);
    worker.expect(passage.asynchronous ? driver().copy_3d_async(&box, passage.stream->handle)
                                       : driver().copy_3d(&box));
    end(worker, passage, false);
}

inline void set_step(Worker& worker) {
    Buffer* const buffer = worker.any([](const Buffer& each) { return each.on_device && !each.on_host(); });
    if (!buffer)
        return;
    const auto value = static_cast<unsigned char>(worker.random.below(256));
    const bool asynchronous = worker.random.one_in(2);
    Stream& stream = asynchronous ? worker.any_stream() : worker.legacy();
    worker.order(*buffer, stream);
    const std::size_t bytes = worker.random.length(buffer->bytes);
    if (worker.random.one_in(3)) {
        const std::size_t height = 1 + worker.random.below(std::min<std::size_t>(buffer->bytes / bytes, 16));
        const Rows rows = any_rows(worker, *buffer, bytes, height);
        const CUdeviceptr at = address_of(rows.at);
        worker.expect(asynchronous
                          ? driver().set_rows_async(at, rows.pitch, value, bytes, height, stream.handle)
                          : driver().set_rows(at, rows.pitch, value, bytes, height));
    } else if (asynchronous && buffer->bytes >= 4 && worker.random.one_in(3)) {
        worker.expect(
            driver().set_words(address_of(buffer->at), value * 0x01030507u, buffer->bytes / 4, stream.handle));
    } else {
        unsigned char* const at = worker.any_place(*buffer, bytes);
        worker.expect(asynchronous ? cudaMemsetAsync(at, value, bytes, stream.handle)
                                   : cudaMemset(at, value, bytes));
    }
    buffer->last = &stream;
}

} // namespace random_program
