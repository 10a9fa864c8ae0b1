/// Allocation, registration and free of device, managed and host memory.
#pragma once

#include "interposer/act/action.hpp"
#include "interposer/act/stand_ins.hpp"
#include "interposer/observe/allocations.hpp"
#include "interposer/observe/managed_watch.hpp"
#include "interposer/observe/pools.hpp"
#include "interposer/wrappers/query.hpp"

namespace umadvisor::wrappers {

/// With what an allocation is freed, at the latest: the context it was made in; the device, when it is reset
/// (stream-ordered memory belongs to a pool of the device); or neither.
enum class Owner : std::uint8_t { context, device, none };

/// Enters a new allocation into the index and the trace, after the driver made it. `record` has its times,
/// status, memory, flags and stream, and its device if the owner is none. A call that failed is only recorded.
void finish_allocation(trace::Alloc& record, std::uint64_t address, std::uint64_t bytes,
                       Owner owner = Owner::context) noexcept;

/// How many bytes the driver has mapped from `address` on; 0 if it does not say.
std::uint64_t mapped_bytes(CUdeviceptr address) noexcept;

/// Enters an allocation that a call made which has a record of its own. `device` counts for an Owner of none.
template <class Record>
void enter_part(const Record& call, std::uint64_t address, std::uint64_t bytes, trace::Memory memory,
                Owner owner, std::uint64_t device = 0, CUmemoryPool pool = nullptr) noexcept {
    trace::Alloc record;
    record.entry = call.entry;
    record.start = call.start;
    record.duration = call.duration;
    record.status = call.status;
    record.memory = memory;
    record.device = device;
    record.pool = number(pool);
    record.part = 1;
    finish_allocation(record, address, bytes, owner);
}

/// Records that allocations, which the caller has removed from the index, were freed by a call that has a
/// record of its own.
template <class Record>
void leave_parts(const Record& call, const observe::Allocation* gone, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        trace::Free record;
        record.entry = call.entry;
        record.start = call.start;
        record.stack = call.stack;
        record.allocation = trace::AllocationId{gone[i].id};
        record.address = gone[i].address;
        record.part = 1;
        record::write(record);
        act::notify_started<&act::Action::on_free>(gone[i]);
    }
}

/// Enters a variable of a loaded module, like an allocation, when the program first asks for it.
void finish_global(trace::Alloc& record, CUdeviceptr address, std::size_t bytes, const char* name,
                   std::uint64_t module) noexcept;

/// A free, from before the driver's call to after it.
struct FreeScope {
    trace::Free record;
    observe::Allocation removed{}; ///< from the index, to be entered again if the driver refuses; no id: none
};

/// Removes the allocation from the index before the driver frees it, since another thread may get its address
/// at once. Samples the residency of managed memory for the last time.
void begin_free(FreeScope& scope, std::uint64_t address) noexcept;
/// Records the free; enters the allocation again if the driver refused.
void finish_free(FreeScope& scope) noexcept;

/// Allocates device memory for the program: by `call`, which asks the driver, or by an action.
template <Entry E, class Call>
CUresult allocate(act::AllocationScope asked, const Call& call) noexcept {
    using act::Action;
    trace::Alloc& record = asked.record;
    record.memory = trace::Memory::device;
    record.entry = attach::index(E);
    const std::uint64_t start = record.start = record::now();
    if (!act::notify<&Action::instead_of_allocation>(asked)) {
        const CUresult result = timed_call<E>(record, call);
        if (result != CUDA_ERROR_OUT_OF_MEMORY || !act::notify<&Action::instead_of_refusal>(asked))
            return result;
        record.start = start;
    }
    record.duration = record::now() - start;
    return static_cast<CUresult>(record.status);
}

/// Allocates pinned memory: by the driver's function, or by an action. `record` has the flags.
template <Entry E, class... Arguments>
CUresult pin(trace::Alloc& record, void** out, std::size_t bytes, Arguments... arguments) noexcept {
    record.entry = attach::index(E);
    record.start = record::now();
    act::HostAllocationScope asked{record, out, bytes};
    if (!act::notify<&act::Action::instead_of_host_allocation>(asked))
        return timed<E>(record, arguments...);
    record.duration = record::now() - record.start;
    return static_cast<CUresult>(record.status);
}

