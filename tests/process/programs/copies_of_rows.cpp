// Copies of rows, layers and arrays.
#include "copies.hpp"

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
    copy_rows(ask<decltype(&cuMemcpy2D_v2)>("cuMemcpy2D", 13000, flags), "cuMemcpy2D_v2" + now, flat_device,
              flat_heap, 100, 10, 1, none);
    copy_rows(ask<decltype(&cuMemcpy2DUnaligned_v2)>("cuMemcpy2DUnaligned", 13000, flags),
              "cuMemcpy2DUnaligned_v2" + now, shared, flat_device, 90, 5, 1, none);
    copy_rows(ask<decltype(&cuMemcpy3D_v2)>("cuMemcpy3D", 13000, flags), "cuMemcpy3D_v2" + now, array, heap, 64,
              7, 3, none);
    copy_rows(ask<decltype(&cuMemcpy3DPeer)>("cuMemcpy3DPeer", 13000, flags), "cuMemcpy3DPeer" + now, locked,
              array, 64, 7, 3, none);
    copy_rows(ask<decltype(&cuMemcpy2DAsync_v2)>("cuMemcpy2DAsync", 13000, flags), "cuMemcpy2DAsync_v2" + later,
              flat_heap, shared, 90, 5, 1, m.stream, m.stream);
    copy_rows(ask<decltype(&cuMemcpy3DAsync_v2)>("cuMemcpy3DAsync", 13000, flags), "cuMemcpy3DAsync_v2" + later,
              level, device, 32, 5, 2, none, CUstream{nullptr});
    copy_rows(ask<decltype(&cuMemcpy3DPeerAsync)>("cuMemcpy3DPeerAsync", 13000, flags),
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
         ask<decltype(&cuMemcpyDtoA_v2)>("cuMemcpyDtoA", 13000, per_thread)(m.level, 4, m.device + 700, 100),
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
         ask<decltype(&cuMemcpyPeerAsync)>("cuMemcpyPeerAsync", 13000, per_thread)(
             m.device + 9000, context, m.device + 700, context, 100, nullptr),
         CU_STREAM_PER_THREAD);
}
