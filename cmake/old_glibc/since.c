/* Functions that later releases of glibc brought and that the compiler's libraries or umadvisor use, for programs that are to
   run with an older one. They come with the libc.so of stubs.py, each where something asks for it; hidden, so none is seen elsewhere. */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* 2.29 */
int getcpu(unsigned* cpu, unsigned* node) {
    return (int)syscall(SYS_getcpu, cpu, node, NULL);
}

/* 2.30. Older releases wait by CLOCK_REALTIME alone. */
static struct timespec by_realtime(clockid_t clock, const struct timespec* until) {
    struct timespec now, wall;
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &wall);
    wall.tv_sec += until->tv_sec - now.tv_sec;
    wall.tv_nsec += until->tv_nsec - now.tv_nsec;
    if (wall.tv_nsec < 0) {
        wall.tv_nsec += 1000000000;
        --wall.tv_sec;
    } else if (wall.tv_nsec >= 1000000000) {
        wall.tv_nsec -= 1000000000;
        ++wall.tv_sec;
    }
    return wall;
}

int sem_clockwait(sem_t* semaphore, clockid_t clock, const struct timespec* until) {
    const struct timespec wall = by_realtime(clock, until);
    return sem_timedwait(semaphore, &wall);
}

int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const struct timespec* until) {
    const struct timespec wall = by_realtime(clock, until);
    return pthread_mutex_timedlock(mutex, &wall);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const struct timespec* until) {
    const struct timespec wall = by_realtime(clock, until);
    return pthread_cond_timedwait(condition, mutex, &wall);
}

/* 2.32 */
char __libc_single_threaded = 0; /* libstdc++ counts references without atomics where it is set */

const char* strerrordesc_np(int error) {
    return strerror(error);
}

/* 2.33: functions, where there had been macros. _STAT_VER is 1 on x86-64, 0 elsewhere. */
#ifdef __x86_64__
#define STAT_VERSION 1
#else
#define STAT_VERSION 0
#endif
int __xstat(int version, const char* path, struct stat* found);
int __lxstat(int version, const char* path, struct stat* found);
int __fxstat(int version, int file, struct stat* found);
int __fxstatat(int version, int folder, const char* path, struct stat* found, int flags);

int stat(const char* restrict path, struct stat* restrict found) {
    return __xstat(STAT_VERSION, path, found);
}
int lstat(const char* restrict path, struct stat* restrict found) {
    return __lxstat(STAT_VERSION, path, found);
}
int fstat(int file, struct stat* found) {
    return __fxstat(STAT_VERSION, file, found);
}
int fstatat(int folder, const char* restrict path, struct stat* restrict found, int flags) {
    return __fxstatat(STAT_VERSION, folder, path, found, flags);
}
_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "one type by two names");
int stat64(const char* restrict path, struct stat64* restrict found) __attribute__((alias("stat")));
int lstat64(const char* restrict path, struct stat64* restrict found) __attribute__((alias("lstat")));
int fstat64(int file, struct stat64* found) __attribute__((alias("fstat")));
int fstatat64(int folder, const char* restrict path, struct stat64* restrict found, int flags)
    __attribute__((alias("fstatat")));

/* 2.35: the unwinder of libgcc finds an object's frames by it. */
struct wanted {
    uintptr_t address;
    struct dl_find_object* found;
};

static int look_at(struct dl_phdr_info* object, size_t size, void* data) {
    (void)size;
    const struct wanted* wanted = data;
    int inside = 0;
    void* frames = NULL;
    uintptr_t first = UINTPTR_MAX, last = 0;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)* part = &object->dlpi_phdr[i];
        const uintptr_t start = object->dlpi_addr + part->p_vaddr, end = start + part->p_memsz;
        if (part->p_type == PT_GNU_EH_FRAME)
            frames = (void*)start;
        if (part->p_type != PT_LOAD)
            continue;
        inside |= start <= wanted->address && wanted->address < end;
        first = start < first ? start : first;
        last = end > last ? end : last;
    }
    if (!inside || frames == NULL)
        return inside ? -1 : 0;
    wanted->found->dlfo_map_start = (void*)first;
    wanted->found->dlfo_map_end = (void*)last;
    wanted->found->dlfo_eh_frame = frames;
    return 1;
}

int _dl_find_object(void* address, struct dl_find_object* found) {
    struct wanted wanted = {(uintptr_t)address, memset(found, 0, sizeof *found)};
    return dl_iterate_phdr(look_at, &wanted) == 1 ? 0 : -1;
}

/* 2.36: libstdc++ seeds by it. */
unsigned arc4random(void) {
    unsigned number = 0;
    while (getrandom(&number, sizeof number, 0) < 0 && errno == EINTR)
        ;
    return number;
}

