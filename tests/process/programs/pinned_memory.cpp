// Pinned memory that is made, used and freed, mostly in rounds. Prints every answer, and what the device and
// the host find in memory.
#include "scenarios.hpp"
#include "staged.hpp"

#include <algorithm>
#include <atomic>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t usual = 2 * mib;
constexpr int rounds = 40;

CUstream make_stream() {
    CUstream stream = nullptr;
    must(ASK("cuStreamCreate", cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "stream");
    return stream;
}

CUresult pin(std::uint8_t*& block, std::size_t bytes, unsigned flags = 0) {
    void* made = nullptr;
    const CUresult answer = ASK("cuMemHostAlloc", cuMemHostAlloc)(&made, bytes, flags);
    block = static_cast<std::uint8_t*>(made);
    return answer;
}

CUresult pin_plainly(std::uint8_t*& block, std::size_t bytes) {
    void* made = nullptr;
    const CUresult answer = ASK("cuMemAllocHost", cuMemAllocHost_v2)(&made, bytes);
    block = static_cast<std::uint8_t*>(made);
    return answer;
}

CUresult unpin(void* block) {
    return ASK("cuMemFreeHost", cuMemFreeHost)(block);
}

bool is_empty(const std::uint8_t* block, std::size_t bytes) {
    return std::all_of(block, block + bytes, [](std::uint8_t byte) { return byte == 0; });
}

/// Prints a digest of device memory.
void show_device(CUdeviceptr memory, std::size_t bytes) {
    std::vector<std::uint8_t> back(bytes);
    show("device", Copies().down(back.data(), memory, bytes), back);
}

/// One round: a block is filled, copied to the device, waited for if `waits`, and freed.
void use_block(int round, CUdeviceptr memory, CUstream stream, bool waits, std::size_t bytes = usual) {
    static const Copies copies;
    std::uint8_t* block = nullptr;
    const CUresult made = pin(block, bytes);
    if (made != CUDA_SUCCESS) {
        std::printf("pin %d\n", made);
        return;
    }
    const bool empty = is_empty(block, bytes);
    std::memset(block, round + 1, bytes);
    const CUresult copied = copies.up_later(memory, block, bytes, stream);
    const CUresult waited = waits ? ASK("cuStreamSynchronize", cuStreamSynchronize)(stream) : CUDA_SUCCESS;
    std::printf("%d %d %d %d\n", empty, copied, waited, unpin(block));
}

void use_in_rounds() {
    const CUstream stream = make_stream();
    const CUdeviceptr memory = allocate(usual);
    for (int round = 0; round < rounds; ++round) {
        use_block(round, memory, stream, true);
        show_device(memory, usual);
    }
}

/// Nothing but the free waits for the copy, and the next user of the memory writes there at once.
void use_without_a_wait() {
    const CUstream stream = make_stream();
    const CUdeviceptr memory = allocate(usual);
    for (int round = 0; round < rounds; ++round) {
        use_block(round, memory, stream, false);
        std::uint8_t* block = nullptr;
        std::printf("%d ", pin(block, usual));
        std::memset(block, 0xee, usual);
        std::printf("%d\n", unpin(block));
        show_device(memory, usual);
    }
}

/// Each length once, or a length that is a byte more in each round.
void use_once() {
    const CUstream stream = make_stream();
    const CUdeviceptr memory = allocate(2 * usual);
    for (int round = 0; round < rounds; ++round)
        use_block(round, memory, stream, true, usual + static_cast<std::size_t>(round));
}

void describe(const std::uint8_t* block) {
    unsigned flags = 0;
    CUdeviceptr first = 0, device = 0;
    std::size_t bytes = 0;
    const int answers[] = {
        ASK("cuMemHostGetFlags", cuMemHostGetFlags)(&flags, const_cast<std::uint8_t*>(block)),
        ASK("cuMemGetAddressRange", cuMemGetAddressRange_v2)(&first, &bytes, number(block)),
        ASK("cuMemHostGetDevicePointer", cuMemHostGetDevicePointer_v2)(&device,
                                                                       const_cast<std::uint8_t*>(block), 0)};
    std::printf("%d flags %u, %d %zu bytes from %d on, %d %d\n", answers[0], flags, answers[1], bytes,
                first == number(block), answers[2], device == number(block));
}

/// Blocks that are nearly alike.
void use_kinds() {
    for (int round = 0; round < rounds; ++round) {
        std::vector<std::uint8_t*> blocks;
        std::uint8_t* block = nullptr;
        for (const std::size_t bytes : {usual, usual + 1, usual - 1})
            for (const unsigned flags : {0u, 1u, 2u, 3u, 4u}) {
                must(pin(block, bytes, flags), "pin");
                blocks.push_back(block);
            }
        must(pin_plainly(block, usual), "pin plainly");
        blocks.push_back(block);
        for (std::uint8_t* const each : blocks)
            describe(each);
        for (std::uint8_t* const each : blocks)
            std::printf("%d\n", unpin(each));
    }
}

/// Each block is freed twice, and not at its first byte.
void free_wrongly() {
    for (int round = 0; round < rounds; ++round) {
        std::uint8_t* block = nullptr;
        std::printf("%d ", pin(block, usual));
        std::printf("%d ", unpin(block + 4096));
        std::printf("%d %d\n", unpin(block), unpin(block));
    }
    std::printf("%d\n", pin(*new std::uint8_t*, 0));
}

void use_in_contexts() {
    CUcontext own = nullptr;
    must(ASK("cuCtxGetCurrent", cuCtxGetCurrent)(&own), "current");
    for (int turn = 0; turn < 3; ++turn) {
        CUcontext context = nullptr;
        must(ask<decltype(&cuCtxCreate_v2)>("cuCtxCreate", 3020)(&context, 0, 0), "create");
        use_in_rounds();
        std::uint8_t* block = nullptr;
        must(pin(block, usual), "pin");
        must(ASK("cuCtxSetCurrent", cuCtxSetCurrent)(own), "set");
        std::printf("of another context %d\n", unpin(block));
        use_in_rounds();
        std::printf("destroyed %d\n", ASK("cuCtxDestroy", cuCtxDestroy_v2)(context));
    }
}

void use_while_capturing() {
    const CUstream stream = make_stream();
    const CUdeviceptr memory = allocate(usual);
    const auto begin = ASK("cuStreamBeginCapture", cuStreamBeginCapture_v2);
    const auto end = ASK("cuStreamEndCapture", cuStreamEndCapture);
    for (const CUstreamCaptureMode mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
        for (int round = 0; round < 4; ++round)
            use_block(round, memory, stream, true);
        std::uint8_t *before = nullptr, *meanwhile = nullptr;
        std::printf("%d ", pin(before, usual));
        CUgraph graph = nullptr;
        must(begin(stream, mode), "begin");
        std::printf("captured %d %d\n", pin(meanwhile, usual), unpin(before));
        std::printf("end %d\n", end(stream, &graph));
    }
}

void use_in_threads() {
    std::vector<std::thread> threads;
    CUcontext context = nullptr;
    must(ASK("cuCtxGetCurrent", cuCtxGetCurrent)(&context), "current");
    std::atomic<int> wrong{0};
    for (int each = 0; each < 4; ++each)
        threads.emplace_back([&, each] {
            must(ASK("cuCtxSetCurrent", cuCtxSetCurrent)(context), "set");
            for (int round = 0; round < rounds; ++round) {
                std::uint8_t* block = nullptr;
                must(pin(block, usual), "pin");
                std::memset(block, each, usual);
                wrong += std::any_of(block, block + usual, [&](std::uint8_t byte) { return byte != each; });
                must(unpin(block), "unpin");
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    std::printf("wrong %d\n", wrong.load());
}

/// An allocation on the device in between, which simcuda is to refuse.
void use_beside_a_refusal() {
    use_in_rounds();
    CUdeviceptr memory = 0;
    ASK("cuMemAlloc", cuMemAlloc_v2)(&memory, usual);
    use_in_rounds();
}

void show_answers(std::uint8_t* block) {
    unsigned flags = 99, type = 99;
    CUdeviceptr base = 0, device = 0;
    std::size_t bytes = 0;
    const auto address = reinterpret_cast<CUdeviceptr>(block);
    const CUresult of_flags = ASK("cuMemHostGetFlags", cuMemHostGetFlags)(&flags, block);
    const CUresult of_range = ASK("cuMemGetAddressRange", cuMemGetAddressRange_v2)(&base, &bytes, address + 1);
    const CUresult of_device =
        ASK("cuMemHostGetDevicePointer", cuMemHostGetDevicePointer_v2)(&device, block, 0);
    const CUresult of_type =
        ASK("cuPointerGetAttribute", cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    std::printf("flags %d %u, range %d %d %zu, device %d %d, type %d %u\n", of_flags, flags, of_range,
                base == address, bytes, of_device, device == address, of_type, type);
}

/// Blocks so large that several threads touch them, and one that is not cached.
void use_large() {
    constexpr std::size_t large = 64 * mib + 4096;
    const CUdeviceptr memory = allocate(large);
    const CUstream stream = make_stream();
    constexpr unsigned all_flags[] = {0, CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_DEVICEMAP,
                                      CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP,
                                      CU_MEMHOSTALLOC_WRITECOMBINED};
    for (const unsigned flags : all_flags) {
        std::uint8_t* block = nullptr;
        std::printf("pin %d\n", pin(block, large, flags));
        std::printf("empty %d\n", is_empty(block, large));
        show_answers(block);
        std::memset(block, static_cast<int>(flags + 1), large);
        must(ASK("cuMemcpyHtoDAsync", cuMemcpyHtoDAsync_v2)(memory, block, large, stream), "copy");
        std::printf("unregister %d\n", ASK("cuMemHostUnregister", cuMemHostUnregister)(block));
        std::printf("unpin inside %d\n", unpin(block + 4096));
        std::printf("unpin %d\n", unpin(block));
        std::printf("again %d\n", unpin(block));
        show_device(memory, large);
    }
}

/// A forked child shares it.
void use_large_in_a_child() {
    std::uint8_t* block = nullptr;
    must(pin(block, 64 * mib), "pin");
    block[0] = 1;
    if (const pid_t child = fork(); child == 0) {
        block[1] = static_cast<std::uint8_t>(block[0] + 1);
        _exit(0);
    } else {
        int status = 0;
        waitpid(child, &status, 0);
        std::printf("child %d wrote %d\n", status, block[1]);
    }
    std::printf("unpin %d\n", unpin(block));
}

} // namespace

int main(int, char** arguments) {
    make_context();
    return run_scenario(arguments[1], {{"rounds", use_in_rounds},
                                       {"unwaited", use_without_a_wait},
                                       {"once", use_once},
                                       {"kinds", use_kinds},
                                       {"wrong", free_wrongly},
                                       {"contexts", use_in_contexts},
                                       {"capture", use_while_capturing},
                                       {"threads", use_in_threads},
                                       {"refusal", use_beside_a_refusal},
                                       {"large", use_large},
                                       {"large_child", use_large_in_a_child}});
}
