/// The program's own prefetches and advice, in both ABIs.
#pragma once

#include "interposer/wrappers/hook.hpp"

namespace umadvisor::wrappers {

/// The location that a call names, from either ABI: a device ordinal (CU_DEVICE_CPU is the host), or a
/// CUmemLocation.
struct MemoryLocation {
    trace::Location kind;
    std::uint64_t id;

    explicit MemoryLocation(CUdevice device) noexcept
        : kind(device == CU_DEVICE_CPU ? trace::Location::host : trace::Location::device),
          id(device == CU_DEVICE_CPU ? 0 : static_cast<std::uint64_t>(device)) {}
    explicit MemoryLocation(const CUmemLocation& given) noexcept
        : kind(static_cast<trace::Location>(given.type)), id(static_cast<std::uint64_t>(given.id)) {}
};

/// Access rights to memory: the first entry of a list, and a bit for each device of all entries.
struct Access {
    trace::Location location{};
    std::uint64_t id = 0, flags = 0, devices = 0;

    /// `list` may be null.
    Access(const CUmemAccessDesc* list, std::size_t count) noexcept {
        for (std::size_t i = 0; list != nullptr && i < count; ++i) {
            const MemoryLocation to(list[i].location);
            if (i == 0) {
                location = to.kind;
                id = to.id;
                flags = static_cast<std::uint64_t>(list[i].flags);
            }
            if (to.kind == trace::Location::device && to.id < 64)
                devices |= std::uint64_t{1} << to.id;
        }
    }
};

/// Makes a prefetch, unless an action makes it. `record` has its stream and location.
template <Entry E, class... Arguments>
CUresult prefetch_or_join(trace::Prefetch& record, CUdeviceptr address, std::size_t bytes, unsigned flags,
                          Arguments... arguments) noexcept {
    record.entry = attach::index(E);
    record.start = record::now();
    act::PrefetchScope asked{record, address, bytes, flags};
    if (!act::notify<&act::Action::instead_of_prefetch>(asked)) {
        if (act::calls_are_deferred())
            act::make_deferred_calls();
        return timed<E>(record, arguments...);
    }
    record.duration = record::now() - record.start;
    return static_cast<CUresult>(record.status);
}

/// Samples the residency of the memory at `address`, if it is managed.
void look_before_prefetch(CUdeviceptr address) noexcept;
/// Enters the location. The same before a prefetch to a device that is not captured. `record` has its stream.
void begin_prefetch(trace::Prefetch& record, CUdeviceptr address, MemoryLocation location) noexcept;

/// Fills in the allocation and the stack, records, and notifies the actions.
void finish_prefetch(trace::Prefetch& record, CUdeviceptr address, std::uint64_t bytes) noexcept;
/// Enters all but the driver's answer and the stack.
void begin_advise(trace::Advise& record, std::uint64_t entry, CUdeviceptr address, std::uint64_t bytes,
                  CUmem_advise advice, MemoryLocation location) noexcept;
void finish_advise(trace::Advise& record) noexcept;
void finish_attach(trace::Attach& record, CUdeviceptr address, std::uint64_t bytes) noexcept;

struct prefetch : WhileRecording {
    static constexpr bool is_deferred = true;
    template <Entry E>
    static CUresult call(CUdeviceptr address, std::size_t bytes, CUdevice device, CUstream stream) noexcept {
        trace::Prefetch record;
        record.stream = stream_of<E>(stream);
        begin_prefetch(record, address, MemoryLocation(device));
        const CUresult result = prefetch_or_join<E>(record, address, bytes, 0, address, bytes, device, stream);
        finish_prefetch(record, address, bytes);
        return result;
    }
};

struct prefetch_location : WhileRecording {
    static constexpr bool is_deferred = true;
    template <Entry E>
    static CUresult call(CUdeviceptr address, std::size_t bytes, CUmemLocation location, unsigned flags,
                         CUstream stream) noexcept {
        trace::Prefetch record;
        record.stream = stream_of<E>(stream);
        begin_prefetch(record, address, MemoryLocation(location));
        const CUresult result =
            prefetch_or_join<E>(record, address, bytes, flags, address, bytes, location, flags, stream);
        finish_prefetch(record, address, bytes);
        return result;
    }
};

struct advise : WhilePaused {
    template <Entry E, class Location>
    static CUresult call(CUdeviceptr address, std::size_t bytes, CUmem_advise advice,
                         Location location) noexcept {
        trace::Advise record;
        begin_advise(record, attach::index(E), address, bytes, advice, MemoryLocation(location));
        const CUresult result = act::notify<&act::Action::instead_of_advice>(record)
                                    ? static_cast<CUresult>(record.status)
                                    : timed<E>(record, address, bytes, advice, location);
        finish_advise(record);
        return result;
    }
};

struct attach_memory : WhileRecording {
    template <Entry E>
    static CUresult call(CUstream stream, CUdeviceptr address, std::size_t bytes, unsigned flags) noexcept {
        trace::Attach record;
        record.stream = stream_of<E>(stream);
        record.flags = flags;
        const CUresult result = timed<E>(record, stream, address, bytes, flags);
        finish_attach(record, address, bytes);
        return result;
    }
};

} // namespace umadvisor::wrappers
