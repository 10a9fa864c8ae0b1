// Copies rows, layers, arrays and batches through every entry point there is for it, plain and per-thread, in
// both signatures of a name that has two. Prints what the driver answers and what arrived; writes to ./expected
// what each call hands over, one JSON object a line: what a trace of this run has to hold.
#include "copies.hpp"

std::FILE* expected = nullptr;

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

namespace {

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
