/// Allocates in a function of its own, whose name differs from build to build of this file and nothing else
/// does.
#include <cstddef>
#include <cuda_runtime_api.h>

extern "C" [[gnu::noinline]] int PLUGIN_FUNCTION(void** memory, std::size_t bytes) {
    const int answer = static_cast<int>(cudaMalloc(memory, bytes));
    asm volatile("" ::: "memory"); // no tail call: its frame is what the test looks for
    return answer;
}

extern "C" int allocate_for_plugin(void** memory, std::size_t bytes) {
    const int answer = PLUGIN_FUNCTION(memory, bytes);
    asm volatile("" ::: "memory");
    return answer;
}
