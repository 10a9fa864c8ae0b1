// Copies rows, layers, arrays and batches through every entry point there is for it, plain and per-thread, in
// both signatures of a name that has two. Prints what the driver answers and what arrived; writes to ./expected
// what each call hands over, one JSON object a line: what a trace of this run has to hold.
#include "driver_program.hpp"

#include <cinttypes>
#include <functional>
#include <string>
#include <vector>

namespace {

using Number = std::uint64_t;
constexpr cuuint64_t plain = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
constexpr cuuint64_t per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

std::FILE* expected = nullptr;

Number number(const void* pointer) {
    return reinterpret_cast<Number>(pointer);
}

/// Memory that ends of copies lie in; `base` is what its allocation was recorded under.
struct Memory {
    const char* name;
    Number base;
    CUmemorytype type;
};

/// An end as the trace shall tell it: the first byte moved; of an array its handle.
struct End {
    const Memory& memory;
    Number address, pitch;
};

void expect_copy(const std::string& entry, const End& to, const End& from, Number bytes, Number width,
                 Number height, Number depth, Number batch, CUstream stream) {
    std::fprintf(
        expected,
        "{\"record\": \"Copy\", \"entry\": \"%s\", \"destination\": \"0x%" PRIx64 "\", \"source\": \"0x%" PRIx64
        "\", \"bytes\": %" PRIu64
        ", \"destination_memory\": \"%s\", \"source_memory\": \"%s\", \"destination_base\": \"0x%" PRIx64
        "\", \"source_base\": \"0x%" PRIx64 "\", \"destination_pitch\": %" PRIu64 ", \"source_pitch\": %" PRIu64
        ", \"width\": %" PRIu64 ", \"height\": %" PRIu64 ", \"depth\": %" PRIu64 ", \"batch\": %" PRIu64
        ", \"stream\": \"0x%" PRIx64 "\"}\n",
        entry.c_str(), to.address, from.address, bytes, to.memory.name, from.memory.name, to.memory.base,
        from.memory.base, to.pitch, from.pitch, width, height, depth, batch, number(stream));
}

void expect_range(const char* record, const std::string& entry, Number address, Number bytes, Number base,
                  const std::string& rest) {
    std::fprintf(expected,
                 "{\"record\": \"%s\", \"entry\": \"%s\", \"address\": \"0x%" PRIx64 "\", \"bytes\": %" PRIu64
                 ", \"base\": \"0x%" PRIx64 "\"%s}\n",
                 record, entry.c_str(), address, bytes, base, rest.c_str());
}

void show(const std::string& what, CUresult result) {
    std::printf("%s: %d\n", what.c_str(), static_cast<int>(result));
}

struct Memories {
    std::vector<unsigned char> bytes = std::vector<unsigned char>(1 << 20);
    CUdeviceptr device = 0, managed = 0;
    void* pinned = nullptr;
    CUarray array = nullptr, level = nullptr;
    CUmipmappedArray mipmapped = nullptr;
    CUstream stream = nullptr;
    Memory heap{}, on_device{}, shared{}, locked{}, in_array{}, in_level{};
};

constexpr std::size_t array_row = 256; ///< bytes; the array has 64 rows and 8 layers, its level 1 half of each

Memories make() {
    Memories m;
    for (std::size_t i = 0; i < m.bytes.size(); ++i)
        m.bytes[i] = static_cast<unsigned char>(i * 7 + i / 251);
    must(ASK("cuMemAlloc", cuMemAlloc_v2)(&m.device, 1 << 20), "device");
    must(ASK("cuMemAllocManaged", cuMemAllocManaged)(&m.managed, 8 << 20, CU_MEM_ATTACH_GLOBAL), "managed");
    must(ASK("cuMemHostAlloc", cuMemHostAlloc)(&m.pinned, 1 << 20, 0), "pinned");
    std::memset(m.pinned, 0, 1 << 20);
    must(ASK("cuStreamCreate", cuStreamCreate)(&m.stream, CU_STREAM_NON_BLOCKING), "stream");
    CUDA_ARRAY3D_DESCRIPTOR box{array_row / 4, 64, 8, CU_AD_FORMAT_FLOAT, 1, 0};
    must(ASK("cuArray3DCreate", cuArray3DCreate_v2)(&m.array, &box), "array");
    must(ASK("cuMipmappedArrayCreate", cuMipmappedArrayCreate)(&m.mipmapped, &box, 2), "mipmapped");
    must(ASK("cuMipmappedArrayGetLevel", cuMipmappedArrayGetLevel)(&m.level, m.mipmapped, 1), "level");
    m.heap = {"pageable", 0, CU_MEMORYTYPE_HOST};
    m.locked = {"pinned", number(m.pinned), CU_MEMORYTYPE_UNIFIED};
    m.on_device = {"device", m.device, CU_MEMORYTYPE_DEVICE};
    m.shared = {"managed", m.managed, CU_MEMORYTYPE_UNIFIED};
    m.in_array = {"array", number(m.array), CU_MEMORYTYPE_ARRAY};
    m.in_level = {"array", number(m.mipmapped), CU_MEMORYTYPE_ARRAY};
    return m;
}

/// One end of a copy of rows: from `base`, skipping x bytes, y rows, z layers.
struct Rows {
    const Memory& memory;
    Number base; ///< address, or handle of the array
    Number pitch, layer_height, x, y, z;

