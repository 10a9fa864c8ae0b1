/* A library that wraps a function of the one behind it, as preloaded allocators and BLAS libraries do. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

int layered(void) {
    int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "layered");
    return next == NULL || next == layered ? -1 : 10 + next();
}
