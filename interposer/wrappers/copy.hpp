/// Copies, one a call, and memory sets.
#pragma once

#include "interposer/act/action.hpp"
#include "interposer/observe/device_timer.hpp"
#include "interposer/wrappers/copy_box.hpp"
#include "interposer/wrappers/hook.hpp"

namespace umadvisor::wrappers {

/// A copy, from before the driver's call to after it.
class CopyScope {
public:
    /// Fills in both ends: memory class, allocation and, for pageable memory, what it is. Before the call,
    /// since a copy may be of memory that another thread frees. Starts the device timer for asynchronous
    /// copies.
    CopyScope(const CopyBox& box, trace::StreamId stream, bool asynchronous) noexcept;

    /// Makes the call, unless an action makes the copy in its stead, and records it.
    template <Entry E, class... Arguments>
    CUresult make(Arguments... arguments) noexcept {
        const CUresult result = timed_call<E>(record_, [&] {
            if (act::notify<&act::Action::instead_of_moving>(record_) ||
                act::notify<&act::Action::instead_of_copy>(record_))
                return CUDA_SUCCESS;
            make_earlier_calls();
            return attach::real<E>()(arguments...);
        });
        finish();
        return result;
    }

private:
    /// Those that are deferred, whose time does not count for this copy.
    void make_earlier_calls() noexcept {
        if (act::calls_are_deferred()) [[unlikely]] {
            act::make_deferred_calls_if_any();
            record_.start = record::now();
        }
    }
    void finish() noexcept;
    /// Of a copy between host and device.
    std::uint64_t host_span() const noexcept {
        return record_.destination_memory == trace::Memory::device ||
                       record_.destination_memory == trace::Memory::array
                   ? box_.source.span
                   : box_.destination.span;
    }

