// Control flow that leaves frames in other ways than by returning, and code that tells nothing of its frames.
// Each allocation is of a size of its own, by which the test finds its stack.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <coroutine>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <sys/mman.h>

namespace {

constexpr std::size_t unit = 4096;
volatile int sink; ///< keeps frames: something is left to do after each call

[[gnu::noinline]] void allocate(std::size_t units) {
    CUdeviceptr address = 0;
    const int answer = cuMemAlloc_v2(&address, units * unit);
    sink = sink + 1;
    if (answer != 0)
        std::printf("%d\n", answer);
    cuMemFree_v2(address);
}

// Exceptions.

struct Counted {
    ~Counted() { sink = sink + 1; }
};

[[gnu::noinline]] void throw_below(int depth, std::size_t units) {
    const Counted counted;
    if (depth == 0) {
        allocate(units);
        throw std::runtime_error("thrown");
    }
    throw_below(depth - 1, units);
    sink = sink + 1;
}

[[gnu::noinline]] void throw_on(int depth, std::size_t units) {
    try {
        throw_below(depth, units);
    } catch (const std::runtime_error&) {
        allocate(units + 1); // while the exception is being handled
        throw;
    }
}

[[gnu::noinline]] void throw_exceptions() {
    int caught = 0;
    for (int i = 0; i < 300; ++i)
        try {
            throw_on(i % 3, 10);
        } catch (const std::exception&) {
            ++caught;
        }
    allocate(20);
    std::printf("caught %d\n", caught);
}

// Jumps.

std::jmp_buf back;

[[gnu::noinline]] void jump_below(int depth) {
    volatile char room[100];
    room[0] = 1;
    if (depth != 0)
        jump_below(depth - 1);
    allocate(10);
    if (sink != 0)
        std::longjmp(back, 1);
    sink = sink + room[0];
}

[[gnu::noinline]] void jump() {
    static volatile int jumps = 0;
    if (setjmp(back) != 0)
        jumps = jumps + 1;
    if (jumps < 300)
        jump_below(jumps % 3);
    allocate(20);
    std::printf("jumped %d\n", jumps);
}

// Coroutines.

struct Numbers {
    struct promise_type {
        int value = 0;
        Numbers get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(int number) noexcept {
            value = number;
            return {};
        }
        void return_void() {}
        void unhandled_exception() { throw; }
    };
    std::coroutine_handle<promise_type> handle;
};

Numbers allocating_numbers() {
    for (int i = 0;; ++i) {
        allocate(i % 2 == 0 ? 10 : 11);
        co_yield i;
    }
}

[[gnu::noinline]] int take_even(const Numbers& numbers) {
    numbers.handle.resume();
    sink = sink + 1;
    return numbers.handle.promise().value;
}
[[gnu::noinline]] int take_odd(const Numbers& numbers) {
    numbers.handle.resume();
    sink = sink + 2;
    return numbers.handle.promise().value;
}

[[gnu::noinline]] void run_coroutines() {
    const Numbers numbers = allocating_numbers();
    int sum = 0;
    for (int i = 0; i < 100; ++i) {
        sum += take_even(numbers);
        sum += take_odd(numbers);
    }
    numbers.handle.destroy();
    std::printf("sum %d\n", sum);
}

// Generated code.

using Generated = int (*)(CUdeviceptr*, std::size_t, const void* base, CUresult (*)(CUdeviceptr*, std::size_t));

/// A function that calls the driver, with a frame pointer or with `base` in rbp.
Generated generate(bool frame_pointer) {
    //                            push %rbp; mov %rsp, %rbp;    call *%rcx; pop %rbp; ret
    const unsigned char kept[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0x5d, 0xc3};
    //                                mov %rdx, %rbp
    const unsigned char data[] = {0x55, 0x48, 0x89, 0xd5, 0xff, 0xd1, 0x5d, 0xc3};
    void* const page = mmap(nullptr, unit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(page, frame_pointer ? kept : data, sizeof kept);
    mprotect(page, unit, PROT_READ | PROT_EXEC);
    Generated function = nullptr;
    std::memcpy(&function, &page, sizeof page);
    return function;
}

[[gnu::noinline, gnu::optimize("no-omit-frame-pointer")]] void
call_generated(Generated function, const void* base, std::size_t units) {
    CUdeviceptr address = 0;
    const int answer = function(&address, units * unit, base, cuMemAlloc_v2);
    sink = sink + 1;
    std::printf("%d", answer);
    cuMemFree_v2(address);
}

[[gnu::noinline]] void run_generated_code() {
    const Generated kept = generate(true), data = generate(false);
    std::uint64_t words[64];
    for (std::uint64_t& word : words)
        word = 0x123456789abc; // no code stands there
    const void* const bases[] = {nullptr, reinterpret_cast<const void*>(0x10),
                                 reinterpret_cast<const void*>(0x8000000000000000), words, words + 32};
    for (int round = 0; round < 20; ++round) {
        call_generated(kept, nullptr, 10);
        for (const void* const base : bases)
            call_generated(data, base, 11);
    }
    std::printf("\n%d\n", static_cast<int>(words[0] == 0x123456789abc));
}

} // namespace

int main(int argc, char** argv) {
    const std::string scenario = argc > 1 ? argv[1] : "";
    CUcontext context = nullptr;
    if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS)
        return 3;
    if (scenario == "exceptions")
        throw_exceptions();
    else if (scenario == "jumps")
        jump();
    else if (scenario == "coroutines")
        run_coroutines();
    else if (scenario == "generated")
        run_generated_code();
    else
        return 2;
    return 0;
}
