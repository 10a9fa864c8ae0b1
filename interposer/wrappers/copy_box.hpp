/// A copy in one form, whichever of the driver's structures describes it.
#pragma once

#include "interposer/attach/entries.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::wrappers {

/// One end of a copy as the call names it.
struct CopyEnd {
    std::uint64_t address = 0; ///< of the first byte; of an array its handle
    bool array = false;
    std::uint64_t pitch = 0; ///< bytes from row to row; 0: one dimension, or an array's own
    std::uint64_t span = 0;  ///< bytes from the first to the end of the last; 0: an array

    CopyEnd() noexcept = default;
    CopyEnd(CUdeviceptr device) noexcept : address(device) {}
    CopyEnd(const void* host) noexcept : address(reinterpret_cast<std::uint64_t>(host)) {}
    CopyEnd(CUarray handle) noexcept : address(reinterpret_cast<std::uint64_t>(handle)), array(true) {}
};

struct CopyBox {
    CopyEnd destination, source;
    std::uint64_t bytes = 0;                        ///< that move
    std::uint64_t width = 0, height = 0, depth = 0; ///< bytes of a row, rows, layers; 0: one dimension

    CopyBox() noexcept = default;
    CopyBox(CopyEnd to, CopyEnd from, std::uint64_t length) noexcept
        : destination(to), source(from), bytes(length) {
        destination.span = destination.array ? 0 : length;
        source.span = source.array ? 0 : length;
    }
};

/// One end as cuMemcpy2D, cuMemcpy3D and cuMemcpy3DPeer name it; `layer_height` in rows, offsets in bytes, rows
/// and layers.
struct RowsEnd {
    CUmemorytype type;
    const void* host;
    CUdeviceptr device;
    CUarray array;
    std::uint64_t pitch, layer_height;
    std::uint64_t x, y, z;
};

CopyBox box_of_rows(const RowsEnd& destination, const RowsEnd& source, std::uint64_t width,
                    std::uint64_t height, std::uint64_t depth) noexcept;

/// CUDA_MEMCPY2D, CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER, the 32-bit forms of the first two included.
template <class Given>
CopyBox box_of(const Given& given) noexcept {
    RowsEnd to{given.dstMemoryType, given.dstHost,  given.dstDevice,
               given.dstArray,      given.dstPitch, 0,
               given.dstXInBytes,   given.dstY,     0};
    RowsEnd from{given.srcMemoryType, given.srcHost,  given.srcDevice,
                 given.srcArray,      given.srcPitch, 0,
                 given.srcXInBytes,   given.srcY,     0};
    std::uint64_t depth = 1;
    if constexpr (requires { given.Depth; }) {
        to.layer_height = given.dstHeight;
        to.z = given.dstZ;
        from.layer_height = given.srcHeight;
        from.z = given.srcZ;
        depth = given.Depth;
    }
    return box_of_rows(to, from, given.WidthInBytes, given.Height, depth);
}

/// One of cuMemcpy3DBatchAsync, whose widths count elements of `element` bytes: the array's where there is one,
/// else 1.
CopyBox box_of_operation(const CUDA_MEMCPY3D_BATCH_OP& operation, std::uint64_t element) noexcept;

} // namespace umadvisor::wrappers
