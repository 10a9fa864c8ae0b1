/* Preloaded into the analyzer: opening an object's symbols takes longer than a user waits without a sign. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

void* dwfl_begin(const void* callbacks) {
    void* (*const next)(const void*) = (void* (*)(const void*))dlsym(RTLD_NEXT, "dwfl_begin");
    usleep(800 * 1000);
    return next(callbacks);
}
