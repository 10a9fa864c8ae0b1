/// A lock for the slow paths.
#pragma once

#include "interposer/record/lock_check.hpp"

#include <pthread.h>

namespace umadvisor::record {

/// std::mutex reports errors by exceptions; this one needs neither a constructor at load time nor libstdc++.
class Mutex {
public:
    constexpr Mutex() noexcept = default;
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;

    void lock() noexcept {
        pthread_mutex_lock(&mutex_);
        count_lock();
    }
    bool try_lock() noexcept {
        const bool taken = pthread_mutex_trylock(&mutex_) == 0;
        if (taken)
            count_lock();
        return taken;
    }
    void unlock() noexcept {
        count_unlock();
        pthread_mutex_unlock(&mutex_);
    }

private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
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
