// Batches of copies and of placements, and memory set by rows.
#include "copies.hpp"

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
    show(names[3], ask<decltype(&cuStreamAttachMemAsync)>("cuStreamAttachMemAsync", 13000,
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
         ask<decltype(&cuMemsetD2D8_v2)>("cuMemsetD2D8", 13000, flags)(m.device + 64, 512, 1, 30, 7));
    expect("cuMemsetD2D8" + now, 30);
    show("cuMemsetD2D16",
         ask<decltype(&cuMemsetD2D16_v2)>("cuMemsetD2D16", 13000, flags)(m.device + 64, 512, 1, 30, 7));
    expect("cuMemsetD2D16" + now, 60);
    show("cuMemsetD2D32",
         ask<decltype(&cuMemsetD2D32_v2)>("cuMemsetD2D32", 13000, flags)(m.device + 64, 512, 1, 30, 7));
    expect("cuMemsetD2D32" + now, 120);
    show("cuMemsetD2D8Async", ask<decltype(&cuMemsetD2D8Async)>("cuMemsetD2D8Async", 13000,
                                                                flags)(m.device + 64, 512, 1, 30, 7, none));
    expect("cuMemsetD2D8Async" + later, 30);
    show("cuMemsetD2D16Async", ask<decltype(&cuMemsetD2D16Async)>("cuMemsetD2D16Async", 13000,
                                                                  flags)(m.device + 64, 512, 1, 30, 7, none));
    expect("cuMemsetD2D16Async" + later, 60);
    show("cuMemsetD2D32Async", ask<decltype(&cuMemsetD2D32Async)>("cuMemsetD2D32Async", 13000,
                                                                  flags)(m.device + 64, 512, 1, 30, 7, none));
    expect("cuMemsetD2D32Async" + later, 120);
}
