/// Lock-free reads of words that another thread may be changing.
#pragma once

#include <atomic>
#include <cstdint>

namespace umadvisor::base {

/// Counts changes; odd during one. The guarded data are atomics, loaded with acquire and stored with release:
/// that gives a seqlock's order without fences, which the thread sanitizer does not understand, and costs
/// nothing more on x86-64. Changes are made one at a time, under the owner's lock. A signal handler may make
/// one attempt to read, since it may have interrupted a change.
class SeqLock {
public:
    constexpr SeqLock() noexcept = default;

    std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }

    /// Calls `look` until nothing has changed during the call. False after `attempts` calls, and then what
    /// `look` read is invalid.
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

    /// Marks a change while it lives.
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
