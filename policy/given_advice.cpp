#include "policy/given_advice.hpp"

#include <algorithm>

namespace umadvisor::policy {

namespace {

bool overlap(const Advice& one, const Advice& other) {
    return one.allocation == other.allocation && one.address < other.address + other.bytes &&
           other.address < one.address + one.bytes;
}

bool same_range(const Advice& one, const Advice& other) {
    return one.address == other.address && one.bytes == other.bytes;
}

} // namespace

bool GivenAdvice::is_accessed(std::uint64_t allocation) const noexcept {
    return missed_ ||
           std::find(accessed_, accessed_ + accessed_count_, allocation) != accessed_ + accessed_count_;
}

bool GivenAdvice::in_effect(const Advice& advice) const noexcept {
    if (advice.kind == Advice::Kind::preferred_location && is_accessed(advice.allocation))
        return false;
    return std::find(all_, all_ + count_, advice) != all_ + count_;
}

void GivenAdvice::given(const Advice& advice) noexcept {
    if (advice.kind == Advice::Kind::accessed_by) {
        if (is_accessed(advice.allocation))
            return;
        if (accessed_count_ < most_accessed)
            accessed_[accessed_count_++] = advice.allocation;
        else
            missed_ = true;
        return;
    }
    Advice* const end = std::remove_if(all_, all_ + count_, [&](const Advice& other) {
        return overlap(other, advice) && (other.kind == advice.kind || !same_range(other, advice));
    });
    count_ = static_cast<std::size_t>(end - all_);
    if (count_ == most)
        forget_all();
    all_[count_++] = advice;
}

void GivenAdvice::forget(std::uint64_t allocation) noexcept {
    count_ = static_cast<std::size_t>(
        std::remove_if(all_, all_ + count_,
                       [&](const Advice& other) { return other.allocation == allocation; }) -
        all_);
    accessed_count_ =
        static_cast<std::size_t>(std::remove(accessed_, accessed_ + accessed_count_, allocation) - accessed_);
}

} // namespace umadvisor::policy
