// CUDA arrays, and copies of rows and of batches to and from them.
#include "tests/unit/simcuda/driver_library.hpp"

#include <numeric>
#include <vector>

BOOST_AUTO_TEST_SUITE(simcuda_array)

using namespace simcuda;

using Bytes = std::vector<unsigned char>;

struct ArrayFixture : DriverFixture {
    static Bytes counting(std::size_t size) {
        Bytes bytes(size);
        std::iota(bytes.begin(), bytes.end(), 1);
        return bytes;
    }
    static CUarray make(std::size_t width, std::size_t height, std::size_t depth, unsigned flags = 0) {
        CUDA_ARRAY3D_DESCRIPTOR descriptor{width, height, depth, CU_AD_FORMAT_UNSIGNED_INT16, 2, flags};
        CUarray array = nullptr;
        DO(cuArray3DCreate_v2, &array, &descriptor);
        return array;
    }
    const CUdeviceptr device = allocate(1 << 20), managed = allocate_managed(8 << 20);
    const CUstream stream = make_stream();
};

namespace {

CUDA_MEMCPY2D rows(std::size_t width, std::size_t height) {
    return {.WidthInBytes = width, .Height = height};
}

void to_device(CUDA_MEMCPY2D& copy, CUdeviceptr at, std::size_t pitch) {
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = at;
    copy.dstPitch = pitch;
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(arrays, ArrayFixture)

BOOST_AUTO_TEST_CASE(rows_go_to_their_places) {
    const Bytes from = counting(100);
    CUDA_MEMCPY2D there = rows(4, 3);
    there.srcMemoryType = CU_MEMORYTYPE_HOST;
    there.srcHost = from.data();
    there.srcPitch = 10;
    there.srcXInBytes = 2;
    there.srcY = 1;
    to_device(there, device, 32);
    there.dstXInBytes = 8;
    there.dstY = 2;
    DRIVER(cuMemsetD8_v2)(device, 0, 256);
    const auto before = control().copies[host_to_device][pageable][device_memory];
    DO(cuMemcpy2D_v2, &there);
    const auto after = control().copies[host_to_device][pageable][device_memory];
    BOOST_TEST(after.calls == before.calls + 1);
    BOOST_TEST(after.bytes == before.bytes + 12);
    Bytes back(256);
    DRIVER(cuMemcpyDtoH_v2)(back.data(), device, back.size());
    Bytes expected(256);
    for (std::size_t row = 0; row < 3; ++row)
        for (std::size_t x = 0; x < 4; ++x)
            expected[(2 + row) * 32 + 8 + x] = from[(1 + row) * 10 + 2 + x];
    BOOST_TEST((back == expected));
}

BOOST_AUTO_TEST_CASE(pitches_that_do_not_hold_a_row_are_refused) {
    const Bytes from = counting(100);
    CUDA_MEMCPY2D copy = rows(8, 2);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = from.data();
    copy.srcPitch = 7;
    to_device(copy, device, 8);
    BOOST_TEST(DRIVER(cuMemcpy2D_v2)(&copy) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(DRIVER(cuMemcpy2D_v2)(nullptr) == CUDA_ERROR_INVALID_VALUE);
    copy.srcPitch = 8;
    DO(cuMemcpy2DUnaligned_v2, &copy);
    copy.srcMemoryType = static_cast<CUmemorytype>(0);
    BOOST_TEST(DRIVER(cuMemcpy2D_v2)(&copy) == CUDA_ERROR_INVALID_VALUE);
}

BOOST_AUTO_TEST_CASE(a_box_goes_into_an_array_and_back) {
    const CUarray array = make(8, 4, 3); // 4 bytes an element
    CUDA_ARRAY3D_DESCRIPTOR told{};
    DO(cuArray3DGetDescriptor_v2, &told, array);
    BOOST_TEST(told.Width == 8u);
    BOOST_TEST(told.Depth == 3u);
    const Bytes from = counting(16 * 2 * 2);
    CUDA_MEMCPY3D there{.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = from.data(),
                        .srcPitch = 16,
                        .srcHeight = 2,
                        .dstXInBytes = 8,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = array};
    there.dstY = there.dstZ = 1;
    there.WidthInBytes = 16;
    there.Height = there.Depth = 2;
    DO(cuMemcpy3DAsync_v2, &there, stream);
    CUDA_MEMCPY3D_PEER back{};
    Bytes into(from.size());
    back.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    back.srcArray = array;
    back.srcXInBytes = 8;
    back.srcY = back.srcZ = 1;
    back.dstMemoryType = CU_MEMORYTYPE_HOST;
    back.dstHost = into.data();
    back.dstPitch = 16;
    back.dstHeight = 2;
    back.WidthInBytes = 16;
    back.Height = back.Depth = 2;
    DO(cuMemcpy3DPeer, &back);
    BOOST_TEST((into == from));
    // One row at its offset in the whole: (z 1, y 1, x 8).
    Bytes row(16);
    DO(cuMemcpyAtoH_v2, row.data(), array, 128 + 32 + 8, 16);
    BOOST_TEST((row == Bytes(from.begin(), from.begin() + 16)));
    BOOST_TEST(DRIVER(cuMemcpyAtoH_v2)(row.data(), array, 8 * 4 * 4 * 3 - 15, 16) == CUDA_ERROR_INVALID_VALUE);
    there.dstY = 3;
    BOOST_TEST(DRIVER(cuMemcpy3D_v2)(&there) == CUDA_ERROR_INVALID_VALUE);
    DO(cuArrayDestroy, array);
    BOOST_TEST(DRIVER(cuArrayDestroy)(array) == CUDA_ERROR_INVALID_HANDLE);
    there.dstY = 1;
    BOOST_TEST(DRIVER(cuMemcpy3D_v2)(&there) == CUDA_ERROR_INVALID_VALUE);
}

BOOST_AUTO_TEST_CASE(old_structures_serve_arrays_and_the_host) {
    CUDA_ARRAY_DESCRIPTOR_v1 descriptor{16, 4, CU_AD_FORMAT_UNSIGNED_INT8, 1};
    CUarray array = nullptr;
    DO(cuArrayCreate, &array, &descriptor);
    const Bytes from = counting(64);
    CUDA_MEMCPY2D_v1 there{.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = from.data(),
                           .srcPitch = 16,
                           .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                           .dstArray = array,
                           .WidthInBytes = 16,
                           .Height = 4};
    DO(cuMemcpy2D, &there);
    Bytes back(64);
    DO(cuMemcpyAtoH_v2, back.data(), array, 0, 64);
    BOOST_TEST((back == from));
    DRIVER(cuArrayDestroy)(array);
}

BOOST_AUTO_TEST_CASE(arrays_take_device_memory) {
    const auto before = control().allocated_device_bytes;
    const CUarray array = make(256, 256, 0);
    BOOST_TEST(control().allocated_device_bytes == before + 256 * 256 * 4);
    DRIVER(cuArrayDestroy)(array);
    BOOST_TEST(control().allocated_device_bytes == before);
    const CUarray sparse = make(256, 256, 0, CUDA_ARRAY3D_SPARSE);
    BOOST_TEST(control().allocated_device_bytes == before);
    Bytes row(16);
    BOOST_TEST(DRIVER(cuMemcpyAtoH_v2)(row.data(), sparse, 0, 16) == CUDA_ERROR_INVALID_VALUE);
    DRIVER(cuArrayDestroy)(sparse);
    CUarray array_of_nothing = nullptr;
    CUDA_ARRAY_DESCRIPTOR none{0, 0, CU_AD_FORMAT_FLOAT, 1};
    BOOST_TEST(DRIVER(cuArrayCreate_v2)(&array_of_nothing, &none) == CUDA_ERROR_INVALID_VALUE);
    none = {4, 4, CU_AD_FORMAT_FLOAT, 3};
    BOOST_TEST(DRIVER(cuArrayCreate_v2)(&array_of_nothing, &none) == CUDA_ERROR_INVALID_VALUE);
}

BOOST_AUTO_TEST_CASE(levels_halve_and_go_with_the_whole) {
    CUDA_ARRAY3D_DESCRIPTOR descriptor{16, 8, 0, CU_AD_FORMAT_FLOAT, 1, 0};
    CUmipmappedArray whole = nullptr;
    const auto before = control().allocated_device_bytes;
    DO(cuMipmappedArrayCreate, &whole, &descriptor, 99);
    CUarray level = nullptr;
    DO(cuMipmappedArrayGetLevel, &level, whole, 4);
    CUDA_ARRAY_DESCRIPTOR told{};
    DRIVER(cuArrayGetDescriptor_v2)(&told, level);
    BOOST_TEST(told.Width == 1u);
    BOOST_TEST(told.Height == 1u);
    BOOST_TEST(DRIVER(cuMipmappedArrayGetLevel)(&level, whole, 5) == CUDA_ERROR_INVALID_VALUE);
    DO(cuMipmappedArrayGetLevel, &level, whole, 1);
    BOOST_TEST(DRIVER(cuArrayDestroy)(level) == CUDA_ERROR_INVALID_HANDLE);
    const Bytes from = counting(8 * 4 * 4);
    DO(cuMemcpyHtoA_v2, level, 0, from.data(), from.size());
    DO(cuMipmappedArrayDestroy, whole);
    BOOST_TEST(DRIVER(cuMemcpyHtoA_v2)(level, 0, from.data(), from.size()) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(control().allocated_device_bytes == before);
}

BOOST_AUTO_TEST_CASE(a_batch_makes_all_its_copies) {
    const Bytes from = counting(300);
    const auto host = reinterpret_cast<CUdeviceptr>(from.data());
    CUdeviceptr targets[] = {device, device + 1000, device + 2000};
    CUdeviceptr sources[] = {host, host + 100, host + 200};
    std::size_t sizes[] = {100, 50, 100}, first[] = {0, 2}, failed = 77;
    CUmemcpyAttributes attributes[2] = {};
    attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    const auto before = control().copies[host_to_device][pageable][device_memory].calls;
    DO(cuMemcpyBatchAsync_v2, targets, sources, sizes, 3, attributes, first, 2, stream);
    BOOST_TEST(control().copies[host_to_device][pageable][device_memory].calls == before + 3);
    Bytes back(100);
    DRIVER(cuMemcpyDtoH_v2)(back.data(), device + 2000, 100);
    BOOST_TEST((back == Bytes(from.begin() + 200, from.end())));
    // The legacy stream, attributes that do not begin with the first copy, an end that is nowhere.
    const auto batch = [&](CUstream in) {
        return DRIVER(cuMemcpyBatchAsync)(targets, sources, sizes, 3, attributes, first, 2, &failed, in);
    };
    BOOST_TEST(batch(nullptr) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(failed == ~std::size_t{0});
    DO(cuMemcpyBatchAsync_ptsz, targets, sources, sizes, 3, attributes, first, 2, &failed, nullptr);
    first[0] = 1;
    BOOST_TEST(batch(stream) == CUDA_ERROR_INVALID_VALUE);
    first[0] = 0;
    targets[1] = device + (1 << 20);
    BOOST_TEST(batch(stream) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(failed == 1u);
}

BOOST_AUTO_TEST_CASE(operations_count_in_the_arrays_elements) {
    const CUarray array = make(8, 4, 0);
    const Bytes from = counting(4 * 4 * 2);
    CUDA_MEMCPY3D_BATCH_OP operations[2] = {};
    operations[0].src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    operations[0].src.op.ptr.ptr = reinterpret_cast<CUdeviceptr>(from.data());
    operations[0].dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    operations[0].dst.op.array.array = array;
    operations[0].dst.op.array.offset = {2, 1, 0};
    operations[0].extent = {4, 2, 1};
    operations[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    operations[1] = operations[0];
    operations[1].src = operations[0].dst;
    operations[1].dst = operations[0].src;
    operations[1].dst.op.ptr.ptr = device;
    operations[1].dst.op.ptr.rowLength = 10;
    DO(cuMemcpy3DBatchAsync_v2, 2, operations, 0, stream);
    Bytes back(16);
    DRIVER(cuMemcpyDtoH_v2)(back.data(), device + 40, 16);
    BOOST_TEST((back == Bytes(from.begin() + 16, from.end())));
    std::size_t failed = 5;
    operations[1].extent.depth = 0;
    BOOST_TEST(DRIVER(cuMemcpy3DBatchAsync)(2, operations, &failed, 0, stream) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(failed == 1u);
    DRIVER(cuArrayDestroy)(array);
}

BOOST_AUTO_TEST_CASE(rows_are_set) {
    DRIVER(cuMemsetD8_v2)(device, 9, 64);
    DO(cuMemsetD2D16_v2, device + 2, 16, 0x0201, 3, 2);
    Bytes back(32);
    DRIVER(cuMemcpyDtoH_v2)(back.data(), device, 32);
    BOOST_TEST((back == Bytes{9, 9, 1, 2, 1, 2, 1, 2, 9, 9, 9, 9, 9, 9, 9, 9,
                              9, 9, 1, 2, 1, 2, 1, 2, 9, 9, 9, 9, 9, 9, 9, 9}));
    BOOST_TEST(DRIVER(cuMemsetD2D16_v2)(device, 4, 1, 3, 2) == CUDA_ERROR_INVALID_VALUE);
}

BOOST_AUTO_TEST_CASE(ranges_are_prefetched_and_discarded_together) {
    constexpr std::size_t block = 2 << 20;
    CUdeviceptr ranges[] = {managed, managed + block, managed + 2 * block};
    std::size_t sizes[] = {block, block, block}, first[] = {0, 2};
    CUmemLocation places[2] = {};
    places[0] = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    places[1] = {CU_MEM_LOCATION_TYPE_HOST, {0}};
    const auto prefetch = [&](CUstream in) {
        return DRIVER(cuMemPrefetchBatchAsync)(ranges, sizes, 3, places, first, 2, 0, in);
    };
    const auto last = [&](CUdeviceptr at) {
        int where = 99;
        DRIVER(cuMemRangeGetAttribute)(&where, 4, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, at, block);
        return where;
    };
    BOOST_TEST(prefetch(nullptr) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(prefetch(stream) == CUDA_SUCCESS);
    BOOST_TEST(last(ranges[1]) == 0);
    BOOST_TEST(last(ranges[2]) == CU_DEVICE_CPU);
    DO(cuMemDiscardBatchAsync, ranges, sizes, 2, 0, stream);
    BOOST_TEST(last(ranges[1]) == CU_DEVICE_INVALID);
    const auto moved = control().bytes_to_device[1];
    DO(cuMemDiscardAndPrefetchBatchAsync, ranges, sizes, 3, places, first, 1, 0, stream);
    BOOST_TEST(last(ranges[2]) == 0);
    BOOST_TEST(control().bytes_to_device[1] == moved); // nothing of what was discarded travels
    ranges[0] = device;
    BOOST_TEST(DRIVER(cuMemDiscardBatchAsync)(ranges, sizes, 1, 0, stream) == CUDA_ERROR_INVALID_VALUE);
}

BOOST_AUTO_TEST_CASE(whole_managed_allocations_are_attached) {
    const auto attach = [&](CUdeviceptr at, std::size_t bytes, unsigned flags, CUstream to) {
        return DRIVER(cuStreamAttachMemAsync)(to, at, bytes, flags);
    };
    BOOST_TEST(attach(managed, 0, CU_MEM_ATTACH_SINGLE, stream) == CUDA_SUCCESS);
    BOOST_TEST(attach(managed, 8 << 20, CU_MEM_ATTACH_GLOBAL, nullptr) == CUDA_SUCCESS);
    BOOST_TEST(attach(managed, 4096, CU_MEM_ATTACH_HOST, stream) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(attach(managed, 0, CU_MEM_ATTACH_SINGLE, nullptr) == CUDA_ERROR_INVALID_VALUE);
    BOOST_TEST(attach(device, 0, CU_MEM_ATTACH_HOST, stream) == CUDA_ERROR_INVALID_VALUE);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
