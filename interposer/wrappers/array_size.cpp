#include "interposer/wrappers/array_size.hpp"

#include <algorithm>
#include <bit>

namespace umadvisor::wrappers {

namespace {

/// Of 4 x 4 elements that are compressed together; 0: the format compresses nothing.
std::uint64_t block_bytes(CUarray_format format) {
    switch (format) {
    case CU_AD_FORMAT_BC1_UNORM:
    case CU_AD_FORMAT_BC1_UNORM_SRGB:
    case CU_AD_FORMAT_BC4_UNORM:
    case CU_AD_FORMAT_BC4_SNORM:
        return 8;
    case CU_AD_FORMAT_BC2_UNORM:
    case CU_AD_FORMAT_BC2_UNORM_SRGB:
    case CU_AD_FORMAT_BC3_UNORM:
    case CU_AD_FORMAT_BC3_UNORM_SRGB:
    case CU_AD_FORMAT_BC5_UNORM:
    case CU_AD_FORMAT_BC5_SNORM:
    case CU_AD_FORMAT_BC6H_UF16:
    case CU_AD_FORMAT_BC6H_SF16:
    case CU_AD_FORMAT_BC7_UNORM:
    case CU_AD_FORMAT_BC7_UNORM_SRGB:
        return 16;
    default:
        return 0;
    }
}

std::uint64_t level_bytes(const ArrayExtent& extent, std::uint64_t width, std::uint64_t height,
                          std::uint64_t depth) {
    if (const std::uint64_t block = block_bytes(extent.format))
        return (width + 3) / 4 * ((height + 3) / 4) * depth * block;
    return (width * height * depth * element_bits(extent.format, extent.channels) + 7) / 8;
}

} // namespace

std::uint64_t element_bits(CUarray_format format, unsigned channels) noexcept {
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return 8 * channels;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 16 * channels;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 32 * channels;
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X1:
        return 8;
    case CU_AD_FORMAT_NV12: // 8 bits a sample, 4:2:0
        return 12;
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X1:
    case CU_AD_FORMAT_NV16: // 8 bits, 4:2:2
    case CU_AD_FORMAT_YUY2:
        return 16;
    case CU_AD_FORMAT_P010: // 10 or 16 bits in 16, 4:2:0
    case CU_AD_FORMAT_P016:
    case CU_AD_FORMAT_Y444_PLANAR8:
    case CU_AD_FORMAT_YUV444_8bit_SemiPlanar:
        return 24;
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT8X4:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X2:
    case CU_AD_FORMAT_UNORM_INT_101010_2:
    case CU_AD_FORMAT_P210: // 10 or 16 bits in 16, 4:2:2
    case CU_AD_FORMAT_P216:
    case CU_AD_FORMAT_Y210:
    case CU_AD_FORMAT_Y216:
    case CU_AD_FORMAT_AYUV:
    case CU_AD_FORMAT_Y410:
        return 32;
    case CU_AD_FORMAT_Y444_PLANAR10:
    case CU_AD_FORMAT_YUV444_16bit_SemiPlanar:
        return 48;
    case CU_AD_FORMAT_UNORM_INT16X4:
    case CU_AD_FORMAT_SNORM_INT16X4:
    case CU_AD_FORMAT_Y416:
        return 64;
    default:
        return block_bytes(format) * 8 / 16;
    }
}

std::uint64_t array_bytes(const ArrayExtent& extent, unsigned levels) noexcept {
    if ((extent.flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) != 0)
        return 0;
    // Layers and faces of cubes do not shrink from level to level.
    const bool layered = (extent.flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
    std::uint64_t width = std::max<std::uint64_t>(1, extent.width);
    std::uint64_t height = std::max<std::uint64_t>(1, extent.height);
    std::uint64_t depth = std::max<std::uint64_t>(1, extent.depth);
    const auto most = static_cast<unsigned>(std::bit_width(std::max({width, height, layered ? 1 : depth})));
    std::uint64_t bytes = 0;
    for (unsigned level = 0; level < std::clamp(levels, 1u, most); ++level) {
        bytes += level_bytes(extent, width, height, depth);
        width = std::max<std::uint64_t>(1, width / 2);
        height = std::max<std::uint64_t>(1, height / 2);
        depth = layered ? depth : std::max<std::uint64_t>(1, depth / 2);
    }
    return bytes;
}

} // namespace umadvisor::wrappers
