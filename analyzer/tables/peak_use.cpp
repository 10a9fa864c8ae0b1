#include "analyzer/tables/peak_use.hpp"

#include <algorithm>

namespace umadvisor::tables {

PeakUse::Slot PeakUse::add(std::uint64_t bytes) {
    Slot slot = 0;
    if (free_.empty()) {
        slot = static_cast<Slot>(nodes_.size());
        nodes_.emplace_back();
    } else {
        slot = free_.back();
        free_.pop_back();
    }
    nodes_[slot].bytes = static_cast<std::int64_t>(bytes);
    append(slot);
    return slot;
}

void PeakUse::begin(Slot slot) {
    unlink(slot);
    raise_last(nodes_[slot].bytes);
    append(slot);
}

void PeakUse::extend(Slot slot) {
    nodes_[slot].step += nodes_[slot].bytes;
    last_ += nodes_[slot].bytes;
    unlink(slot);
    append(slot);
}

void PeakUse::remove(Slot slot) {
    unlink(slot);
    free_.push_back(slot);
}

std::uint64_t PeakUse::bytes() const {
    std::int64_t here = first_, most = first_;
    for (Slot slot = head_; slot != none; slot = nodes_[slot].after)
        most = std::max(most, here += nodes_[slot].step);
    return static_cast<std::uint64_t>(most);
}

/// A new span begins, in which nothing is known to be in use.
void PeakUse::append(Slot slot) {
    Node& node = nodes_[slot];
    node.before = tail_;
    node.after = none;
    node.step = -last_;
    last_ = 0;
    (tail_ == none ? head_ : nodes_[tail_].after) = slot;
    tail_ = slot;
}

/// The spans before and after the node become one, with the larger maximum of both.
void PeakUse::unlink(Slot slot) {
    const Node& node = nodes_[slot];
    const std::int64_t up = std::max<std::int64_t>(node.step, 0), down = node.step - up;
    (node.before == none ? first_ : nodes_[node.before].step) += up;
    (node.before == none ? head_ : nodes_[node.before].after) = node.after;
    if (node.after == none) {
        last_ -= down;
        tail_ = node.before;
    } else {
        nodes_[node.after].step += down;
        nodes_[node.after].before = node.before;
    }
}

void PeakUse::raise_last(std::int64_t least) {
    const std::int64_t more = std::max<std::int64_t>(least - last_, 0);
    last_ += more;
    (tail_ == none ? first_ : nodes_[tail_].step) += more;
}

} // namespace umadvisor::tables
