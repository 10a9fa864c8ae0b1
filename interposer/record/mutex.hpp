/// A lock for the slow paths.
#pragma once

#include "interposer/record/lock_check.hpp"

#include <pthread.h>

namespace umadvisor::record {

/// std::mutex reports errors by exceptions; this one needs neither a constructor at load time nor libstdc++.
class Mutex {
public:
    explicit constexpr Mutex(Lock level) noexcept : level_(level) {}
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;

    void lock() noexcept {
        level_.assert_order();
        pthread_mutex_lock(&mutex_);
        level_.take();
    }
    bool try_lock() noexcept {
        const bool locked = pthread_mutex_trylock(&mutex_) == 0;
        if (locked)
            level_.take();
        return locked;
    }
    void unlock() noexcept {
        level_.give_back();
        pthread_mutex_unlock(&mutex_);
    }

private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    [[no_unique_address]] LockLevel level_;
};

class Guard {
public:
    explicit Guard(Mutex& mutex) noexcept : mutex_(mutex) { mutex_.lock(); }
    ~Guard() { mutex_.unlock(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

private:
    Mutex& mutex_;
};

} // namespace umadvisor::record
