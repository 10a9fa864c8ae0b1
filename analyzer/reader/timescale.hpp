/// From ticks to nanoseconds.
#pragma once

#include <cstdint>

namespace umadvisor::reader {

class TraceFile;

/// Nanoseconds since the trace began. One rate for the whole file, from the clock pairs that lie furthest
/// apart.
class Timescale {
public:
    Timescale() = default;
    /// Uses the header's pairs; a program that was killed early may have left none, so then the file's Clock
    /// records.
    explicit Timescale(TraceFile& file);

    std::int64_t at(std::uint64_t ticks) const; ///< negative: before the first pair
    std::uint64_t length(std::uint64_t ticks) const;
    std::uint64_t estimate(double ticks) const; ///< the same of ticks that were calculated
    bool certain() const { return certain_; }   ///< false: no two clock pairs; ticks are shown as nanoseconds

private:
    std::uint64_t first_ = 0;
    double rate_ = 1.0;
    bool certain_ = true;
};

} // namespace umadvisor::reader
