/* A libcuda.so.1 with a handful of entry points that check what arrives. Plain C, so that it cross-compiles anywhere. */
#include <stddef.h>

int cuInit(unsigned flags) { return flags == 7 ? 0 : 1; }

/* Eleven arguments: registers and stack. */
int cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void* stream, void** parameters, void** extra) {
    return f == (void*)1 && gx == 2 && gy == 3 && gz == 4 && bx == 5 && by == 6 && bz == 7 && shared == 8 &&
                   stream == (void*)9 && parameters == (void**)10 && extra == (void**)11
               ? 0
               : 1;
}

/* Floating-point arguments live in registers of their own. */
int cuTexRefSetMipmapLevelClamp(void* texture, float low, float high) {
    return texture == (void*)1 && low == 2.5f && high == 3.5f ? 0 : 1;
}

int cuMemFree_v2(unsigned long long address) { return address == 0x123456789abcdefull ? 0 : 1; }