/// Frees memory, or ends its registration: by the driver's function, or by an action that keeps it.
template <Entry E, class Address>
CUresult give_up(FreeScope& scope, Address address) noexcept {
    trace::Free& record = scope.record;
    record.entry = attach::index(E);
    record.start = record::now();
    act::FreeingScope freeing{record, scope.removed};
    if (!act::notify_started<&act::Action::instead_of_free>(freeing))
        return timed<E>(record, address);
    record.duration = record::now() - record.start;
    return static_cast<CUresult>(record.status);
}

/// Orders no work, and nothing that is deferred can be of memory that is yet to be: a program may allocate
/// memory for each structure that it uploads.
struct allocate_device : WhilePaused {
    static constexpr bool is_deferred = true;
    template <Entry E>
    static CUresult call(CUdeviceptr* out, std::size_t bytes) noexcept {
        trace::Alloc record;
        const CUresult result =
            allocate<E>({record, out, bytes}, [&] { return attach::real<E>()(out, bytes); });
        finish_allocation(record, answered(result, out), bytes);
        return result;
    }
};

struct allocate_pitch : WhilePaused {
    template <Entry E>
    static CUresult call(CUdeviceptr* out, std::size_t* pitch, std::size_t width, std::size_t height,
                         unsigned element) noexcept {
        trace::Alloc record;
        const CUresult result = allocate<E>({record, out, 0, nullptr, pitch, width, height, element}, [&] {
            return attach::real<E>()(out, pitch, width, height, element);
        });
        const std::size_t row = pitch != nullptr ? answered(result, pitch) : width;
        finish_allocation(record, answered(result, out), (row != 0 ? row : width) * height);
        return result;
    }
};

struct allocate_managed : WhilePaused {
    template <Entry E>
    static CUresult call(CUdeviceptr* out, std::size_t bytes, unsigned flags) noexcept {
        trace::Alloc record;
        record.memory = trace::Memory::managed;
        record.flags = flags;
        observe::managed_watch().before_allocation();
        const CUresult result = timed<E>(record, out, bytes, flags);
        finish_allocation(record, answered(result, out), bytes);
        return result;
    }
};

struct allocate_async : WhilePaused {
    template <Entry E>
    static CUresult call(CUdeviceptr* out, std::size_t bytes, CUstream stream) noexcept {
        trace::Alloc record;
        record.stream = stream_of<E>(stream);
        const act::StreamOrder order{nullptr, reinterpret_cast<CUstream>(record.stream)};
        const CUresult result =
            allocate<E>({record, out, bytes, &order}, [&] { return attach::real<E>()(out, bytes, stream); });
        finish_allocation(record, answered(result, out), bytes, Owner::device);
        return result;
    }
};

struct allocate_from_pool : WhilePaused {
    template <Entry E>
    static CUresult call(CUdeviceptr* out, std::size_t bytes, CUmemoryPool pool, CUstream stream) noexcept {
        trace::Alloc record;
        record.stream = stream_of<E>(stream);
        record.pool = number(pool);
        const act::StreamOrder order{pool, reinterpret_cast<CUstream>(record.stream)};
        const CUresult result = allocate<E>({record, out, bytes, &order},
                                            [&] { return attach::real<E>()(out, bytes, pool, stream); });
        if (record.origin != trace::Origin::umadvisor)
            record.memory = observe::memory_of_pool(pool, answered(result, out));
        finish_allocation(record, answered(result, out), bytes, Owner::device);
        return result;
    }
};

struct allocate_host : WhilePaused {
    template <Entry E>
    static CUresult call(void** out, std::size_t bytes) noexcept {
        trace::Alloc record;
        record.memory = trace::Memory::pinned;
        const CUresult result = pin<E>(record, out, bytes, out, bytes);
        finish_allocation(record, number(answered(result, out)), bytes);
        return result;
    }
};

