#include "tools/simcuda/driver/host_faults.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// Linux 5.11, missing from older headers.
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

namespace simcuda {

namespace {
constexpr std::uint64_t page = 4096;

int open_userfaultfd() {
    // Faults raised inside system calls need privilege or vm.unprivileged_userfaultfd; without, user mode must
    // do.
    auto descriptor = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC));
    if (descriptor < 0) {
        descriptor = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
    }
    return descriptor;
}
} // namespace

bool HostFaults::start(Service service) {
    if (running()) {
        return true;
    }
    const int descriptor = open_userfaultfd();
    const auto agree = [descriptor](std::uint64_t features) {
        uffdio_api api{UFFD_API, features, 0};
        return ioctl(descriptor, UFFDIO_API, &api) == 0;
    };
    constexpr std::uint64_t needed = UFFD_FEATURE_MINOR_SHMEM | UFFD_FEATURE_THREAD_ID;
    constexpr std::uint64_t protection = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
    can_protect_ = descriptor >= 0 && agree(needed | protection);
    if (descriptor < 0 || (!can_protect_ && !agree(needed))) {
        if (descriptor >= 0) {
            close(descriptor);
        }
        return false;
    }
    descriptor_ = descriptor;
    service_ = service;
    // A signal of the program must never run here: its handler could touch managed memory and wait for this
    // thread.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    const int failed = pthread_create(&thread, nullptr, run, this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (failed) {
        close(descriptor_);
        descriptor_ = -1;
        return false;
    }
    pthread_setname_np(thread, "simcuda-faults");
    pthread_detach(thread);
    return true;
}

bool HostFaults::watch(std::uint64_t address, std::uint64_t bytes) const {
    // Missing: pages nobody has touched yet. Minor: pages that exist and have lost their host mapping.
    std::uint64_t mode = UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR;
    mode |= can_protect_ ? UFFDIO_REGISTER_MODE_WP : 0;
    uffdio_register range{{address, bytes}, mode, 0};
    return ioctl(descriptor_, UFFDIO_REGISTER, &range) == 0;
}

void HostFaults::map(std::uint64_t address, std::uint64_t bytes, const char* view) const {
    // UFFDIO_CONTINUE wants the page in the page cache: reading it through the other mapping puts it there.
    for (std::uint64_t at = 0; at < bytes; at += page) {
        static_cast<void>(*static_cast<const volatile char*>(view + at));
    }
    std::uint64_t done = 0;
    while (done < bytes) {
        uffdio_continue request{{address + done, bytes - done}, 0, 0};
        if (ioctl(descriptor_, UFFDIO_CONTINUE, &request) == 0) {
            return;
        }
        if (request.mapped > 0) {
            done += static_cast<std::uint64_t>(request.mapped);
        } else if (errno == EEXIST) {
            // Mapped already: nobody may be left asleep on it.
            uffdio_range woken{address + done, page};
            ioctl(descriptor_, UFFDIO_WAKE, &woken);
            done += page;
        } else if (errno != EAGAIN) {
            return;
        }
    }
}

void HostFaults::protect(std::uint64_t address, std::uint64_t bytes, bool on) const {
    if (can_protect_) {
        uffdio_writeprotect request{{address, bytes}, on ? UFFDIO_WRITEPROTECT_MODE_WP : 0ull};
        ioctl(descriptor_, UFFDIO_WRITEPROTECT, &request);
    }
}

void HostFaults::unmap(std::uint64_t address, std::uint64_t bytes) const {
    // On a shared mapping this drops the page-table entries; the data stays in the memfd.
    madvise(reinterpret_cast<void*>(address), bytes, MADV_DONTNEED);
}

void* HostFaults::run(void* self) {
    const auto* faults = static_cast<const HostFaults*>(self);
    for (;;) {
        uffd_msg message;
        const ssize_t got = read(faults->descriptor_, &message, sizeof message);
        if (got == static_cast<ssize_t>(sizeof message)) {
            if (message.event == UFFD_EVENT_PAGEFAULT) {
                faults->service_(
                    message.arg.pagefault.address & ~(page - 1),
                    (message.arg.pagefault.flags & (UFFD_PAGEFAULT_FLAG_WRITE | UFFD_PAGEFAULT_FLAG_WP)) != 0,
                    message.arg.pagefault.feat.ptid);
            }
        } else if (got < 0 && errno != EINTR && errno != EAGAIN) {
            return nullptr;
        }
    }
}

std::uint64_t program_counter(std::uint32_t thread) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%u/syscall", thread);
    // The message about a fault may come just before its thread goes to sleep: "running" then.
    for (int attempt = 0; attempt < 100; ++attempt) {
        const int file = open(path, O_RDONLY | O_CLOEXEC);
        char text[256];
        const ssize_t got = file < 0 ? -1 : read(file, text, sizeof text - 1);
        if (file >= 0) {
            close(file);
        }
        if (got <= 0) {
            return 0;
        }
        // proc(5), /proc/pid/syscall: the last number is the program counter.
        text[got] = 0;
        if (const char* last = std::strrchr(text, ' ')) {
            return std::strtoull(last + 1, nullptr, 16);
        }
        sched_yield();
    }
    return 0;
}

} // namespace simcuda