    /// By indexing, not by the formula that the recorder uses.
    Number first() const {
        if (memory.type == CU_MEMORYTYPE_ARRAY)
            return base;
        Number at = base;
        for (Number layer = 0; layer < z; ++layer)
            for (Number row = 0; row < layer_height; ++row)
                at += pitch;
        for (Number row = 0; row < y; ++row)
            at += pitch;
        return at + x;
    }
    End end() const { return {memory, first(), memory.type == CU_MEMORYTYPE_ARRAY ? 0 : pitch}; }
};

template <class Structure>
Structure fill(const Rows& to, const Rows& from, Number width, Number height, Number depth) {
    Structure copy{};
    using Pitch = decltype(copy.srcPitch);
    copy.srcMemoryType = from.memory.type;
    copy.srcHost = reinterpret_cast<const void*>(from.base);
    copy.srcDevice = static_cast<decltype(copy.srcDevice)>(from.base);
    copy.srcArray = reinterpret_cast<CUarray>(from.base);
    copy.srcPitch = static_cast<Pitch>(from.pitch);
    copy.srcXInBytes = static_cast<Pitch>(from.x);
    copy.srcY = static_cast<Pitch>(from.y);
    copy.dstMemoryType = to.memory.type;
    copy.dstHost = reinterpret_cast<void*>(to.base);
    copy.dstDevice = static_cast<decltype(copy.dstDevice)>(to.base);
    copy.dstArray = reinterpret_cast<CUarray>(to.base);
    copy.dstPitch = static_cast<Pitch>(to.pitch);
    copy.dstXInBytes = static_cast<Pitch>(to.x);
    copy.dstY = static_cast<Pitch>(to.y);
    copy.WidthInBytes = static_cast<Pitch>(width);
    copy.Height = static_cast<Pitch>(height);
    if constexpr (requires { copy.Depth; }) {
        copy.srcZ = static_cast<Pitch>(from.z);
        copy.srcHeight = static_cast<Pitch>(from.layer_height);
        copy.dstZ = static_cast<Pitch>(to.z);
        copy.dstHeight = static_cast<Pitch>(to.layer_height);
        copy.Depth = static_cast<Pitch>(depth);
    }
    return copy;
}

/// Calls `function` with a copy in this structure, and says what is to be recorded of it.
template <class Structure, class... Stream>
void copy_rows(CUresult (*function)(const Structure*, Stream...), const std::string& entry, const Rows& to,
               const Rows& from, Number width, Number height, Number depth, CUstream recorded,
               Stream... stream) {
    const Structure copy = fill<Structure>(to, from, width, height, depth);
    show(entry, function(&copy, stream...));
    expect_copy(entry, to.end(), from.end(), width * height * depth, width, height, depth, 0, recorded);
}

void copy_all_rows(Memories& m, cuuint64_t flags) {
    const bool own = flags == per_thread;
    const std::string now = own ? "_ptds" : "", later = own ? "_ptsz" : "";
    const CUstream none = own ? CU_STREAM_PER_THREAD : nullptr;
    const Rows heap{m.heap, number(m.bytes.data()), 300, 20, 12, 2, 1},
        device{m.on_device, m.device, 512, 16, 4, 3, 1}, shared{m.shared, m.managed, 1024, 10, 0, 1, 0},
        locked{m.locked, number(m.pinned), 256, 64, 8, 0, 2},
        array{m.in_array, number(m.array), 0, 0, 16, 2, 1}, level{m.in_level, number(m.level), 0, 0, 0, 1, 2};
    const Rows flat_heap{m.heap, number(m.bytes.data()), 300, 0, 12, 2, 0},
        flat_device{m.on_device, m.device, 512, 0, 4, 3, 0};
    copy_rows(ask<decltype(&cuMemcpy2D_v2)>("cuMemcpy2D", 3020, flags), "cuMemcpy2D_v2" + now, flat_device,
              flat_heap, 100, 10, 1, none);
    copy_rows(ask<decltype(&cuMemcpy2DUnaligned_v2)>("cuMemcpy2DUnaligned", 3020, flags),
              "cuMemcpy2DUnaligned_v2" + now, shared, flat_device, 90, 5, 1, none);
    copy_rows(ask<decltype(&cuMemcpy3D_v2)>("cuMemcpy3D", 3020, flags), "cuMemcpy3D_v2" + now, array, heap, 64,
              7, 3, none);
    copy_rows(ask<decltype(&cuMemcpy3DPeer)>("cuMemcpy3DPeer", 4000, flags), "cuMemcpy3DPeer" + now, locked,
              array, 64, 7, 3, none);
    copy_rows(ask<decltype(&cuMemcpy2DAsync_v2)>("cuMemcpy2DAsync", 3020, flags), "cuMemcpy2DAsync_v2" + later,
              flat_heap, shared, 90, 5, 1, m.stream, m.stream);
    copy_rows(ask<decltype(&cuMemcpy3DAsync_v2)>("cuMemcpy3DAsync", 3020, flags), "cuMemcpy3DAsync_v2" + later,
              level, device, 32, 5, 2, none, CUstream{nullptr});
    copy_rows(ask<decltype(&cuMemcpy3DPeerAsync)>("cuMemcpy3DPeerAsync", 4000, flags),
              "cuMemcpy3DPeerAsync" + later, device, level, 32, 5, 2, m.stream, m.stream);
    must(ASK("cuStreamSynchronize", cuStreamSynchronize)(m.stream), "synchronize");
    Number sum = 0;
    for (std::size_t i = 0; i < 1 << 20; ++i)
        sum = sum * 31 + static_cast<unsigned char*>(m.pinned)[i];
    std::printf("pinned %" PRIu64 "\n", sum);
}

template <class Function>
Function exported(const char* symbol) {
    const auto found = reinterpret_cast<Function>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), symbol));
    if (found == nullptr)
        must(CUDA_ERROR_NOT_FOUND, symbol);
    return found;
}
#define EXPORTED(symbol) exported<decltype(&symbol)>(#symbol)

