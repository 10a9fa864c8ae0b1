/// A lock without waiting.
#pragma once

#include <atomic>

namespace umadvisor::observe {

/// For sampling during the program's calls: a thread that finds it locked does without the sample.
class TryLock {
public:
    constexpr TryLock() noexcept = default;
    TryLock(const TryLock&) = delete;
    TryLock& operator=(const TryLock&) = delete;

    bool try_lock() noexcept { return !locked_.test_and_set(std::memory_order_acquire); }
    void unlock() noexcept { locked_.clear(std::memory_order_release); }

    /// Holds the lock, if it was free, for its own life.
    class Attempt {
    public:
        explicit Attempt(TryLock& lock) noexcept : lock_(lock), held_(lock.try_lock()) {}
        ~Attempt() noexcept {
            if (held_)
                lock_.unlock();
        }
        Attempt(const Attempt&) = delete;
        Attempt& operator=(const Attempt&) = delete;
        explicit operator bool() const noexcept { return held_; }

    private:
        TryLock& lock_;
        bool held_;
    };

private:
    std::atomic_flag locked_;
};

} // namespace umadvisor::observe
