/// Memory and events of other processes and of other APIs.
#pragma once

#include "interposer/wrappers/allocation.hpp"

namespace umadvisor::wrappers {

/// What pairs the two ends of a handle across traces: a hash of its bytes (FNV-1a).
template <class Handle>
std::uint64_t key_of(const Handle& handle) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char byte : handle.reserved)
        hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
    return hash;
}

/// Records the call; opened memory is entered as an allocation, closed memory leaves.
void finish_ipc(trace::Ipc& record) noexcept;
void begin_close(FreeScope& part, CUdeviceptr address) noexcept;
void finish_close(trace::Ipc& record, FreeScope& part) noexcept;
void finish_external(trace::External& record) noexcept;

struct export_ipc_memory : WhilePaused {
    template <Entry E>
    static CUresult call(CUipcMemHandle* out, CUdeviceptr address) noexcept {
        trace::Ipc record;
        record.action = trace::IpcAction::export_memory;
        record.address = address;
        const CUresult result = timed<E>(record, out, address);
        if (result != CUDA_SUCCESS)
            act::sharing_was_refused(address);
        record.key = result == CUDA_SUCCESS && out != nullptr ? key_of(*out) : 0;
        finish_ipc(record);
        return result;
    }
};

struct open_ipc_memory : WhilePaused {
    template <Entry E>
    static CUresult call(CUdeviceptr* out, CUipcMemHandle handle, unsigned flags) noexcept {
        trace::Ipc record;
        record.action = trace::IpcAction::open_memory;
        record.key = key_of(handle);
        const CUresult result = timed<E>(record, out, handle, flags);
        record.address = answered(result, out);
        finish_ipc(record);
        return result;
    }
};

struct close_ipc_memory : WhilePaused {
    template <Entry E>
    static CUresult call(CUdeviceptr address) noexcept {
        trace::Ipc record;
        record.action = trace::IpcAction::close_memory;
        record.address = address;
        FreeScope part;
        begin_close(part, address);
        const CUresult result = timed<E>(record, address);
        finish_close(record, part);
        return result;
    }
};

struct export_ipc_event : WhilePaused {
    template <Entry E>
    static CUresult call(CUipcEventHandle* out, CUevent event) noexcept {
        trace::Ipc record;
        record.action = trace::IpcAction::export_event;
        record.event = reinterpret_cast<std::uint64_t>(event);
        const CUresult result = timed<E>(record, out, event);
        record.key = result == CUDA_SUCCESS && out != nullptr ? key_of(*out) : 0;
        finish_ipc(record);
        return result;
    }
};

struct open_ipc_event : WhilePaused {
    template <Entry E>
    static CUresult call(CUevent* out, CUipcEventHandle handle) noexcept {
        trace::Ipc record;
        record.action = trace::IpcAction::open_event;
        record.key = key_of(handle);
        const CUresult result = timed<E>(record, out, handle);
        record.event = reinterpret_cast<std::uint64_t>(answered(result, out));
        finish_ipc(record);
        return result;
    }
};

struct import_external_memory : WhilePaused {
    template <Entry E>
    static CUresult call(CUexternalMemory* out, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* from) noexcept {
        trace::External record;
        record.action = trace::ExternalAction::import_memory;
        if (from != nullptr) {
            record.handle_type = static_cast<std::uint64_t>(from->type);
            record.bytes = from->size;
        }
        const CUresult result = timed<E>(record, out, from);
        record.external = reinterpret_cast<std::uint64_t>(answered(result, out));
        finish_external(record);
        return result;
    }
};

struct map_external_buffer : WhilePaused {
    template <Entry E>
    static CUresult call(CUdeviceptr* out, CUexternalMemory memory,
                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* wanted) noexcept {
        trace::External record;
        record.action = trace::ExternalAction::map_buffer;
        record.external = reinterpret_cast<std::uint64_t>(memory);
        if (wanted != nullptr) {
            record.offset = wanted->offset;
            record.bytes = wanted->size;
        }
        const CUresult result = timed<E>(record, out, memory, wanted);
        record.address = answered(result, out);
        finish_external(record);
        return result;
    }
};

struct map_external_array : WhilePaused {
    template <Entry E>
    static CUresult call(CUmipmappedArray* out, CUexternalMemory memory,
                         const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC* wanted) noexcept {
        trace::External record;
        record.action = trace::ExternalAction::map_array;
        record.external = reinterpret_cast<std::uint64_t>(memory);
        record.offset = wanted != nullptr ? wanted->offset : 0;
        const CUresult result = timed<E>(record, out, memory, wanted);
        record.address = reinterpret_cast<std::uint64_t>(answered(result, out));
        finish_external(record);
        return result;
    }
};

struct destroy_external_memory : WhilePaused {
    template <Entry E>
    static CUresult call(CUexternalMemory memory) noexcept {
        trace::External record;
        record.action = trace::ExternalAction::destroy;
        record.external = reinterpret_cast<std::uint64_t>(memory);
        const CUresult result = timed<E>(record, memory);
        finish_external(record);
        return result;
    }
};

} // namespace umadvisor::wrappers
