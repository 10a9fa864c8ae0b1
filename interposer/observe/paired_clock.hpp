/// Another clock's time in ticks of the trace.
#pragma once

#include <cstdint>

namespace umadvisor::observe {

/// Converts a clock of nanoseconds to ticks of the recording clock, by readings of both at the start and of
/// late. Not thread-safe.
class PairedClock {
public:
    constexpr PairedClock() noexcept = default;

    /// Both clocks, read at the same moment. The first time: the start.
    void pair(std::uint64_t nanoseconds, std::uint64_t ticks) noexcept {
        last_ = {nanoseconds, ticks};
        if (first_.nanoseconds == 0)
            first_ = last_;
    }

    std::uint64_t ticks(std::uint64_t nanoseconds) const noexcept {
        const double distance =
            static_cast<double>(static_cast<std::int64_t>(nanoseconds - last_.nanoseconds)) * rate();
        return last_.ticks + static_cast<std::uint64_t>(static_cast<std::int64_t>(distance));
    }
    std::uint64_t length(std::uint64_t nanoseconds) const noexcept {
        return static_cast<std::uint64_t>(static_cast<double>(nanoseconds) * rate());
    }

private:
    struct Pair {
        std::uint64_t nanoseconds = 0, ticks = 0;
    };
    double rate() const noexcept {
        return last_.nanoseconds > first_.nanoseconds
                   ? static_cast<double>(last_.ticks - first_.ticks) /
                         static_cast<double>(last_.nanoseconds - first_.nanoseconds)
                   : 1.0;
    }

    Pair first_, last_;
};

} // namespace umadvisor::observe
