/// Which threads are inside the ranges that are looked at.
#pragma once

#include "analyzer/reader/open_ranges.hpp"
#include "analyzer/reader/range_choice.hpp"
#include "trace/records.hpp"

#include <cstdint>
#include <vector>

namespace umadvisor::reader {

/// Follows the events in the order of time. A range is of the thread that began it, also where another ends it.
/// Memory: one number for each thread, and the open ranges.
class RangeMarks {
public:
    explicit RangeMarks(const RangeChoice& choice) : choice_(choice) {}

    /// `thread` is ThreadCursor::index(), `now` the time of the record in ticks.
    void add(const trace::Range& record, std::uint32_t thread, std::uint64_t now);
    /// A pause hides which ranges end and begin: none is open from here on.
    void pause(std::uint64_t now);

    bool inside(std::uint32_t thread) const { return thread < depths_.size() && depths_[thread] != 0; }
    bool any_inside() const { return inside_ != 0; }
    /// How often a thread entered. Ranges inside ranges that are looked at, too, are part of these.
    std::uint64_t entered() const { return entered_; }
    /// While at least one thread was inside, until `now`.
    std::uint64_t ticks(std::uint64_t now) const {
        return ticks_ + (any_inside() && now > since_ ? now - since_ : 0);
    }

private:
    struct Open {
        std::uint32_t thread = 0;
        bool chosen = false;
    };
    void enter(std::uint32_t thread, std::uint64_t now);
    void leave(std::uint32_t thread, std::uint64_t now);

    const RangeChoice& choice_;
    OpenRanges<Open> open_;
    std::vector<std::uint32_t> depths_; ///< by thread: ranges that are looked at
    std::uint32_t inside_ = 0;          ///< threads
    std::uint64_t entered_ = 0, ticks_ = 0, since_ = 0;
};

} // namespace umadvisor::reader