    const CopyBox& box_;
    trace::Copy record_;
    observe::DeviceSample sample_;
    bool from_file_ = false; ///< so much of a mapped file that its pages may come from the disk meanwhile
    std::uint64_t major_faults_ = 0; ///< of the thread before the call, where it is from a file
};

/// What a copy and the records of batches have in common.
/// Returns whether the source is a mapped file.
bool describe_copy(trace::Copy& record, const CopyBox& box) noexcept;
/// A copy has succeeded: managed memory at its ends may have moved.
void note_moved(const trace::Copy& record, const CopyBox& box) noexcept;

template <Entry E, class... Arguments>
CUresult copy_now(const CopyBox& box, Arguments... arguments) noexcept {
    return CopyScope(box, stream_of<E>(nullptr), false).template make<E>(arguments...);
}

template <Entry E, class... Arguments>
CUresult copy_later(const CopyBox& box, CUstream stream, Arguments... arguments) noexcept {
    return CopyScope(box, stream_of<E>(stream), true).template make<E>(arguments...);
}

/// Destination, source, bytes: the shape of cuMemcpy, HtoD, DtoH and DtoD.
struct copy : WhileRecording {
    static constexpr bool is_deferred = true;
    template <Entry E, class Destination, class Source>
    static CUresult call(Destination destination, Source source, std::size_t bytes) noexcept {
        return copy_now<E>({destination, source, bytes}, destination, source, bytes);
    }
};

struct copy_async : WhileRecording {
    static constexpr bool is_deferred = true;
    template <Entry E, class Destination, class Source>
    static CUresult call(Destination destination, Source source, std::size_t bytes, CUstream stream) noexcept {
        return copy_later<E>({destination, source, bytes}, stream, destination, source, bytes, stream);
    }
};

struct copy_peer : WhileRecording {
    template <Entry E>
    static CUresult call(CUdeviceptr destination, CUcontext to, CUdeviceptr source, CUcontext from,
                         std::size_t bytes) noexcept {
        return copy_now<E>({destination, source, bytes}, destination, to, source, from, bytes);
    }
};

struct copy_peer_async : WhileRecording {
    template <Entry E>
    static CUresult call(CUdeviceptr destination, CUcontext to, CUdeviceptr source, CUcontext from,
                         std::size_t bytes, CUstream stream) noexcept {
        return copy_later<E>({destination, source, bytes}, stream, destination, to, source, from, bytes,
                             stream);
    }
};

struct copy_atoa : WhileRecording {
    template <Entry E>
    static CUresult call(CUarray destination, std::size_t to, CUarray source, std::size_t from,
                         std::size_t bytes) noexcept {
        return copy_now<E>({destination, source, bytes}, destination, to, source, from, bytes);
    }
};

/// From an array: destination, array, offset in the array, bytes.
struct copy_atod : WhileRecording {
    template <Entry E, class Destination>
    static CUresult call(Destination destination, CUarray source, std::size_t offset,
                         std::size_t bytes) noexcept {
        return copy_now<E>({destination, source, bytes}, destination, source, offset, bytes);
    }
};

/// To an array: array, offset in it, source, bytes.
struct copy_dtoa : WhileRecording {
    template <Entry E, class Source>
    static CUresult call(CUarray destination, std::size_t offset, Source source, std::size_t bytes) noexcept {
        return copy_now<E>({destination, source, bytes}, destination, offset, source, bytes);
    }
};

struct copy_atoh_async : WhileRecording {
    template <Entry E>
    static CUresult call(void* destination, CUarray source, std::size_t offset, std::size_t bytes,
                         CUstream stream) noexcept {
        return copy_later<E>({destination, source, bytes}, stream, destination, source, offset, bytes, stream);
    }
};

struct copy_htoa_async : WhileRecording {
    template <Entry E>
    static CUresult call(CUarray destination, std::size_t offset, const void* source, std::size_t bytes,
                         CUstream stream) noexcept {
        return copy_later<E>({destination, source, bytes}, stream, destination, offset, source, bytes, stream);
    }
};

/// cuMemcpy2D, cuMemcpy3D, cuMemcpy3DPeer: the structure may be null, which is the driver's to refuse.
struct copy_rows : WhileRecording {
    template <Entry E, class Given>
    static CUresult call(const Given* given) noexcept {
        return copy_now<E>(given != nullptr ? box_of(*given) : CopyBox(), given);
    }
};

struct copy_rows_async : WhileRecording {
    template <Entry E, class Given>
    static CUresult call(const Given* given, CUstream stream) noexcept {
        return copy_later<E>(given != nullptr ? box_of(*given) : CopyBox(), stream, given, stream);
    }
};

trace::Set begin_set(CUdeviceptr address, std::uint64_t bytes, std::uint64_t value, trace::StreamId stream,
                     bool asynchronous) noexcept;
void finish_set(trace::Set& record) noexcept;

inline void set_rows(trace::Set& record, std::uint64_t width, std::uint64_t height,
                     std::uint64_t pitch) noexcept {
    record.width = width;
    record.height = height;
    record.pitch = pitch;
}

/// `Element` bytes, in one dimension or as rows of a pitch.
template <std::size_t Element>
struct Set : WhileRecording {
    template <Entry E, class Value>
    static CUresult call(CUdeviceptr address, Value value, std::size_t count) noexcept {
        trace::Set record = begin_set(address, count * Element, value, stream_of<E>(nullptr), false);
        const CUresult result = timed<E>(record, address, value, count);
        finish_set(record);
        return result;
    }
};

template <std::size_t Element>
struct SetAsync : WhileRecording {
    template <Entry E, class Value>
    static CUresult call(CUdeviceptr address, Value value, std::size_t count, CUstream stream) noexcept {
        trace::Set record = begin_set(address, count * Element, value, stream_of<E>(stream), true);
        const CUresult result = timed<E>(record, address, value, count, stream);
        finish_set(record);
        return result;
    }
};

template <std::size_t Element>
struct SetRows : WhileRecording {
    template <Entry E, class Value>
    static CUresult call(CUdeviceptr address, std::size_t pitch, Value value, std::size_t width,
                         std::size_t height) noexcept {
        trace::Set record = begin_set(address, width * height * Element, value, stream_of<E>(nullptr), false);
        set_rows(record, width * Element, height, pitch);
        const CUresult result = timed<E>(record, address, pitch, value, width, height);
        finish_set(record);
        return result;
    }
};

template <std::size_t Element>
struct SetRowsAsync : WhileRecording {
    template <Entry E, class Value>
    static CUresult call(CUdeviceptr address, std::size_t pitch, Value value, std::size_t width,
                         std::size_t height, CUstream stream) noexcept {
        trace::Set record = begin_set(address, width * height * Element, value, stream_of<E>(stream), true);
        set_rows(record, width * Element, height, pitch);
        const CUresult result = timed<E>(record, address, pitch, value, width, height, stream);
        finish_set(record);
        return result;
    }
};

} // namespace umadvisor::wrappers
