/* Before 2.34 a program brought what runs its constructors, and gave it to __libc_start_main; today's startup code gives
   NULL, for which an old glibc runs none. Later releases call what they are given. */
#include <stddef.h>

#ifdef __x86_64__
__asm__(".symver start_of_old, __libc_start_main@GLIBC_2.2.5");
#else
__asm__(".symver start_of_old, __libc_start_main@GLIBC_2.17");
#endif

typedef int Main(int, char**, char**);
typedef void Constructor(int, char**, char**);
typedef void Destructor(void);

int start_of_old(Main* program, int count, char** arguments, Constructor* begin, Destructor* end, Destructor* unload, void* stack);

extern Constructor* const __preinit_array_start[] __attribute__((visibility("hidden")));
extern Constructor* const __preinit_array_end[] __attribute__((visibility("hidden")));
extern Constructor* const __init_array_start[] __attribute__((visibility("hidden")));
extern Constructor* const __init_array_end[] __attribute__((visibility("hidden")));
void _init(void);

static void construct(int count, char** arguments, char** environment) {
    for (Constructor* const* each = __preinit_array_start; each != __preinit_array_end; ++each)
        (*each)(count, arguments, environment);
    _init();
    for (Constructor* const* each = __init_array_start; each != __init_array_end; ++each)
        (*each)(count, arguments, environment);
}

int __libc_start_main(Main* program, int count, char** arguments, Constructor* begin, Destructor* end, Destructor* unload,
                      void* stack) {
    (void)begin;
    return start_of_old(program, count, arguments, construct, end, unload, stack);
}
