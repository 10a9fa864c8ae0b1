/// How much of the run was recorded, from its pauses.
#pragma once

#include "trace/lifecycle_records.hpp"

#include <algorithm>
#include <cstdint>

namespace umadvisor::facts {

/// Pauses come in the order of time.
class RecordedTime {
public:
    void add(const trace::Pause& pause) {
        if (recording_ && pause.recording == 0) {
            paused_at_ = pause.start;
            ++pauses_;
        } else if (!recording_ && pause.recording != 0) {
            lost_ += pause.start - std::min(pause.start, paused_at_);
        }
        recording_ = pause.recording != 0;
    }

    std::uint64_t pauses() const { return pauses_; }

    /// Ticks from `first` to `last` that lay in no pause.
    std::uint64_t ticks(std::uint64_t first, std::uint64_t last) const {
        const std::uint64_t whole = last - std::min(first, last);
        const std::uint64_t open = recording_ ? 0 : last - std::min(paused_at_, last);
        return whole - std::min(whole, lost_ + open);
    }

private:
    bool recording_ = true;
    std::uint64_t paused_at_ = 0, lost_ = 0, pauses_ = 0;
};

} // namespace umadvisor::facts