/// What cuGetProcAddress has not given since CUDA 3.2 but the driver still exports.
void copy_in_old_structures(Memories& m) {
    const CUDA_ARRAY3D_DESCRIPTOR_v1 box{64, 16, 4, CU_AD_FORMAT_UNSIGNED_INT8, 1, 0};
    const CUDA_ARRAY_DESCRIPTOR_v1 flat{64, 16, CU_AD_FORMAT_UNSIGNED_INT8, 1};
    CUarray whole = nullptr, sheet = nullptr;
    show("cuArray3DCreate", EXPORTED(cuArray3DCreate)(&whole, &box));
    show("cuArrayCreate", EXPORTED(cuArrayCreate)(&sheet, &flat));
    const Memory in_whole{"array", number(whole), CU_MEMORYTYPE_ARRAY},
        in_sheet{"array", number(sheet), CU_MEMORYTYPE_ARRAY};
    const Rows to_whole{in_whole, number(whole), 0, 0, 0, 0, 1},
        to_sheet{in_sheet, number(sheet), 0, 0, 8, 2, 0};
    const Rows heap{m.heap, number(m.bytes.data()), 100, 20, 3, 1, 0};
    const Rows flat_heap{m.heap, number(m.bytes.data()), 100, 0, 3, 1, 0};
    copy_rows(EXPORTED(cuMemcpy2D), "cuMemcpy2D", to_sheet, flat_heap, 32, 8, 1, nullptr);
    copy_rows(EXPORTED(cuMemcpy2DUnaligned), "cuMemcpy2DUnaligned", flat_heap, to_sheet, 16, 4, 1, nullptr);
    copy_rows(EXPORTED(cuMemcpy3D), "cuMemcpy3D", to_whole, heap, 64, 16, 2, nullptr);
    copy_rows(EXPORTED(cuMemcpy2DAsync), "cuMemcpy2DAsync", flat_heap, to_sheet, 8, 4, 1, m.stream, m.stream);
    copy_rows(EXPORTED(cuMemcpy3DAsync), "cuMemcpy3DAsync", heap, to_whole, 64, 8, 2, m.stream, m.stream);
    show("cuArrayDestroy", ASK("cuArrayDestroy", cuArrayDestroy)(whole));
    show("cuArrayDestroy", ASK("cuArrayDestroy", cuArrayDestroy)(sheet));
}

