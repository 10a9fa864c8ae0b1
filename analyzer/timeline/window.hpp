/// Calls whose place in time is not decided yet.
#pragma once

#include "analyzer/facts/call.hpp"

#include <cstddef>
#include <iterator>
#include <vector>

namespace umadvisor::timeline {

/// A call in the window of the clock.
struct Pending {
    explicit Pending(const facts::Call& of) noexcept : call(of) {}

    facts::Call call;
    double gap_ns = 0; ///< of the program's own code since the thread's last call
    double expected_ns = 0, doubt = 1;
    double weight = 1;         ///< how much of `expected_ns` the unknown factor scales, from 0 to 1
    double device_ns = 0;      ///< as fitted
    bool fixed = false;        ///< device_ns is final
    double begin = 0, end = 0; ///< of the work, as simulated last; when it is settled, as fitted
    double submit_ns = 0;      ///< from the call's start until the device knows of the work
    double own_ns = 0;         ///< that the call takes when what it waits for is done
    double wake_ns = 0;        ///< from the end of what it waited for to its return
    double waited_ns = 0;
    double late_ns = 0; ///< how far the awaited work's fitted end is behind the call's; replays subtract it

    /// The calls do not decide how long its work took, or what of a free's time was a wait.
    bool undecided = false;
    struct Split {
        double device_ns = 0, own_ns = 0;
    };
    Split short_work, long_work; ///< where it is undecided, the ends of what is possible
};

/// A queue in one piece of memory.
class Window {
public:
    auto begin() { return std::next(calls_.begin(), first_); }
    auto end() { return calls_.end(); }
    auto begin() const { return std::next(calls_.begin(), first_); }
    auto end() const { return calls_.end(); }
    std::size_t size() const { return calls_.size() - static_cast<std::size_t>(first_); }
    bool empty() const { return size() == 0; }
    Pending& back() { return calls_.back(); }
    Pending& add(const facts::Call& call) { return calls_.emplace_back(call); }
    /// Removes so many from the front.
    void drop(std::size_t count) {
        first_ += static_cast<std::ptrdiff_t>(count);
        if (empty()) {
            calls_.clear();
            first_ = 0;
        } else if (first_ >= most_gone && size() <= static_cast<std::size_t>(first_)) {
            calls_.erase(calls_.begin(), begin());
            first_ = 0;
        }
    }

private:
    static constexpr std::ptrdiff_t most_gone = 64;
    std::vector<Pending> calls_;
    std::ptrdiff_t first_ = 0;
};

} // namespace umadvisor::timeline
