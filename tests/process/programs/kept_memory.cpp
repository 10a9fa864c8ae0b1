// Device memory that is freed and asked for again. Prints every answer: the same, whoever the memory came from.
#include "driver_program.hpp"
#include "scenarios.hpp"

#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t mib = 1u << 20;
CUcontext context;

const auto allocate = ASK("cuMemAlloc", cuMemAlloc_v2);
const auto release = ASK("cuMemFree", cuMemFree_v2);

void show(const char* what, CUresult answer) {
    std::printf("%s %d\n", what, static_cast<int>(answer));
}

CUdeviceptr must_allocate(std::size_t bytes) {
    CUdeviceptr memory = 0;
    must(allocate(&memory, bytes), "allocate");
    return memory;
}

/// Fills `bytes` at `memory` and reads them back.
bool works(CUdeviceptr memory, std::size_t bytes, std::uint8_t value) {
    std::vector<std::uint8_t> back(bytes);
    must(ASK("cuMemsetD8", cuMemsetD8_v2)(memory, value, bytes), "set");
    must(ASK("cuMemcpyDtoH", cuMemcpyDtoH_v2)(back.data(), memory, bytes), "copy");
    for (const std::uint8_t byte : back)
        if (byte != value)
            return false;
    return true;
}

void show_free() {
    std::size_t free = 0, total = 0;
    must(ASK("cuMemGetInfo", cuMemGetInfo_v2)(&free, &total), "info");
    std::printf("free %zu of %zu\n", free, total);
}

void show_range(CUdeviceptr memory) {
    CUdeviceptr base = 0;
    std::size_t bytes = 0;
    must(ASK("cuMemGetAddressRange", cuMemGetAddressRange_v2)(&base, &bytes, memory + 1), "range");
    std::printf("%zu bytes from %zu\n", bytes, static_cast<std::size_t>(memory - base));
}

void round(std::size_t bytes, std::uint8_t value) {
    const CUdeviceptr memory = must_allocate(bytes);
    show_range(memory);
    std::printf("works %d\n", works(memory, bytes, value));
    show_free();
    show("free", release(memory));
    show_free();
}

/// Comes back for the same size in each round.
void rounds() {
    for (int i = 0; i < 20; ++i)
        round(2 * mib, static_cast<std::uint8_t>(i));
    const CUdeviceptr one = must_allocate(2 * mib);
    show("free", release(one));
    show("free again", release(one));
    show("free inside", release(one + 256));
}

/// Memory that the program frees by the wrong function is still its own.
void wrong_ends() {
    const auto end = [](CUdeviceptr memory) {
        show("free host", ASK("cuMemFreeHost", cuMemFreeHost)(reinterpret_cast<void*>(memory)));
        show("unregister", ASK("cuMemHostUnregister", cuMemHostUnregister)(reinterpret_cast<void*>(memory)));
    };
    for (int i = 0; i < 8; ++i) {
        const CUdeviceptr one = must_allocate(mib);
        end(one);
        const CUdeviceptr other = must_allocate(mib);
        std::printf("two %d\n", one != other);
        show("free", release(one));
        show("free", release(other));
    }
}

/// Never comes back for a size.
void phases() {
    for (int i = 1; i < 20; ++i)
        round(static_cast<std::size_t>(i) * mib, static_cast<std::uint8_t>(i));
}

/// All of a card of 64 MiB, in sizes that differ.
void full() {
    for (int i = 0; i < 8; ++i)
        show("free", release(must_allocate(8 * mib)));
    CUdeviceptr large = 0;
    show("allocate", allocate(&large, 56 * mib));
    show("free", release(large));
    for (int i = 0; i < 8; ++i)
        show("free", release(must_allocate(8 * mib)));
    CUdeviceptr managed = 0, row = 0;
    std::size_t pitch = 0;
    show("pitch", ASK("cuMemAllocPitch", cuMemAllocPitch_v2)(&row, &pitch, mib, 56, 4));
    show("free", release(row));
    show("too much", allocate(&managed, 65 * mib));
}

/// Another process may use the memory.
void share() {
    for (int i = 0; i < 8; ++i) {
        const CUdeviceptr memory = must_allocate(mib);
        CUipcMemHandle handle;
        show("share", ASK("cuIpcGetMemHandle", cuIpcGetMemHandle)(&handle, memory));
        show("free", release(memory));
    }
}

