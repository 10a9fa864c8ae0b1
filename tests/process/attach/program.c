/* Runs under the attach layer alone and checks what a program sees of it. Prints the first thing that is wrong. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int layered(void);

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("line %d: %s\n", __LINE__, #condition);                                                             \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

int main(void) {
    int* wrapper_calls = (int*)dlsym(RTLD_DEFAULT, "test_wrapper_calls");
    unsigned long (*counted)(const char*) = (unsigned long (*)(const char*))dlsym(RTLD_DEFAULT, "test_counted_calls");
    CHECK(wrapper_calls != NULL && counted != NULL);

    /* RTLD_NEXT means what it means without a hook, the second time too. */
    CHECK(layered() == 11);
    CHECK(layered() == 11);

    /* No driver is loaded yet: our exported names must not look like one, and dlerror says so. */
    dlerror();
    CHECK(dlsym(RTLD_DEFAULT, "cuInit") == NULL);
    const char* text = dlerror();
    CHECK(text != NULL && strstr(text, "cuInit") != NULL);

    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    CHECK(driver != NULL);
    int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
    CHECK(init != NULL && init(7) == 0 && *wrapper_calls == 1);
    CHECK(init(8) == 1 && *wrapper_calls == 2);

    int (*launch)() = (int (*)())dlsym(driver, "cuLaunchKernel");
    CHECK(launch != NULL);
    CHECK(((int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**))
               launch)((void*)1, 2, 3, 4, 5, 6, 7, 8, (void*)9, (void**)10, (void**)11) == 0);
    CHECK(counted("cuLaunchKernel") == 1);

    int (*clamp)(void*, float, float) = (int (*)(void*, float, float))dlsym(driver, "cuTexRefSetMipmapLevelClamp");
    CHECK(clamp != NULL && clamp((void*)1, 2.5f, 3.5f) == 0 && counted("cuTexRefSetMipmapLevelClamp") == 1);

    /* A name that the driver lacks stays missing, and one that is no entry point is none of our business. */
    dlerror();
    CHECK(dlsym(driver, "cuMemAlloc_v2") == NULL && dlerror() != NULL);
    CHECK(dlsym(driver, "cudnnCreate") == NULL);
    CHECK(dlsym(RTLD_DEFAULT, "printf") != NULL);

    /* The exported symbol leads to the same place, and to a refusal where the driver lacks it. */
    int (*release)(unsigned long long) = (int (*)(unsigned long long))dlsym(RTLD_DEFAULT, "cuMemFree_v2");
    CHECK(release != NULL && release(0x123456789abcdefull) == 0 && counted("cuMemFree_v2") == 1);
    int (*missing)(void*, size_t) = (int (*)(void*, size_t))dlsym(RTLD_DEFAULT, "cuMemAlloc_v2");
    CHECK(missing != NULL && missing(NULL, 1) == 801);
    puts("ok");
    return 0;
}