void copy_in_one_dimension(Memories& m) {
    const Number heap = number(m.bytes.data());
    const auto flat = [&](const char* entry, const End& to, const End& from, CUresult result, CUstream stream) {
        show(entry, result);
        expect_copy(entry, to, from, 100, 0, 0, 0, 0, stream);
    };
    const End array{m.in_array, number(m.array), 0}, level{m.in_level, number(m.level), 0},
        host{m.heap, heap + 5, 0}, device{m.on_device, m.device + 700, 0};
    void* const at = m.bytes.data() + 5;
    flat("cuMemcpyHtoA_v2", array, host, ASK("cuMemcpyHtoA", cuMemcpyHtoA_v2)(m.array, 300, at, 100), nullptr);
    flat("cuMemcpyAtoH_v2", host, array, ASK("cuMemcpyAtoH", cuMemcpyAtoH_v2)(at, m.array, 300, 100), nullptr);
    flat("cuMemcpyAtoA_v2", level, array, ASK("cuMemcpyAtoA", cuMemcpyAtoA_v2)(m.level, 0, m.array, 300, 100),
         nullptr);
    flat("cuMemcpyAtoD_v2", device, level,
         ASK("cuMemcpyAtoD", cuMemcpyAtoD_v2)(m.device + 700, m.level, 0, 100), nullptr);
    flat("cuMemcpyDtoA_v2_ptds", level, device,
         ask<decltype(&cuMemcpyDtoA_v2)>("cuMemcpyDtoA", 3020, per_thread)(m.level, 4, m.device + 700, 100),
         CU_STREAM_PER_THREAD);
    flat("cuMemcpyHtoAAsync_v2", array, host,
         ASK("cuMemcpyHtoAAsync", cuMemcpyHtoAAsync_v2)(m.array, 4, at, 100, m.stream), m.stream);
    flat("cuMemcpyAtoHAsync_v2", host, array,
         ASK("cuMemcpyAtoHAsync", cuMemcpyAtoHAsync_v2)(at, m.array, 4, 100, m.stream), m.stream);
    CUcontext context = nullptr;
    must(ASK("cuCtxGetCurrent", cuCtxGetCurrent)(&context), "current");
    const End other{m.on_device, m.device + 9000, 0};
    flat("cuMemcpyPeer", other, device,
         ASK("cuMemcpyPeer", cuMemcpyPeer)(m.device + 9000, context, m.device + 700, context, 100), nullptr);
    flat("cuMemcpyPeerAsync_ptsz", other, device,
         ask<decltype(&cuMemcpyPeerAsync)>("cuMemcpyPeerAsync", 4000, per_thread)(
             m.device + 9000, context, m.device + 700, context, 100, nullptr),
         CU_STREAM_PER_THREAD);
}

