// Host memory that is registered, used and unregistered in rounds. Prints every answer, and what the device
// finds.
#include "scenarios.hpp"
#include "staged.hpp"

#include <atomic>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t usual = 2 * mib;
constexpr int rounds = 20;

CUresult enter(void* memory, std::size_t bytes = usual, unsigned flags = 0) {
    return ASK("cuMemHostRegister", cuMemHostRegister_v2)(memory, bytes, flags);
}

CUresult leave(void* memory) {
    return ASK("cuMemHostUnregister", cuMemHostUnregister)(memory);
}

std::uint8_t* map(std::size_t bytes = usual, void* at = nullptr, int kind = MAP_PRIVATE) {
    void* const made =
        mmap(at, bytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS | (at != nullptr ? MAP_FIXED : 0), -1, 0);
    return made != MAP_FAILED ? static_cast<std::uint8_t*>(made) : nullptr;
}

/// What the rounds of every scenario work with.
struct Bench {
    CUstream stream = nullptr;
    CUdeviceptr device = allocate(usual);
    Copies copies;

    Bench() { must(ASK("cuStreamCreate", cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "stream"); }

    void show_device() const {
        std::vector<std::uint8_t> back(usual);
        show("device", copies.down(back.data(), device, usual), back);
    }

    /// Only the end of the registration waits for the copy, and the memory is overwritten at once.
    void use(std::uint8_t* memory, int round, std::size_t bytes = usual, unsigned flags = 0) const {
        std::printf("%d ", enter(memory, bytes, flags));
        std::memset(memory, round + 1, bytes);
        const int copied = copies.up_later(device, memory, bytes, stream);
        const int left = leave(memory);
        std::memset(memory, 0xee, bytes);
        std::printf("%d %d\n", copied, left);
        show_device();
    }
};

void use_in_rounds() {
    const Bench bench;
    std::uint8_t* const memory = map();
    for (int round = 0; round < rounds; ++round)
        bench.use(memory, round);
}

void use_heap() {
    const Bench bench;
    std::vector<std::uint8_t> memory(usual + 100);
    for (int round = 0; round < rounds; ++round)
        bench.use(memory.data() + 24, round);
}

/// Other memory in each round, or a byte more.
void use_once() {
    const Bench bench;
    std::uint8_t* const memory = map();
    for (int round = 0; round < rounds; ++round) {
        bench.use(map(), round);
        bench.use(memory, round, usual - static_cast<std::size_t>(round) * 4096);
    }
}

/// Memory that is no longer registered may be overwritten when a copy from it is back.
void copy_in_between() {
    const Bench bench;
    std::uint8_t* const memory = map();
    for (int round = 0; round < rounds; ++round) {
        bench.use(memory, round);
        if (round % 5 != 4)
            continue;
        std::memset(memory, 0x40 + round, usual);
        std::printf("pageable %d\n", bench.copies.up_later(bench.device, memory + 8192, 4096, bench.stream));
        std::memset(memory, 0xdd, usual);
        must(ASK("cuStreamSynchronize", cuStreamSynchronize)(bench.stream), "wait");
        bench.show_device();
        std::printf("back %d ", bench.copies.down(memory, bench.device, usual));
        std::printf("set %d\n", ASK("cuMemsetD8", cuMemsetD8_v2)(bench.device, 7, usual));
        must(ask<decltype(&cuCtxSynchronize)>("cuCtxSynchronize", 2000)(), "wait");
    }
}

/// Changes what is mapped at the address after each registration.
template <class Change>
void change_in_between(const Change& change) {
    const Bench bench;
    std::uint8_t* memory = map();
    for (int round = 0; round < rounds; ++round) {
        bench.use(memory, round);
        memory = change(memory);
    }
}

void unmap_in_between() {
    change_in_between([](std::uint8_t* memory) {
        munmap(memory, usual);
        return map(usual, memory);
    });
}
void replace_in_between() {
    change_in_between([](std::uint8_t* memory) { return map(usual, memory); });
}
void unmap_a_part() {
    change_in_between([](std::uint8_t* memory) {
        munmap(memory + 4096, 4096);
        map(4096, memory + 4096);
        return memory;
    });
}
void move_in_between() {
    change_in_between([](std::uint8_t* memory) {
        std::uint8_t* const other = map();
        std::printf("moved %d\n", mremap(memory, usual, usual, MREMAP_MAYMOVE | MREMAP_FIXED, other) == other);
        std::uint8_t* const again = map(usual, memory);
        munmap(other, usual);
        return again;
    });
}
void empty_in_between() {
    change_in_between([](std::uint8_t* memory) {
        madvise(memory + usual / 2, usual / 2, MADV_DONTNEED);
        std::printf("empty %d\n", memory[usual / 2]);
        return memory;
    });
}
void fork_in_between() {
    change_in_between([](std::uint8_t* memory) {
        std::fflush(stdout);
        if (const pid_t child = fork(); child == 0) {
            memory[0] = 1;
            munmap(memory, usual);
            _exit(0);
        } else {
            int status = 0;
            waitpid(child, &status, 0);
            std::printf("child %d\n", status);
        }
        return memory;
    });
}

/// Memory that other processes may have.
void use_shared() {
    const Bench bench;
    std::uint8_t* const memory = map(usual, nullptr, MAP_SHARED);
    for (int round = 0; round < rounds; ++round)
        bench.use(memory, round);
}

void describe(std::uint8_t* memory) {
    unsigned flags = 0, type = 99;
    CUdeviceptr device = 0;
    const auto address = reinterpret_cast<CUdeviceptr>(memory);
    const int answers[] = {
        ASK("cuMemHostGetFlags", cuMemHostGetFlags)(&flags, memory),
        ASK("cuMemHostGetDevicePointer", cuMemHostGetDevicePointer_v2)(&device, memory, 0),
        ASK("cuPointerGetAttribute", cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address)};
    std::printf("%d flags %u, %d %d, %d type %u\n", answers[0], flags, answers[1], device == address,
                answers[2], type);
}

void ask_in_between() {
    const Bench bench;
    std::uint8_t* const memory = map();
    for (int round = 0; round < rounds; ++round) {
        bench.use(memory, round);
        if (round % 5 == 4) {
            describe(memory);
            std::printf("free %d\n", ASK("cuMemFreeHost", cuMemFreeHost)(memory));
        }
    }
    for (int round = 0; round < rounds; ++round) {
        std::printf("%d ", enter(memory));
        describe(memory);
        std::printf("%d ", leave(memory));
        if (round % 5 == 4)
            describe(memory);
    }
}

/// Each is registered and unregistered twice, and parts of it meanwhile and afterwards.
void use_wrongly() {
    std::uint8_t* const memory = map();
    for (int round = 0; round < rounds; ++round) {
        std::printf("%d %d ", enter(memory), enter(memory));
        std::printf("%d ", leave(memory + 4096));
        std::printf("%d ", leave(memory));
        if (round % 4 == 3)
            std::printf("%d ", leave(memory));
        if (round % 4 == 2)
            std::printf("%d %d ", enter(memory + 4096, 8192), leave(memory + 4096));
        if (round % 4 == 1)
            std::printf("%d ", leave(memory + 4096));
        std::printf("\n");
    }
    std::printf("%d %d %d\n", enter(nullptr), enter(memory, 0), leave(nullptr));
}

void use_kinds() {
    const Bench bench;
    std::uint8_t* const memory = map();
    for (int round = 0; round < rounds; ++round)
        for (const unsigned flags : {0u, 1u, 2u, 3u}) {
            bench.use(memory, round, usual, flags);
            bench.use(memory, round, usual, flags);
        }
}

void use_in_contexts() {
    CUcontext own = nullptr;
    must(ASK("cuCtxGetCurrent", cuCtxGetCurrent)(&own), "current");
    for (int turn = 0; turn < 3; ++turn) {
        CUcontext context = nullptr;
        must(ask<decltype(&cuCtxCreate_v2)>("cuCtxCreate", 3020)(&context, 0, 0), "create");
        use_in_rounds();
        std::printf("destroyed %d\n", ASK("cuCtxDestroy", cuCtxDestroy_v2)(context));
        must(ASK("cuCtxSetCurrent", cuCtxSetCurrent)(own), "set");
        use_in_rounds();
    }
}

void use_while_capturing() {
    const Bench bench;
    std::uint8_t* const memory = map();
    for (const CUstreamCaptureMode mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
        for (int round = 0; round < rounds; ++round)
            bench.use(memory, round);
        must(ASK("cuStreamBeginCapture", cuStreamBeginCapture_v2)(bench.stream, mode), "begin");
        std::printf("captured %d %d\n", enter(memory), leave(memory));
        CUgraph graph = nullptr;
        std::printf("end %d\n", ASK("cuStreamEndCapture", cuStreamEndCapture)(bench.stream, &graph));
    }
}

/// Another thread asks about memory of its own now and then, which ends what is kept.
void use_beside_a_thread() {
    constexpr std::size_t bytes = 64 * 1024;
    constexpr int many = 20'000;
    const Bench bench;
    std::uint8_t* const memory = map(bytes);
    std::atomic<int> round{0};
    std::thread asking([&] {
        int own = 0;
        unsigned type = 0;
        for (int next = 0; round < many; next = round + 5) {
            while (round < next && round < many)
                std::this_thread::yield();
            ASK("cuPointerGetAttribute", cuPointerGetAttribute)
            (&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&own));
        }
    });
    int refused = 0;
    for (; round < many; ++round) {
        refused += enter(memory, bytes) != CUDA_SUCCESS;
        std::memset(memory, round, bytes);
        refused += bench.copies.up_later(bench.device, memory, bytes, bench.stream) != CUDA_SUCCESS;
        refused += leave(memory) != CUDA_SUCCESS;
    }
    asking.join();
    std::printf("refused %d\n", refused);
    std::vector<std::uint8_t> back(bytes);
    show("device", bench.copies.down(back.data(), bench.device, bytes), back);
}

} // namespace

int main(int, char** arguments) {
    mallopt(M_MMAP_THRESHOLD, 64 * 1024);
    make_context();
    return run_scenario(arguments[1], {{"rounds", use_in_rounds},
                                       {"heap", use_heap},
                                       {"once", use_once},
                                       {"copy", copy_in_between},
                                       {"unmap", unmap_in_between},
                                       {"replace", replace_in_between},
                                       {"part", unmap_a_part},
                                       {"move", move_in_between},
                                       {"empty", empty_in_between},
                                       {"fork", fork_in_between},
                                       {"shared", use_shared},
                                       {"ask", ask_in_between},
                                       {"wrong", use_wrongly},
                                       {"kinds", use_kinds},
                                       {"contexts", use_in_contexts},
                                       {"capture", use_while_capturing},
                                       {"beside", use_beside_a_thread}});
}
