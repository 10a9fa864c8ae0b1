/// A library for the tests of debug information: an address in it whose functions and lines are known.

extern "C" {
extern const int sample_inlined_line, sample_outer_line;
void* sample_outer();
}

namespace sample {

__attribute__((noinline)) void* here() {
    return __builtin_return_address(0);
}

const int inlined_line = __LINE__ + 3;
inline __attribute__((always_inline)) void* inlined() {
    asm volatile("" ::: "memory");
    void* const address = here();
    asm volatile("" ::: "memory");
    return address;
}

const int outer_line = __LINE__ + 2;
__attribute__((noinline)) void* outer() {
    void* const address = inlined();
    asm volatile("" ::: "memory");
    return address;
}

} // namespace sample

extern "C" {
const int sample_inlined_line = sample::inlined_line, sample_outer_line = sample::outer_line;

void* sample_outer() {
    return sample::outer();
}
}
