/// Memory and events of other processes and of other APIs.
#pragma once

#include "interposer/wrappers/allocation.hpp"

namespace umadvisor::wrappers {

/// A hash of a handle's bytes (FNV-1a), by which the two ends of the handle are matched across traces.
template <class Handle>
std::uint64_t key_of(const Handle& handle) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const char byte : handle.reserved)
        hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
    return hash;
}

/// Records the call; opened memory is entered as an allocation, closed memory is removed.
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
        if (result == CUDA_SUCCESS)
            act::notify_started<&act::Action::on_share>(address);
        else
            act::sharing_was_refused(address);
        record.key = result == CUDA_SUCCESS && out != nullptr ? key_of(*out) : 0;
        finish_ipc(record);
        return result;
    }
};

struct open_ipc_memory : Recorded<open_ipc_memory, finish_ipc, trace::IpcAction::open_memory> {
    static void fill(trace::Ipc& record, CUdeviceptr*, const CUipcMemHandle& handle, unsigned) noexcept {
        record.key = key_of(handle);
    }
    static void answer(trace::Ipc& record, const CUdeviceptr* out, const CUipcMemHandle&, unsigned) noexcept {
        record.address = *out;
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

struct export_ipc_event : Recorded<export_ipc_event, finish_ipc, trace::IpcAction::export_event> {
    static void fill(trace::Ipc& record, CUipcEventHandle*, CUevent event) noexcept {
        record.event = number(event);
    }
    static void answer(trace::Ipc& record, const CUipcEventHandle* out, CUevent) noexcept {
        record.key = key_of(*out);
    }
};

struct open_ipc_event : Recorded<open_ipc_event, finish_ipc, trace::IpcAction::open_event> {
    static void fill(trace::Ipc& record, CUevent*, const CUipcEventHandle& handle) noexcept {
        record.key = key_of(handle);
    }
    static void answer(trace::Ipc& record, const CUevent* out, const CUipcEventHandle&) noexcept {
        record.event = number(*out);
    }
};

struct import_external_memory
    : Recorded<import_external_memory, finish_external, trace::ExternalAction::import_memory> {
    using Description = CUDA_EXTERNAL_MEMORY_HANDLE_DESC;
    static void fill(trace::External& record, CUexternalMemory*, const Description* from) noexcept {
        if (from == nullptr)
            return;
        record.handle_type = static_cast<std::uint64_t>(from->type);
        record.bytes = from->size;
    }
    static void answer(trace::External& record, const CUexternalMemory* out, const Description*) noexcept {
        record.external = number(*out);
    }
};

struct map_external_buffer : Recorded<map_external_buffer, finish_external, trace::ExternalAction::map_buffer> {
    using Description = CUDA_EXTERNAL_MEMORY_BUFFER_DESC;
    static void fill(trace::External& record, CUdeviceptr*, CUexternalMemory memory,
                     const Description* description) noexcept {
        record.external = number(memory);
        if (description == nullptr)
            return;
        record.offset = description->offset;
        record.bytes = description->size;
    }
    static void answer(trace::External& record, const CUdeviceptr* out, CUexternalMemory,
                       const Description*) noexcept {
        record.address = *out;
    }
};

struct map_external_array : Recorded<map_external_array, finish_external, trace::ExternalAction::map_array> {
    using Description = CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC;
    static void fill(trace::External& record, CUmipmappedArray*, CUexternalMemory memory,
                     const Description* description) noexcept {
        record.external = number(memory);
        record.offset = description != nullptr ? description->offset : 0;
    }
    static void answer(trace::External& record, const CUmipmappedArray* out, CUexternalMemory,
                       const Description*) noexcept {
        record.address = number(*out);
    }
};

struct destroy_external_memory
    : Recorded<destroy_external_memory, finish_external, trace::ExternalAction::destroy> {
    static void fill(trace::External& record, CUexternalMemory memory) noexcept {
        record.external = number(memory);
    }
};

} // namespace umadvisor::wrappers
