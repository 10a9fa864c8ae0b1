#include "interposer/wrappers/array_size.hpp"
#include "interposer/wrappers/copy_box.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(wrapper_arithmetic)

using namespace umadvisor::wrappers;

namespace {

const auto host = reinterpret_cast<char*>(0x1000);
const auto array = reinterpret_cast<CUarray>(0x77);

ArrayExtent extent(std::uint64_t width, std::uint64_t height, std::uint64_t depth, unsigned flags = 0) {
    return {width, height, depth, CU_AD_FORMAT_FLOAT, 1, flags};
}

} // namespace

BOOST_AUTO_TEST_SUITE(copy_boxes)

BOOST_AUTO_TEST_CASE(rows_begin_at_their_offsets) {
    CUDA_MEMCPY2D given{.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host};
    given.srcDevice = 5; // not asked for
    given.srcPitch = 100;
    given.srcXInBytes = 8;
    given.srcY = 3;
    given.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    given.dstHost = host;
    given.dstDevice = 0x9000;
    given.dstPitch = 64;
    given.dstY = 1;
    given.WidthInBytes = 40;
    given.Height = 10;
    const CopyBox box = box_of(given);
    BOOST_TEST(box.source.address == 0x1000u + 3 * 100 + 8);
    BOOST_TEST(box.destination.address == 0x9000u + 64);
    BOOST_TEST(box.bytes == 400u);
    BOOST_TEST(box.width == 40u);
    BOOST_TEST(box.height == 10u);
    BOOST_TEST(box.depth == 1u);
    BOOST_TEST(box.source.pitch == 100u);
    BOOST_TEST(box.source.span == 9u * 100 + 40);
    BOOST_TEST(box.destination.pitch == 64u);
}

BOOST_AUTO_TEST_CASE(layers_are_as_high_as_the_call_says) {
    CUDA_MEMCPY3D given{.srcXInBytes = 4,
                        .srcY = 2,
                        .srcZ = 3,
                        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
                        .srcDevice = 0x10000,
                        .srcPitch = 32,
                        .srcHeight = 7,
                        .dstXInBytes = 16,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = array,
                        .dstPitch = 9,
                        .WidthInBytes = 16,
                        .Height = 5,
                        .Depth = 2};
    const CopyBox box = box_of(given);
    BOOST_TEST(box.source.address == 0x10000u + (3 * 7 + 2) * 32 + 4);
    BOOST_TEST(box.source.span == 7u * 32 + 4 * 32 + 16);
    BOOST_TEST(box.destination.array);
    BOOST_TEST(box.destination.address == 0x77u);
    BOOST_TEST(box.destination.pitch == 0u);
    BOOST_TEST(box.bytes == 160u);
    BOOST_TEST(box.depth == 2u);
}

BOOST_AUTO_TEST_CASE(old_structures_read_the_same) {
    CUDA_MEMCPY3D_v1 given{.srcZ = 1,
                           .srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = host,
                           .srcPitch = 0x80000000,
                           .srcHeight = 4,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = 0xf0000000};
    given.WidthInBytes = given.Height = given.Depth = 1;
    const CopyBox box = box_of(given);
    BOOST_TEST(box.source.address == 0x1000u + 0x200000000u);
    BOOST_TEST(box.destination.address == 0xf0000000u);
}

BOOST_AUTO_TEST_CASE(an_unknown_memory_type_has_no_address) {
    CUDA_MEMCPY2D given{.srcHost = host};
    given.srcY = given.srcPitch = 8;
    BOOST_TEST(box_of(given).source.address == 0u);
    BOOST_TEST(box_of(given).bytes == 0u);
    BOOST_TEST(box_of(given).source.span == 0u);
}

BOOST_AUTO_TEST_CASE(operations_count_in_elements_and_are_packed_where_they_do_not_say) {
    CUDA_MEMCPY3D_BATCH_OP given{.extent = {10, 5, 2}};
    given.src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    given.src.op.ptr.ptr = 0x5000;
    given.src.op.ptr.rowLength = 20;
    given.src.op.ptr.layerHeight = 6;
    given.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    given.dst.op.array.array = array;
    CopyBox box = box_of_operation(given, 4);
    BOOST_TEST(box.bytes == 400u);
    BOOST_TEST(box.width == 40u);
    BOOST_TEST(box.source.pitch == 80u);
    BOOST_TEST(box.source.span == 6u * 80 + 4 * 80 + 40);
    BOOST_TEST(box.destination.address == 0x77u);
    given.src.op.ptr.rowLength = given.src.op.ptr.layerHeight = 0;
    box = box_of_operation(given, 4);
    BOOST_TEST(box.source.pitch == 40u);
    BOOST_TEST(box.source.span == 400u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(array_sizes)

BOOST_AUTO_TEST_CASE(extents_of_zero_are_missing_dimensions) {
    BOOST_TEST(array_bytes(extent(100, 0, 0), 1) == 400u);
    BOOST_TEST(array_bytes(extent(100, 10, 0), 1) == 4000u);
    BOOST_TEST(array_bytes(extent(100, 10, 3), 1) == 12000u);
    BOOST_TEST(array_bytes(extent(100, 0, 6, CUDA_ARRAY3D_LAYERED), 1) == 2400u);
}

BOOST_AUTO_TEST_CASE(levels_halve_but_layers_stay) {
    BOOST_TEST(array_bytes(extent(8, 4, 0), 3) == 4u * (32 + 8 + 2));
    BOOST_TEST(array_bytes(extent(8, 4, 4), 2) == 4u * (128 + 4 * 2 * 2));
    BOOST_TEST(array_bytes(extent(8, 4, 4, CUDA_ARRAY3D_LAYERED), 2) == 4u * (128 + 4 * 2 * 4));
    // At most 1 + floor(log2(largest extent)).
    BOOST_TEST(array_bytes(extent(4, 4, 0), 99) == 4u * (16 + 4 + 1));
    BOOST_TEST(array_bytes(extent(4, 4, 64, CUDA_ARRAY3D_LAYERED), 99) == 4u * 64 * (16 + 4 + 1));
    BOOST_TEST(array_bytes(extent(4, 4, 0), 0) == 64u);
}

BOOST_AUTO_TEST_CASE(formats_have_their_own_bits) {
    const auto bytes = [](CUarray_format format, unsigned channels) {
        return array_bytes({6, 6, 0, format, channels, 0}, 1);
    };
    BOOST_TEST(bytes(CU_AD_FORMAT_UNSIGNED_INT8, 4) == 144u);
    BOOST_TEST(bytes(CU_AD_FORMAT_HALF, 2) == 144u);
    BOOST_TEST(bytes(CU_AD_FORMAT_UNORM_INT8X4, 4) == 144u);
    BOOST_TEST(bytes(CU_AD_FORMAT_NV12, 3) == 54u);
    BOOST_TEST(bytes(CU_AD_FORMAT_BC1_UNORM, 4) == 4u * 8); // 2 x 2 blocks
    BOOST_TEST(bytes(CU_AD_FORMAT_BC7_UNORM, 4) == 4u * 16);
    BOOST_TEST(bytes(static_cast<CUarray_format>(0x7fff), 4) == 0u);
}

BOOST_AUTO_TEST_CASE(what_is_mapped_later_takes_nothing) {
    BOOST_TEST(array_bytes(extent(64, 64, 0, CUDA_ARRAY3D_SPARSE), 1) == 0u);
    BOOST_TEST(array_bytes(extent(64, 64, 0, CUDA_ARRAY3D_DEFERRED_MAPPING), 1) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
