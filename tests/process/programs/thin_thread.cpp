// A thread whose stack is as small as pthread_create(3) allows does all that programs do, often enough that
// every way of recording it is gone once: allocations, copies both ways, launches, waits, frees. "first" has it
// enter CUDA, too. "measure" prints how deep a larger stack was used, for finding out who uses it.
#include "driver_program.hpp"

#include <climits>
#include <cstdint>
#include <cstring>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t count = 1 << 20;

CUcontext context = nullptr;
CUfunction function = nullptr;
float sum = 0;

/// Copies of `count` numbers to `memory` and back, launches between.
void use(CUdeviceptr memory, float* numbers) {
    const auto launch = ASK("cuLaunchKernel", cuLaunchKernel);
    must(ASK("cuMemcpyHtoD", cuMemcpyHtoD_v2)(memory, numbers, count * sizeof(float)), "to the device");
    void* parameters[] = {&memory};
    for (int i = 0; i < 16; ++i)
        must(launch(function, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), "launch");
    must(ASK("cuStreamSynchronize", cuStreamSynchronize)(nullptr), "wait");
    must(ASK("cuMemcpyDtoH", cuMemcpyDtoH_v2)(numbers, memory, count * sizeof(float)), "to the host");
    sum += numbers[0];
}

void* work(void* numbers) {
    if (context == nullptr) {
        context = make_context();
        function = load_count_up();
    }
    must(ASK("cuCtxSetCurrent", cuCtxSetCurrent)(context), "current");
    for (int round = 0; round < 12; ++round) {
        CUdeviceptr memory = 0, managed = 0;
        must(ASK("cuMemAlloc", cuMemAlloc_v2)(&memory, count * sizeof(float)), "allocate");
        use(memory, static_cast<float*>(numbers));
        must(ASK("cuMemFree", cuMemFree_v2)(memory), "free");
        must(ASK("cuMemAllocManaged", cuMemAllocManaged)(&managed, count * sizeof(float), CU_MEM_ATTACH_GLOBAL),
             "allocate managed");
        use(managed, static_cast<float*>(numbers));
        sum += *reinterpret_cast<float*>(managed);
        must(ASK("cuMemFree", cuMemFree_v2)(managed), "free managed");
    }
    return nullptr;
}

} // namespace

int main(int argc, char** argv) {
    const auto asked = [&](const char* word) {
        for (int i = 1; i < argc; ++i)
            if (std::strcmp(argv[i], word) == 0)
                return true;
        return false;
    };
    if (!asked("first")) {
        context = make_context();
        function = load_count_up();
    }
    std::vector<float> numbers(count, 1);
    const std::size_t bytes = asked("measure") ? 256 * 1024 : static_cast<std::size_t>(PTHREAD_STACK_MIN);
    auto* const stack =
        static_cast<unsigned char*>(mmap(nullptr, bytes + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (mprotect(stack + 4096, bytes, PROT_READ | PROT_WRITE) != 0)
        return 2;
    std::memset(stack + 4096, 0xa5, bytes);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack + 4096, bytes);
    pthread_t thread;
    if (pthread_create(&thread, &attributes, &work, numbers.data()) != 0)
        return 2;
    pthread_join(thread, nullptr);
    if (asked("measure")) {
        std::size_t untouched = 0;
        while (stack[4096 + untouched] == 0xa5)
            ++untouched;
        std::printf("%zu bytes of the stack were used\n", bytes - untouched);
    }
    std::printf("%g\n", static_cast<double>(sum));
    return 0;
}
