/// A program that wants CUPTI's one seat for itself: "profiled before" asks for it before it has managed
/// memory, "profiled after" when it has used some, "profiled never" not at all. Prints the answer, and whether
/// CUPTI was in the process by itself.
#include "counting.hpp"

#include <cstring>
#include <dlfcn.h>

namespace {

void ignore(void*, unsigned, unsigned, const void*) {}

void take_seat() {
    void* const cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
    using Subscribe = int (*)(void**, void (*)(void*, unsigned, unsigned, const void*), void*);
    const auto subscribe =
        cupti != nullptr ? reinterpret_cast<Subscribe>(dlsym(cupti, "cuptiSubscribe")) : nullptr;
    void* subscriber = nullptr;
    std::printf("seat %d\n", subscribe != nullptr ? subscribe(&subscriber, &ignore, nullptr) : -1);
}

} // namespace

int main(int, char** argv) {
    if (std::strcmp(argv[1], "before") == 0)
        take_seat();
    float* const x = make();
    launch(x, 10);
    finish(x);
    std::printf("loaded %d\n", dlopen("libcupti.so.13", RTLD_NOLOAD | RTLD_LAZY) != nullptr);
    if (std::strcmp(argv[1], "after") == 0)
        take_seat();
    cudaFree(x);
}