struct allocate_host_flags : WhilePaused {
    template <Entry E>
    static CUresult call(void** out, std::size_t bytes, unsigned flags) noexcept {
        trace::Alloc record;
        record.memory = trace::Memory::pinned;
        record.flags = flags;
        const CUresult result = pin<E>(record, out, bytes, out, bytes, flags);
        finish_allocation(record, number(answered(result, out)), bytes);
        return result;
    }
};

struct register_host : WhilePaused {
    template <Entry E>
    static CUresult call(void* address, std::size_t bytes, unsigned flags) noexcept {
        trace::Alloc record;
        record.memory = trace::Memory::registered;
        record.flags = flags;
        record.entry = attach::index(E);
        record.start = record::now();
        act::RegistrationScope asked{record, address, bytes};
        if (act::notify_started<&act::Action::instead_of_registration>(asked))
            record.duration = record::now() - record.start;
        else
            timed<E>(record, address, bytes, flags);
        finish_allocation(record, number(address), bytes);
        return static_cast<CUresult>(record.status);
    }
};

struct free_device : WhilePaused {
    template <Entry E>
    static CUresult call(CUdeviceptr address) noexcept {
        FreeScope scope;
        begin_free(scope, address);
        const CUresult result = give_up<E>(scope, address);
        finish_free(scope);
        return result;
    }
};

struct free_async : WhilePaused {
    template <Entry E>
    static CUresult call(CUdeviceptr address, CUstream stream) noexcept {
        FreeScope scope;
        trace::Free& record = scope.record;
        record.stream = stream_of<E>(stream);
        begin_free(scope, address);
        CUresult result = timed<E>(record, address, stream);
        // Managed memory cannot be freed in stream order; cuMemFree waits for all that uses it. It is called
        // only after the refusals that mean this: the program must see others, as that of a capture.
        if ((result == CUDA_ERROR_NOT_SUPPORTED || result == CUDA_ERROR_INVALID_VALUE) &&
            scope.removed.rewritten) {
            result = attach::real<Entry::cuMemFree_v2>()(address);
            record.duration = record::now() - record.start;
            record.status = static_cast<std::uint64_t>(result);
        }
        finish_free(scope);
        return result;
    }
};

struct free_host : WhilePaused {
    template <Entry E>
    static CUresult call(void* address) noexcept {
        FreeScope scope;
        begin_free(scope, number(address));
        const CUresult result = give_up<E>(scope, address);
        finish_free(scope);
        return result;
    }
};

struct get_global : WhilePaused {
    /// cuModuleGetGlobal, cuLibraryGetGlobal, cuLibraryGetManaged: each output may be null.
    template <Entry E, class Module>
    static CUresult call(CUdeviceptr* out, std::size_t* bytes, Module module, const char* name) noexcept {
        trace::Alloc record;
        CUdeviceptr address = 0;
        std::size_t size = 0;
        const CUresult result =
            timed<E>(record, out != nullptr ? out : &address, bytes != nullptr ? bytes : &size, module, name);
        if (result == CUDA_SUCCESS)
            finish_global(record, out != nullptr ? *out : address, bytes != nullptr ? *bytes : size, name,
                          number(module));
        return result;
    }
};

struct get_memory_info : WhilePaused {
    template <Entry E>
    static CUresult call(std::size_t* free, std::size_t* total) noexcept {
        const CUresult result = ask<E>(free, total);
        if (result == CUDA_SUCCESS) {
            act::add_kept_memory(free);
            act::adjust_memory_info(free, total);
        }
        return result;
    }
};

struct get_total_memory : WhilePaused {
    template <Entry E>
    static CUresult call(std::size_t* total, CUdevice device) noexcept {
        const CUresult result = attach::real<E>()(total, device);
        if (result == CUDA_SUCCESS)
            act::adjust_memory_info(nullptr, total);
        return result;
    }
};

} // namespace umadvisor::wrappers
