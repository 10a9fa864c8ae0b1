/// How long single calls, copies and kernels took, as far as they were measured one by one.
#pragma once

#include "analyzer/facts/direction.hpp"
#include "analyzer/facts/distribution.hpp"
#include "analyzer/facts/samples.hpp"
#include "analyzer/reader/thread_cursor.hpp"

#include <compare>
#include <cstdint>
#include <map>

namespace umadvisor::reader {
class Dictionary;
}

namespace umadvisor::tables {

struct CopyKind {
    facts::Direction direction{};
    trace::Memory source{}, destination{};
    bool asynchronous = false;
    auto operator<=>(const CopyKind&) const = default;
};

struct CopyStatistics {
    facts::Distribution bytes, ticks; ///< ticks: in the call
};

/// Fed by any pass over a trace. Memory: one distribution for each entry point, kind of copy and kernel.
class Statistics {
public:
    /// `dictionary` must outlive it.
    explicit Statistics(const reader::Dictionary& dictionary) : dictionary_(dictionary) {}

    void observe(const reader::ThreadCursor& cursor);

    const std::map<std::uint64_t, facts::Distribution>& calls() const { return calls_; } ///< ticks, by entry
    const std::map<CopyKind, CopyStatistics>& copies() const { return copies_; }
    /// Device time of sampled launches, nanoseconds, by function.
    const std::map<std::uint64_t, facts::Distribution>& kernels() const { return kernels_; }

private:
    void add(const trace::Copy& copy);

    const reader::Dictionary& dictionary_;
    std::map<std::uint64_t, facts::Distribution> calls_;
    std::map<CopyKind, CopyStatistics> copies_;
    std::map<std::uint64_t, facts::Distribution> kernels_;
    facts::Samples samples_;
};

} // namespace umadvisor::tables
