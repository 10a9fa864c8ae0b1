/// Totals of managed memory, of a source that tells events and counts nothing.
#pragma once

#include "trace/records.hpp"

namespace umadvisor::observe {

/// Adds up events in the order of their time. Not thread-safe.
class EventTotals {
public:
    constexpr EventTotals() noexcept = default;

    /// Whether `event` is the first after some of the other side: the program launched something in between, or
    /// waited for it, so that the totals up to here tell something.
    bool changes_side(const trace::ManagedEvent& event) const noexcept;

    void add(const trace::ManagedEvent& event) noexcept;

    /// The sums, without a time.
    const trace::ManagedCounters& sums() const noexcept { return sums_; }

private:
    /// Who asked for it.
    enum class Side : std::uint8_t { unknown, host, device };
    static Side side_of(const trace::ManagedEvent& event) noexcept;

    trace::ManagedCounters sums_{};
    Side side_ = Side::unknown;
};

} // namespace umadvisor::observe
