#include "analyzer/reader/range_marks.hpp"

#include <optional>

namespace umadvisor::reader {

void RangeMarks::enter(std::uint32_t thread, std::uint64_t now) {
    if (thread >= depths_.size())
        depths_.resize(std::size_t{thread} + 1);
    if (depths_[thread]++ != 0)
        return;
    ++entered_;
    if (inside_++ == 0)
        since_ = now;
}

void RangeMarks::leave(std::uint32_t thread, std::uint64_t now) {
    if (--depths_[thread] == 0 && --inside_ == 0 && now > since_)
        ticks_ += now - since_;
}

void RangeMarks::add(const trace::Range& record, std::uint32_t thread, std::uint64_t now) {
    const Open open{thread, choice_.has(record.text, record.domain)};
    std::optional<Open> closed;
    switch (record.action) {
    case trace::RangeAction::push:
        if (open_.push(thread, record.domain, open) && open.chosen)
            enter(thread, now);
        return;
    case trace::RangeAction::start:
        if (open_.start(record.id, open) && open.chosen)
            enter(thread, now);
        return;
    case trace::RangeAction::pop:
        closed = open_.pop(thread, record.domain);
        break;
    case trace::RangeAction::end:
        closed = open_.end(record.id);
        break;
    default:
        return;
    }
    if (closed && closed->chosen)
        leave(closed->thread, now);
}

void RangeMarks::pause(std::uint64_t now) {
    ticks_ = ticks(now);
    open_.clear();
    depths_.clear();
    inside_ = 0;
}

} // namespace umadvisor::reader
