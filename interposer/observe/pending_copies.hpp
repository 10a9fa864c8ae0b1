/// Copies that may still run, kept by those who look at their bytes.
#pragma once

#include <atomic>
#include <cstdint>

namespace umadvisor::observe {

/// The newest `most` of what it was given. Whoever changes it holds the lock of its owner.
template <class Entry, std::uint32_t most>
class PendingCopies {
public:
    constexpr PendingCopies() noexcept = default;

    /// Any thread may ask, with the lock or without.
    bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }

    /// Where there is no room the oldest goes: it may be of a thread that is gone.
    void add(const Entry& entry) noexcept {
        std::uint32_t count = count_.load(std::memory_order_relaxed);
        if (count == most) {
            drop([this](const Entry& each) { return &each == entries_; });
            --count;
        }
        entries_[count] = entry;
        count_.store(count + 1, std::memory_order_relaxed);
    }

    template <class Which>
    std::uint32_t count(const Which& which) const noexcept {
        std::uint32_t found = 0;
        for (std::uint32_t i = 0; i < count_.load(std::memory_order_relaxed); ++i)
            found += which(entries_[i]) ? 1 : 0;
        return found;
    }

    /// Asks `gone` of each, from the oldest on, and keeps those for which it says false. It may change what it
    /// is given.
    template <class Gone>
    void drop(const Gone& gone) noexcept {
        std::uint32_t kept = 0;
        const std::uint32_t count = count_.load(std::memory_order_relaxed);
        for (std::uint32_t i = 0; i < count; ++i) {
            if (gone(entries_[i]))
                continue;
            if (kept != i)
                entries_[kept] = entries_[i];
            ++kept;
        }
        count_.store(kept, std::memory_order_relaxed);
    }

private:
    std::atomic<std::uint32_t> count_{0};
    Entry entries_[most] = {};
};

} // namespace umadvisor::observe
