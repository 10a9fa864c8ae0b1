/// The few host ranges that copies use, read without a lock.
#pragma once

#include "interposer/base/seqlock.hpp"
#include "interposer/record/mutex.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace umadvisor::observe {

/// A small set of ranges that do not overlap; the least recently put one is replaced. To a reader a concurrent
/// change counts as a miss.
class RangeCache {
public:
    struct Entry {
        std::uint64_t first, last, id, kind;
        std::uint64_t until;      ///< time after which it is to be looked up again
        std::uint64_t generation; ///< for the owner to compare
    };

    constexpr RangeCache() noexcept = default;
    RangeCache(const RangeCache&) = delete;
    RangeCache& operator=(const RangeCache&) = delete;

    bool find(std::uint64_t address, Entry& out) const noexcept {
        bool found = false;
        return changes_.read(1, [&] { found = find_once(address, out); }) && found;
    }

    /// Replaces the entries that `entry` overlaps, else the one that was put longest ago.
    void put(const Entry& entry) noexcept {
        const record::Guard guard(mutex_);
        const base::SeqLock::Change change(changes_);
        std::size_t count = count_.load(std::memory_order_relaxed);
        for (std::size_t i = 0; i < count;) {
            if (slots_[i][0].load(std::memory_order_relaxed) < entry.last &&
                entry.first < slots_[i][1].load(std::memory_order_relaxed))
                copy(slots_[--count], slots_[i]);
            else
                ++i;
        }
        const std::size_t at = count < capacity ? count++ : next_++ % capacity;
        const std::uint64_t values[] = {entry.first, entry.last,  entry.id,
                                        entry.kind,  entry.until, entry.generation};
        for (std::size_t i = 0; i < std::size(values); ++i)
            slots_[at][i].store(values[i], std::memory_order_release);
        count_.store(count, std::memory_order_release);
    }

private:
    static constexpr std::size_t capacity = 64;
    using Words = std::array<std::atomic<std::uint64_t>, 6>;

    bool find_once(std::uint64_t address, Entry& out) const noexcept {
        const std::size_t count = count_.load(std::memory_order_acquire);
        for (std::size_t i = 0; i < count && i < capacity; ++i) {
            const Words& words = slots_[i];
            if (address < words[0].load(std::memory_order_acquire) ||
                address >= words[1].load(std::memory_order_acquire))
                continue;
            out = {words[0].load(std::memory_order_acquire), words[1].load(std::memory_order_acquire),
                   words[2].load(std::memory_order_acquire), words[3].load(std::memory_order_acquire),
                   words[4].load(std::memory_order_acquire), words[5].load(std::memory_order_acquire)};
            return true;
        }
        return false;
    }

    static void copy(const Words& from, Words& to) noexcept {
        for (std::size_t i = 0; i < from.size(); ++i)
            to[i].store(from[i].load(std::memory_order_relaxed), std::memory_order_release);
    }

    base::SeqLock changes_;
    std::atomic<std::size_t> count_{0};
    std::array<Words, capacity> slots_{};
    std::size_t next_ = 0;
    record::Mutex mutex_{record::Lock::host_ranges};
};

} // namespace umadvisor::observe
