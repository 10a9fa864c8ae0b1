/// A second stack for each thread. A thread of the program may have 16 KiB in all, thread-local storage
/// included, and the driver needs most of it, so our large variables are in pages of our own.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

namespace umadvisor::record {

/// `used` and `kept` are zero when the thread first needs them. A closed page behind them catches an overflow.
struct ThreadPages {
    static constexpr std::size_t kept_bytes = 8 * 1024, stack_bytes = 120 * 1024 - 64;

    std::size_t used;                       ///< bytes of `stack`
    alignas(64) std::byte kept[kept_bytes]; ///< see kept_of_thread()
    alignas(64) std::byte stack[stack_bytes];
};

extern constinit thread_local ThreadPages* thread_pages;

/// Null without memory.
ThreadPages* make_thread_pages() noexcept;

/// Gives the calling thread's pages back, at its end. The thread may be given others after that.
void free_thread_pages() noexcept;

/// Called in a child that fork(2) made. The child does not use the pages of threads that had ended: its copy
/// of their list is older than the fork, and the forking thread may have some of them.
void forget_left_pages() noexcept;

/// Whether the calling thread has pages, or can be given some. Every wrapper checks it first, so OffStack finds
/// them.
inline bool has_thread_pages() noexcept {
    return thread_pages != nullptr || make_thread_pages() != nullptr;
}

/// A local variable that is too large for the program's stack; initialised as `T name;` would be. Must be
/// destroyed in the reverse order of construction, as local variables are. Needs has_thread_pages().
template <class T>
class OffStack {
    static_assert(alignof(T) <= 64);

public:
    OffStack() noexcept : pages_(has_thread_pages() ? thread_pages : nullptr), before_(pages_->used) {
        pages_->used += (sizeof(T) + 63) / 64 * 64; // first: its constructor may have such variables, too
        value_ = new (pages_->stack + before_) T;
    }
    ~OffStack() noexcept {
        value_->~T();
        pages_->used = before_;
    }
    OffStack(const OffStack&) = delete;
    OffStack& operator=(const OffStack&) = delete;

    T& operator*() const noexcept { return *value_; }
    T* operator->() const noexcept { return value_; }

private:
    ThreadPages* pages_;
    std::size_t before_;
    T* value_;
};

/// Offsets of what outlives a call.
struct Kept {
    static constexpr std::size_t context = 0, prefetching = 64;
};

/// An object of the thread that outlives a call; all zeros at first. Not thread-local storage, which the loader
/// takes from every thread's stack.
template <class T, std::size_t at>
T& kept_of_thread() noexcept {
    static_assert(std::is_trivially_destructible_v<T> && at % alignof(T) == 0);
    static_assert(at + sizeof(T) <= ThreadPages::kept_bytes);
    has_thread_pages();
    return *reinterpret_cast<T*>(thread_pages->kept + at);
}

} // namespace umadvisor::record
