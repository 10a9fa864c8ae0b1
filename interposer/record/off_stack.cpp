#include "interposer/record/off_stack.hpp"

#include "interposer/base/pages.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <pthread.h>
#include <utility>

namespace umadvisor::record {

constinit thread_local ThreadPages* thread_pages = nullptr;

namespace {

constinit pthread_once_t once = PTHREAD_ONCE_INIT;
constinit pthread_key_t key = 0;
constinit bool has_key = false; ///< else pages of threads that have ended stay
/// Pages of threads that have ended, for new ones: to map, touch and unmap some takes longer than a short
/// thread lives.
constinit std::atomic<ThreadPages*> left[8]{};

/// Null if there are none.
ThreadPages* take_left() noexcept {
    for (std::atomic<ThreadPages*>& each : left)
        if (each.load(std::memory_order_relaxed) != nullptr)
            if (ThreadPages* const pages = each.exchange(nullptr, std::memory_order_acquire))
                return pages;
    return nullptr;
}

/// Makes the pages as new ones are, and keeps them for another thread; false if enough are kept. A jump out of
/// a call leaves `used` above zero.
bool leave(ThreadPages* pages) noexcept {
    pages->used = 0;
    std::memset(pages->kept, 0, sizeof pages->kept);
    for (std::atomic<ThreadPages*>& each : left) {
        ThreadPages* none = nullptr;
        if (each.compare_exchange_strong(none, pages, std::memory_order_release, std::memory_order_relaxed))
            return true;
    }
    return false;
}

/// A key of its own: there are pages before there is a trace, and in threads that record nothing.
void make_key() noexcept {
    has_key = pthread_key_create(&key, [](void*) { free_thread_pages(); }) == 0;
}

} // namespace

[[gnu::cold]] ThreadPages* make_thread_pages() noexcept {
    const int kept = errno;
    pthread_once(&once, &make_key);
    thread_pages = take_left();
    if (thread_pages == nullptr)
        thread_pages = static_cast<ThreadPages*>(base::map_pages(sizeof(ThreadPages)));
    if (has_key)
        pthread_setspecific(key, thread_pages);
    errno = kept;
    return thread_pages;
}

void free_thread_pages() noexcept {
    ThreadPages* const pages = std::exchange(thread_pages, nullptr); // first: a signal handler may call CUDA
    if (pages != nullptr && !leave(pages))
        base::unmap_pages(pages, sizeof(ThreadPages));
}

void forget_left_pages() noexcept {
    for (std::atomic<ThreadPages*>& each : left)
        each.store(nullptr, std::memory_order_relaxed);
}

} // namespace umadvisor::record