void copy_batches(Memories& m, int version, cuuint64_t flags) {
    const bool own = flags == per_thread, old = version < 13000;
    const std::string suffix = std::string(old ? "" : "_v2") + (own ? "_ptsz" : "");
    const CUstream stream = own ? nullptr : m.stream, recorded = own ? CU_STREAM_PER_THREAD : m.stream;
    const Number heap = number(m.bytes.data());
    CUdeviceptr targets[] = {m.device + 4096, m.managed + 100, number(m.pinned) + 64};
    CUdeviceptr sources[] = {heap + 1, m.device + 4096, m.managed + 100};
    std::size_t sizes[] = {5000, 300, 200}, first[] = {0, 2}, failed = 0;
    CUmemcpyAttributes attributes[2] = {};
    attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    const std::string entry = "cuMemcpyBatchAsync" + suffix;
    if (old)
        show(entry, ask<decltype(&cuMemcpyBatchAsync)>("cuMemcpyBatchAsync", version, flags)(
                        targets, sources, sizes, 3, attributes, first, 2, &failed, stream));
    else
        show(entry, ask<decltype(&cuMemcpyBatchAsync_v2)>("cuMemcpyBatchAsync", version, flags)(
                        targets, sources, sizes, 3, attributes, first, 2, stream));
    const Memory* const to[] = {&m.on_device, &m.shared, &m.locked};
    const Memory* const from[] = {&m.heap, &m.on_device, &m.shared};
    for (std::size_t i = 0; i < 3; ++i)
        expect_copy(entry, {*to[i], targets[i], 0}, {*from[i], sources[i], 0}, sizes[i], 0, 0, 0, i + 1,
                    recorded);

    CUDA_MEMCPY3D_BATCH_OP operations[2] = {};
    operations[0].src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    operations[0].src.op.ptr.ptr = heap + 16;
    operations[0].src.op.ptr.rowLength = 50;
    operations[0].src.op.ptr.layerHeight = 6;
    operations[0].dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    operations[0].dst.op.array.array = m.array;
    operations[0].dst.op.array.offset = {3, 1, 2};
    operations[0].extent = {20, 5, 2};
    operations[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    operations[1].src = operations[0].src;
    operations[1].src.op.ptr.rowLength = operations[1].src.op.ptr.layerHeight = 0;
    operations[1].dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
    operations[1].dst.op.ptr.ptr = m.device + 128;
    operations[1].dst.op.ptr.rowLength = 64;
    operations[1].extent = {20, 5, 2};
    operations[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    const std::string box = "cuMemcpy3DBatchAsync" + suffix;
    if (old)
        show(box, ask<decltype(&cuMemcpy3DBatchAsync)>("cuMemcpy3DBatchAsync", version,
                                                       flags)(2, operations, &failed, 0, stream));
    else
        show(box, ask<decltype(&cuMemcpy3DBatchAsync_v2)>("cuMemcpy3DBatchAsync", version, flags)(2, operations,
                                                                                                  0, stream));
    expect_copy(box, {m.in_array, number(m.array), 0}, {m.heap, heap + 16, 200}, 4 * 20 * 5 * 2, 80, 5, 2, 1,
                recorded);
    expect_copy(box, {m.on_device, m.device + 128, 64}, {m.heap, heap + 16, 20}, 20 * 5 * 2, 20, 5, 2, 2,
                recorded);
}

void place_batches(Memories& m, cuuint64_t flags) {
    const bool own = flags == per_thread;
    const std::string suffix = own ? "_ptsz" : "";
    const CUstream stream = own ? nullptr : m.stream;
    CUdeviceptr ranges[] = {m.managed, m.managed + (2 << 20), m.managed + (4 << 20)};
    std::size_t sizes[] = {2 << 20, 1 << 20, 2 << 20}, first[] = {0, 2};
    CUmemLocation places[2] = {};
    places[0] = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    places[1] = {CU_MEM_LOCATION_TYPE_HOST, {0}};
    const auto all = [&](const char* record, const std::string& entry, const char* discarded) {
        for (std::size_t i = 0; i < 3; ++i) {
            std::string rest = ", \"batch\": " + std::to_string(i + 1);
            if (discarded != nullptr)
                rest += std::string(", \"discarded\": ") + discarded + ", \"location\": \"" +
                        (i < 2 ? "device" : "host") + "\"";
            expect_range(record, entry, ranges[i], sizes[i], m.managed, rest);
        }
    };
    const std::string names[] = {"cuMemPrefetchBatchAsync" + suffix, "cuMemDiscardBatchAsync" + suffix,
                                 "cuMemDiscardAndPrefetchBatchAsync" + suffix,
                                 "cuStreamAttachMemAsync" + suffix};
    show(names[0], ask<decltype(&cuMemPrefetchBatchAsync)>("cuMemPrefetchBatchAsync", 13000, flags)(
                       ranges, sizes, 3, places, first, 2, 0, stream));
    all("Prefetch", names[0], "0");
    show(names[1], ask<decltype(&cuMemDiscardBatchAsync)>("cuMemDiscardBatchAsync", 13000,
                                                          flags)(ranges, sizes, 3, 0, stream));
    all("Discard", names[1], nullptr);
    show(names[2],
         ask<decltype(&cuMemDiscardAndPrefetchBatchAsync)>("cuMemDiscardAndPrefetchBatchAsync", 13000, flags)(
             ranges, sizes, 3, places, first, 2, 0, stream));
    all("Prefetch", names[2], "1");
    show(names[3], ask<decltype(&cuStreamAttachMemAsync)>("cuStreamAttachMemAsync", 6000,
                                                          flags)(stream, m.managed, 0, CU_MEM_ATTACH_HOST));
    expect_range("Attach", names[3], m.managed, 0, m.managed, ", \"flags\": 2");
}

void set_rows(Memories& m, cuuint64_t flags) {
    const bool own = flags == per_thread;
    const auto expect = [&](const std::string& entry, Number width) {
        expect_range("Set", entry, m.device + 64, width * 7, m.device,
                     ", \"width\": " + std::to_string(width) + ", \"height\": 7, \"pitch\": 512");
    };
    const std::string now = own ? "_v2_ptds" : "_v2", later = own ? "_ptsz" : "";
    const CUstream none = nullptr;
    show("cuMemsetD2D8",
         ask<decltype(&cuMemsetD2D8_v2)>("cuMemsetD2D8", 3020, flags)(m.device + 64, 512, 1, 30, 7));
    expect("cuMemsetD2D8" + now, 30);
    show("cuMemsetD2D16",
         ask<decltype(&cuMemsetD2D16_v2)>("cuMemsetD2D16", 3020, flags)(m.device + 64, 512, 1, 30, 7));
    expect("cuMemsetD2D16" + now, 60);
    show("cuMemsetD2D32",
         ask<decltype(&cuMemsetD2D32_v2)>("cuMemsetD2D32", 3020, flags)(m.device + 64, 512, 1, 30, 7));
    expect("cuMemsetD2D32" + now, 120);
    show("cuMemsetD2D8Async", ask<decltype(&cuMemsetD2D8Async)>("cuMemsetD2D8Async", 3020,
                                                                flags)(m.device + 64, 512, 1, 30, 7, none));
    expect("cuMemsetD2D8Async" + later, 30);
    show("cuMemsetD2D16Async", ask<decltype(&cuMemsetD2D16Async)>("cuMemsetD2D16Async", 3020,
                                                                  flags)(m.device + 64, 512, 1, 30, 7, none));
    expect("cuMemsetD2D16Async" + later, 60);
    show("cuMemsetD2D32Async", ask<decltype(&cuMemsetD2D32Async)>("cuMemsetD2D32Async", 3020,
                                                                  flags)(m.device + 64, 512, 1, 30, 7, none));
    expect("cuMemsetD2D32Async" + later, 120);
}

/// What the driver refuses, word for word; of each call one record with its status.
void refusals(Memories& m) {
    show("2D null", ASK("cuMemcpy2D", cuMemcpy2D_v2)(nullptr));
    show("3D null", ASK("cuMemcpy3DAsync", cuMemcpy3DAsync_v2)(nullptr, m.stream));
    CUDA_MEMCPY2D nothing{};
    show("2D of no memory", ASK("cuMemcpy2D", cuMemcpy2D_v2)(&nothing));
    std::size_t failed = 5;
    show("batch of nulls", ask<decltype(&cuMemcpyBatchAsync)>("cuMemcpyBatchAsync", 12080)(
                               nullptr, nullptr, nullptr, 1000, nullptr, nullptr, 1, &failed, m.stream));
    std::printf("failed at %zd\n", static_cast<ssize_t>(failed));
    show("3D batch of nulls",
         ask<decltype(&cuMemcpy3DBatchAsync_v2)>("cuMemcpy3DBatchAsync", 13000)(1000, nullptr, 0, m.stream));
    show("discard of nulls",
         ASK("cuMemDiscardBatchAsync", cuMemDiscardBatchAsync)(nullptr, nullptr, 1000, 0, m.stream));
    show("prefetch of nulls", ASK("cuMemPrefetchBatchAsync", cuMemPrefetchBatchAsync)(
                                  nullptr, nullptr, 1000, nullptr, nullptr, 1, 0, m.stream));
    CUarray array = nullptr;
    show("array of nothing", ASK("cuArrayCreate", cuArrayCreate_v2)(&array, nullptr));
    show("array to nowhere", ASK("cuArrayCreate", cuArrayCreate_v2)(nullptr, nullptr));
    show("destroy null", ASK("cuArrayDestroy", cuArrayDestroy)(nullptr));
    show("destroy a level", ASK("cuArrayDestroy", cuArrayDestroy)(m.level));
    show("level of null", ASK("cuMipmappedArrayGetLevel", cuMipmappedArrayGetLevel)(&array, nullptr, 0));
    CUDA_ARRAY3D_DESCRIPTOR sparse{64, 64, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE};
    show("sparse", ASK("cuArray3DCreate", cuArray3DCreate_v2)(&array, &sparse));
    show("destroy sparse", ASK("cuArrayDestroy", cuArrayDestroy)(array));
}

void end(Memories& m) {
    // A level is still good after the refusal to destroy it; then all of them go with the whole.
    const Rows level{m.in_level, number(m.level), 0, 0, 0, 0, 0},
        heap{m.heap, number(m.bytes.data()), 64, 0, 0, 0, 0};
    copy_rows(ASK("cuMemcpy2D", cuMemcpy2D_v2), "cuMemcpy2D_v2", level, heap, 64, 2, 1, nullptr);
    show("cuMipmappedArrayDestroy", ASK("cuMipmappedArrayDestroy", cuMipmappedArrayDestroy)(m.mipmapped));
    show("cuArrayDestroy", ASK("cuArrayDestroy", cuArrayDestroy)(m.array));
    show("cuMemFree", ASK("cuMemFree", cuMemFree_v2)(m.device));
}

void everything() {
    Memories m = make();
    for (const cuuint64_t flags : {plain, per_thread}) {
        copy_all_rows(m, flags);
        copy_batches(m, 12080, flags);
        copy_batches(m, 13000, flags);
        place_batches(m, flags);
        set_rows(m, flags);
    }
    copy_in_one_dimension(m);
    copy_in_old_structures(m);
    refusals(m);
    end(m);
}

/// All that streams take, while one captures: the capture must stay sound.
void in_capture() {
    Memories m = make();
    CUstreamCaptureStatus status{};
    CUgraph graph = nullptr;
    const auto sound = [&](const char* when) {
        must(ASK("cuStreamIsCapturing", cuStreamIsCapturing)(m.stream, &status), "capturing");
        std::printf("%s: %d\n", when, static_cast<int>(status));
    };
    for (const CUstreamCaptureMode mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
        must(ASK("cuStreamBeginCapture", cuStreamBeginCapture_v2)(m.stream, mode), "begin");
        const Rows heap{m.heap, number(m.bytes.data()), 300, 20, 12, 2, 1},
            device{m.on_device, m.device, 512, 16, 4, 3, 1}, array{m.in_array, number(m.array), 0, 0, 16, 2, 1},
            shared{m.shared, m.managed, 1024, 10, 0, 1, 0};
        for (int i = 0; i < 12; ++i) { // more than the first samples of a kind
            copy_rows(ASK("cuMemcpy3DAsync", cuMemcpy3DAsync_v2), "cuMemcpy3DAsync_v2", device, shared, 64, 2,
                      1, m.stream, m.stream);
            copy_rows(ASK("cuMemcpy3DAsync", cuMemcpy3DAsync_v2), "cuMemcpy3DAsync_v2", array, heap, 64, 2, 1,
                      m.stream, m.stream);
        }
        sound("rows");
        copy_batches(m, 13000, plain);
        sound("batches");
        show("set", ASK("cuMemsetD2D8Async", cuMemsetD2D8Async)(m.device, 512, 1, 30, 7, m.stream));
        show("end", ASK("cuStreamEndCapture", cuStreamEndCapture)(m.stream, &graph));
    }
}

/// From the memory of one device to that of another.
void between_devices() {
    CUcontext contexts[2] = {};
    CUdeviceptr memory[2] = {};
    for (int device : {1, 0}) { // the first stays current
        must(ASK("cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain)(&contexts[device], device), "retain");
        must(ASK("cuCtxSetCurrent", cuCtxSetCurrent)(contexts[device]), "set");
        must(ASK("cuMemAlloc", cuMemAlloc_v2)(&memory[device], 1 << 20), "memory");
    }
    const Memory here{"device", memory[0], CU_MEMORYTYPE_DEVICE},
        there{"device", memory[1], CU_MEMORYTYPE_DEVICE};
    const End from{here, memory[0] + 64, 0}, to{there, memory[1] + 128, 0};
    show("cuMemcpyPeer",
         ASK("cuMemcpyPeer", cuMemcpyPeer)(to.address, contexts[1], from.address, contexts[0], 4096));
    expect_copy("cuMemcpyPeer", to, from, 4096, 0, 0, 0, 0, nullptr);
    show("cuMemcpyPeerAsync", ASK("cuMemcpyPeerAsync", cuMemcpyPeerAsync)(to.address, contexts[1], from.address,
                                                                          contexts[0], 4096, nullptr));
    expect_copy("cuMemcpyPeerAsync", to, from, 4096, 0, 0, 0, 0, nullptr);
    const Rows rows{here, memory[0], 256, 32, 16, 2, 1}, target{there, memory[1], 512, 16, 0, 1, 2};
    copy_rows(ASK("cuMemcpy3DPeer", cuMemcpy3DPeer), "cuMemcpy3DPeer", target, rows, 100, 8, 3, nullptr);
}

/// A kernel's managed memory is read back by a copy, and the kernel runs again.
void managed_between_launches() {
    const CUfunction function = load_count_up();
    CUdeviceptr managed = 0;
    must(ASK("cuMemAllocManaged", cuMemAllocManaged)(&managed, 8 << 20, CU_MEM_ATTACH_GLOBAL), "managed");
    std::vector<char> back(1 << 20);
    void* parameters[] = {&managed};
    for (int round = 0; round < 2; ++round) {
        show("launch", ASK("cuLaunchKernel", cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters,
                                                             nullptr));
        const CUdeviceptr from = managed + (2 << 20) + 100; // inside the second block
        show("copy", ASK("cuMemcpyDtoH", cuMemcpyDtoH_v2)(back.data(), from, back.size()));
    }
}

} // namespace

int main(int count, char** arguments) {
    expected = std::fopen("expected", "w");
    make_context();
    if (count > 1 && std::strcmp(arguments[1], "capture") == 0)
        in_capture();
    else if (count > 1 && std::strcmp(arguments[1], "peer") == 0)
        between_devices();
    else if (count > 1 && std::strcmp(arguments[1], "managed") == 0)
        managed_between_launches();
    else
        everything();
    std::fclose(expected);
    return 0;
}
