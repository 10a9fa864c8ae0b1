/// A short list of bounded length.
#pragma once

#include <atomic>
#include <cstdint>

namespace umadvisor::base {

/// Keeps the newest `most` entries in the order in which they were added, without malloc. Changes and reads of
/// entries need the owner's lock, so they must not be made in a signal handler.
template <class Entry, std::uint32_t most>
class BoundedList {
public:
    constexpr BoundedList() noexcept = default;

    /// Any thread may call these three, with or without the lock.
    std::uint32_t size() const noexcept { return count_.load(std::memory_order_relaxed); }
    bool empty() const noexcept { return size() == 0; }
    bool full() const noexcept { return size() == most; }

    /// A full list drops the oldest entry, which may be of a thread that has ended.
    void add(const Entry& entry) noexcept {
        if (full())
            drop([this](const Entry& each) { return &each == entries_; });
        entries_[size()] = entry;
        count_.store(size() + 1, std::memory_order_relaxed);
    }

    template <class Which>
    std::uint32_t count(const Which& which) const noexcept {
        std::uint32_t found = 0;
        for (std::uint32_t i = 0; i < size(); ++i)
            found += which(entries_[i]) ? 1 : 0;
        return found;
    }

    /// Calls `gone` for each entry, from the oldest on, and drops those for which it returns true. `gone` may
    /// change the entry. Returns how many were dropped.
    template <class Gone>
    std::uint32_t drop(const Gone& gone) noexcept {
        std::uint32_t kept = 0;
        const std::uint32_t count = size();
        for (std::uint32_t i = 0; i < count; ++i) {
            if (gone(entries_[i]))
                continue;
            if (kept != i)
                entries_[kept] = entries_[i];
            ++kept;
        }
        count_.store(kept, std::memory_order_relaxed);
        return count - kept;
    }

private:
    std::atomic<std::uint32_t> count_{0};
    Entry entries_[most] = {};
};

} // namespace umadvisor::base