/// Two contexts, of which one ends.
void contexts() {
    CUcontext other = nullptr;
    must(ASK("cuCtxCreate", cuCtxCreate_v4)(&other, nullptr, 0, 0), "create");
    const auto set = ASK("cuCtxSetCurrent", cuCtxSetCurrent);
    for (int i = 0; i < 16; ++i) {
        must(set(i % 2 == 0 ? context : other), "set");
        round(mib, static_cast<std::uint8_t>(i));
    }
    const CUdeviceptr memory = must_allocate(mib); // of `other`, freed from the first context
    must(set(context), "set");
    show("free", release(memory));
    show("destroy", ASK("cuCtxDestroy", cuCtxDestroy_v2)(other));
    for (int i = 0; i < 4; ++i)
        round(mib, static_cast<std::uint8_t>(i));
    show_free();
}

/// Sizes from a few classes, in threads; each block holds what its thread wrote there.
void threads() {
    constexpr std::size_t looked_at = 4096;
    std::vector<std::thread> all;
    bool right[4] = {};
    for (unsigned number = 0; number < 4; ++number)
        all.emplace_back([number, &right] {
            must(ASK("cuCtxSetCurrent", cuCtxSetCurrent)(context), "set");
            std::mt19937 random(number);
            struct Block {
                CUdeviceptr memory;
                std::size_t bytes;
                std::uint8_t value;
            };
            std::vector<Block> blocks;
            bool all_right = true;
            for (int i = 0; i < 2000; ++i) {
                if (blocks.empty() || random() % 2 == 0) {
                    const std::size_t bytes = std::size_t{1} << (20 + random() % 4);
                    blocks.push_back({must_allocate(bytes), bytes, static_cast<std::uint8_t>(random())});
                    must(ASK("cuMemsetD8", cuMemsetD8_v2)(blocks.back().memory, blocks.back().value, looked_at),
                         "set");
                } else {
                    std::swap(blocks[random() % blocks.size()], blocks.back());
                    const Block block = blocks.back();
                    blocks.pop_back();
                    std::vector<std::uint8_t> back(looked_at);
                    must(ASK("cuMemcpyDtoH", cuMemcpyDtoH_v2)(back.data(), block.memory, looked_at), "copy");
                    for (const std::uint8_t byte : back)
                        all_right = all_right && byte == block.value;
                    must(release(block.memory), "free");
                }
            }
            for (const Block& block : blocks)
                must(release(block.memory), "free");
            right[number] = all_right;
        });
    for (std::thread& each : all)
        each.join();
    std::printf("right %d %d %d %d\n", right[0], right[1], right[2], right[3]);
    show_free();
}

/// Work that runs when memory is freed has ended when the call returns.
void waits() {
    CUstream stream = nullptr;
    must(ASK("cuStreamCreate", cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "stream");
    const CUfunction function = load_count_up();
    for (int i = 0; i < 8; ++i) {
        CUdeviceptr memory = must_allocate(mib);
        must(ASK("cuMemsetD8", cuMemsetD8_v2)(memory, 0, mib), "set");
        void* parameters[] = {&memory};
        for (int k = 0; k < 10; ++k)
            must(ASK("cuLaunchKernel", cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters,
                                                       nullptr),
                 "launch");
        show("free", release(memory));
        show("done", ASK("cuStreamQuery", cuStreamQuery)(stream));
    }
}

/// Memory of a pool, and memory that is freed while a stream captures.
void others() {
    CUstream stream = nullptr;
    must(ASK("cuStreamCreate", cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "stream");
    for (int i = 0; i < 8; ++i) {
        CUdeviceptr memory = 0;
        show("pool", ASK("cuMemAllocAsync", cuMemAllocAsync)(&memory, mib, stream));
        must(ASK("cuStreamSynchronize", cuStreamSynchronize)(stream), "wait");
        show("free", release(memory));
    }
    for (int i = 0; i < 4; ++i)
        show("free", release(must_allocate(mib)));
    must(ASK("cuStreamSynchronize", cuStreamSynchronize)(stream), "wait"); // the pool gives back what it has
    show_free();
}

/// Comes back for memory, then does nothing until its standard input ends.
void hold() {
    for (int i = 0; i < 8; ++i)
        must(release(must_allocate(2 * mib)), "free");
    std::puts("ready");
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    round(2 * mib, 1);
}

} // namespace

int main(int argc, char** argv) {
    context = make_context();
    return run_scenario(argc > 1 ? argv[1] : "", {{"rounds", rounds},
                                                  {"wrong_ends", wrong_ends},
                                                  {"phases", phases},
                                                  {"full", full},
                                                  {"share", share},
                                                  {"contexts", contexts},
                                                  {"threads", threads},
                                                  {"waits", waits},
                                                  {"others", others},
                                                  {"hold", hold}});
}
