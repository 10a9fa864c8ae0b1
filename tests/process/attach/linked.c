/* A program linked with -lcuda: its first call arrives at the exported symbol before anybody has looked for the driver. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int cuTexRefSetMipmapLevelClamp(void* texture, float low, float high);
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);

int main(void) {
    if (cuTexRefSetMipmapLevelClamp((void*)1, 2.5f, 3.5f) != 0)
        return puts("floating-point arguments were lost"), 1;
    if (cuLaunchKernel((void*)1, 2, 3, 4, 5, 6, 7, 8, (void*)9, (void**)10, (void**)11) != 0)
        return puts("arguments were lost"), 1;
    unsigned long (*counted)(const char*) = (unsigned long (*)(const char*))dlsym(RTLD_DEFAULT, "test_counted_calls");
    if (counted == NULL || counted("cuTexRefSetMipmapLevelClamp") != 1 || counted("cuLaunchKernel") != 1)
        return puts("calls were not counted"), 1;
    puts("ok");
    return 0;
}
