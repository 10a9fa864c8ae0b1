/// A short list with an end to it.
#pragma once

#include <atomic>
#include <cstdint>

namespace umadvisor::base {

/// The newest `most` of what it was given, in that order, without malloc. Whoever changes it or looks at its
/// entries holds the lock of its owner, and so must not be a signal handler.
template <class Entry, std::uint32_t most>
class BoundedList {
public:
    constexpr BoundedList() noexcept = default;

    /// Any thread may ask, with the lock or without.
    std::uint32_t size() const noexcept { return count_.load(std::memory_order_relaxed); }
    bool empty() const noexcept { return size() == 0; }
    bool full() const noexcept { return size() == most; }

    /// Where there is no room the oldest goes: it may be of a thread that is gone.
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

    /// Asks `gone` of each, from the oldest on, and keeps those for which it says false. It may change what it
    /// is given. Returns how many it did not keep.
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
