#include "interposer/record/off_stack.hpp"

#include "interposer/base/pages.hpp"

#include <cerrno>
#include <pthread.h>

namespace umadvisor::record {

constinit thread_local ThreadPages* thread_pages = nullptr;

namespace {

constinit pthread_once_t once = PTHREAD_ONCE_INIT;
constinit pthread_key_t key = 0;
constinit bool has_key = false; ///< else pages of threads that have ended stay

/// A key of its own: there are pages before there is a trace, and in threads that record nothing.
void make_key() noexcept {
    has_key = pthread_key_create(&key, [](void*) { free_thread_pages(); }) == 0;
}

} // namespace

[[gnu::cold]] ThreadPages* make_thread_pages() noexcept {
    const int kept = errno;
    pthread_once(&once, &make_key);
    thread_pages = static_cast<ThreadPages*>(base::map_pages(sizeof(ThreadPages)));
    if (has_key)
        pthread_setspecific(key, thread_pages);
    errno = kept;
    return thread_pages;
}

void free_thread_pages() noexcept {
    if (thread_pages != nullptr)
        base::unmap_pages(thread_pages, sizeof(ThreadPages));
    thread_pages = nullptr;
}

} // namespace umadvisor::record
