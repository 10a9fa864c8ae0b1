/// A table of a few driver handles, each with a small number of ours.
#pragma once

#include "interposer/record/mutex.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace umadvisor::observe {

/// Look-ups do not lock: handle and value share a word, since addresses of a process have 48 bits. Handles
/// beyond `Capacity` are not kept.
template <std::size_t Capacity>
class HandleTable {
public:
    static constexpr std::uint64_t absent = 0x10000;

    /// The value of `handle`, or `absent`.
    std::uint64_t find(std::uint64_t handle) const noexcept {
        const std::size_t used = used_.load(std::memory_order_acquire);
        for (std::size_t i = 0; i < used; ++i)
            if (const std::uint64_t word = words_[i].load(std::memory_order_acquire);
                word >> 16 == handle && word != 0)
                return word & 0xffff;
        return absent;
    }

    /// Sets the value of `handle`; `before` gets the one that it had, or `absent`. False if the table is full.
    bool put(std::uint64_t handle, std::uint16_t value, std::uint64_t& before) noexcept {
        before = absent;
        const record::Guard guard(mutex_);
        const std::size_t used = used_.load(std::memory_order_relaxed);
        std::size_t at = used;
        for (std::size_t i = used; i-- != 0;) {
            const std::uint64_t word = words_[i].load(std::memory_order_relaxed);
            if (word >> 16 == handle && word != 0) {
                at = i;
                before = word & 0xffff;
                break;
            }
            at = word >> 16 == 0 ? i : at;
        }
        if (at == Capacity)
            return false;
        words_[at].store(handle << 16 | value, std::memory_order_release);
        if (at == used)
            used_.store(used + 1, std::memory_order_release);
        return true;
    }

    bool put(std::uint64_t handle, std::uint16_t value) noexcept {
        std::uint64_t before = absent;
        return put(handle, value, before);
    }

    void erase_all() noexcept {
        const record::Guard guard(mutex_);
        for (std::size_t i = 0; i < used_.load(std::memory_order_relaxed); ++i)
            words_[i].store(0, std::memory_order_release);
    }

    void erase(std::uint64_t handle) noexcept {
        const record::Guard guard(mutex_);
        for (std::size_t i = 0; i < used_.load(std::memory_order_relaxed); ++i)
            if (words_[i].load(std::memory_order_relaxed) >> 16 == handle)
                words_[i].store(0, std::memory_order_release);
    }

private:
    std::atomic<std::uint64_t> words_[Capacity] = {};
    std::atomic<std::size_t> used_{0};
    record::Mutex mutex_{record::Lock::tables};
};

} // namespace umadvisor::observe
