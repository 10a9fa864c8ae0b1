/// Words that are read without a lock while somebody may be changing them.
#pragma once

#include <atomic>
#include <cstdint>

namespace umadvisor::base {

/// Counts changes; odd while one is under way. What it guards is made of atomics, loaded with acquire and
/// stored with release: that keeps a seqlock's order without fences, which the thread sanitizer does not know,
/// and on x86-64 costs nothing more. Changes are made one at a time, under the owner's lock. A signal handler
/// may read, but once: it may have interrupted the change.
class SeqLock {
public:
    constexpr SeqLock() noexcept = default;

    std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }

    /// Calls `look` until nothing has changed meanwhile; false where that took more than `attempts`, and then
    /// what it saw is worth nothing.
    template <class Look>
    bool read(int attempts, const Look& look) const noexcept {
        while (attempts-- > 0) {
            const std::uint64_t before = version();
            if (before % 2 != 0)
                continue;
            look();
            if (version() == before)
                return true;
        }
        return false;
    }

    /// A change is under way while it lives.
    class Change {
    public:
        explicit Change(SeqLock& lock) noexcept : version_(lock.version_) { step(); }
        ~Change() noexcept { step(); }
        Change(const Change&) = delete;
        Change& operator=(const Change&) = delete;

    private:
        void step() noexcept {
            version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
        }
        std::atomic<std::uint64_t>& version_;
    };

private:
    std::atomic<std::uint64_t> version_{0};
};

} // namespace umadvisor::base
