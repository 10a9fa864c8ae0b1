#include "policy/copy_batch.hpp"

#include <algorithm>
#include <cstring>

namespace umadvisor::policy {

CopyBatch::Choice CopyBatch::choose(const SmallCopy& copy) const noexcept {
    const bool goes_on = length_ != 0 && continues(copy);
    if (!is_small(copy) || (open_ && !goes_on))
        return Choice::leave;
    if (open_ && closing_ && copies_ == 0)
        return manner_.captured && !copy.synchronous ? Choice::leave_if_idle : Choice::leave;
    if (open_)
        return has_room(copy) ? Choice::defer : Choice::make_first;
    if (!goes_on)
        return total_ >= patience_ + worth_it && !copy.synchronous ? Choice::begin : Choice::leave;
    return length_ >= patience_ && !left_ ? Choice::begin_if_idle : Choice::leave;
}

void CopyBatch::made(const SmallCopy& copy) noexcept {
    if (open_) // by another thread, whose call was under way when the run began
        return;
    if (length_ == 0 || !continues(copy)) {
        length_ = 0;
        left_ = false;
    }
    total_ = ++length_;
    last_ = copy;
}

void CopyBatch::begin(const SmallCopy& copy, Manner manner) noexcept {
    if (!continues(copy))
        length_ = 0;
    last_ = copy;
    open_ = true;
    closing_ = false;
    left_ = false;
    manner_ = manner;
    use(nullptr);
}

bool CopyBatch::has_room(const SmallCopy& copy) const noexcept {
    return copies_ < most_copies && copy.bytes <= most_bytes - bytes_ &&
           (!manner_.captured || place(copy) + copy.bytes <= most_bytes) &&
           (copies_ == 0 || manner_.in_order || !overlaps(copy));
}

bool CopyBatch::overlaps(const SmallCopy& copy) const noexcept {
    if (copy.destination >= high_ || copy.end() <= low_)
        return false;
    bool found = false;
    for (std::uint32_t i = 0; i < pieces_.count; ++i)
        found |=
            copy.destination < pieces_.destination[i] + pieces_.bytes[i] && pieces_.destination[i] < copy.end();
    return found;
}

/// Whether it continues the last piece. One copy does not cross from one allocation to another.
bool CopyBatch::adjoins(const SmallCopy& copy) const noexcept {
    if (pieces_.count == 0)
        return false;
    const std::uint32_t last = pieces_.count - 1;
    return copy.destination == pieces_.destination[last] + pieces_.bytes[last] &&
           copy.destination_allocation == pieces_.destination_allocation[last] &&
           (manner_.captured || (copy.source == pieces_.source[last] + pieces_.bytes[last] &&
                                 copy.source_allocation == pieces_.source_allocation[last]));
}

std::uint64_t CopyBatch::place(const SmallCopy& copy) const noexcept {
    return adjoins(copy) ? used_ : (used_ + captured_alignment - 1) / captured_alignment * captured_alignment;
}

void CopyBatch::defer(const SmallCopy& copy, const void* bytes) noexcept {
    const bool joins = adjoins(copy);
    std::uint64_t source = copy.source;
    if (manner_.captured) {
        const std::uint64_t at = place(copy);
        std::memcpy(memory_ + at, bytes, copy.bytes);
        source = reinterpret_cast<std::uint64_t>(memory_ + at);
        used_ = at + copy.bytes;
    }
    if (joins) {
        pieces_.bytes[pieces_.count - 1] += copy.bytes;
    } else {
        const std::uint32_t next = pieces_.count++;
        pieces_.destination[next] = copy.destination;
        pieces_.source[next] = source;
        pieces_.bytes[next] = copy.bytes;
        pieces_.destination_allocation[next] = copy.destination_allocation;
        pieces_.source_allocation[next] = manner_.captured ? 0 : copy.source_allocation;
    }
    low_ = copies_ == 0 ? copy.destination : std::min(low_, copy.destination);
    high_ = copies_ == 0 ? copy.end() : std::max(high_, copy.end());
    ++copies_;
    bytes_ += copy.bytes;
    last_ = copy;
    total_ = ++length_;
}

void CopyBatch::took(std::uint32_t calls) noexcept {
    if (copies_ != 0) {
        closing_ = copies_ < calls + worth_it;
        patience_ = closing_ ? std::min(patience_ * 2, most_patience) : least_patience;
    }
    copies_ = 0;
    bytes_ = 0;
    pieces_.count = 0;
}

} // namespace umadvisor::policy
