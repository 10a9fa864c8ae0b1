/// The program's own prefetches and advice, in both ABIs.
#pragma once

#include "interposer/wrappers/hook.hpp"

namespace umadvisor::wrappers {

/// Where memory shall be, from either ABI: a device ordinal (CU_DEVICE_CPU is the host), or a location.
struct Place {
    trace::Location location;
    std::uint64_t id;

    explicit Place(CUdevice device) noexcept
        : location(device == CU_DEVICE_CPU ? trace::Location::host : trace::Location::device),
          id(device == CU_DEVICE_CPU ? 0 : static_cast<std::uint64_t>(device)) {}
    explicit Place(const CUmemLocation& given) noexcept
        : location(static_cast<trace::Location>(given.type)), id(static_cast<std::uint64_t>(given.id)) {}
};

/// Who may access memory: the first of a list, and of all a bit for each device.
struct Access {
    trace::Location location{};
    std::uint64_t id = 0, flags = 0, devices = 0;

    /// `list` may be null.
    Access(const CUmemAccessDesc* list, std::size_t count) noexcept {
        for (std::size_t i = 0; list != nullptr && i < count; ++i) {
            const Place to(list[i].location);
            if (i == 0) {
                location = to.location;
                id = to.id;
                flags = static_cast<std::uint64_t>(list[i].flags);
            }
            if (to.location == trace::Location::device && to.id < 64)
                devices |= std::uint64_t{1} << to.id;
        }
    }
};

/// Looks where the memory at `address` is, if it is managed.
void look_before_prefetch(CUdeviceptr address) noexcept;
/// The same, before a prefetch to a device that is to run now and that nobody else tells of. `record` has its
/// stream.
void begin_prefetch(const trace::Prefetch& record, CUdeviceptr address, Place place) noexcept;

/// Fills in the allocation and the stack, tells the actions where the memory is now, records.
void finish_prefetch(trace::Prefetch& record, CUdeviceptr address, std::uint64_t bytes, Place place) noexcept;
void finish_advise(trace::Advise& record, CUdeviceptr address, std::uint64_t bytes, CUmem_advise advice,
                   Place place) noexcept;
void finish_attach(trace::Attach& record, CUdeviceptr address, std::uint64_t bytes) noexcept;

struct prefetch : WhileRecording {
    template <Entry E>
    static CUresult call(CUdeviceptr address, std::size_t bytes, CUdevice device, CUstream stream) noexcept {
        trace::Prefetch record;
        record.stream = stream_of<E>(stream);
        begin_prefetch(record, address, Place(device));
        const CUresult result = timed<E>(record, address, bytes, device, stream);
        finish_prefetch(record, address, bytes, Place(device));
        return result;
    }
};

struct prefetch_location : WhileRecording {
    template <Entry E>
    static CUresult call(CUdeviceptr address, std::size_t bytes, CUmemLocation location, unsigned flags,
                         CUstream stream) noexcept {
        trace::Prefetch record;
        record.stream = stream_of<E>(stream);
        begin_prefetch(record, address, Place(location));
        const CUresult result = timed<E>(record, address, bytes, location, flags, stream);
        finish_prefetch(record, address, bytes, Place(location));
        return result;
    }
};

struct advise : WhilePaused {
    template <Entry E, class Where>
    static CUresult call(CUdeviceptr address, std::size_t bytes, CUmem_advise advice, Where where) noexcept {
        trace::Advise record;
        const CUresult result = timed<E>(record, address, bytes, advice, where);
        finish_advise(record, address, bytes, advice, Place(where));
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
