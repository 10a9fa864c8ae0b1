#include "policy/taken_part.hpp"

#include <algorithm>

namespace umadvisor::policy {

TakenPart::Range TakenPart::next(std::uint64_t room) const noexcept {
    const std::uint64_t bytes = last_.last - last_.first;
    const std::uint64_t first = step_ == 0 ? last_.first : (last_.first + step_) % room;
    return bytes <= room && first <= room - bytes ? Range{first, first + bytes} : Range{};
}

void TakenPart::took(Range range, std::uint64_t room) noexcept {
    const std::uint64_t bytes = range.last - range.first, before = last_.last - last_.first;
    const std::uint64_t both = std::min(range.last, last_.last) -
                               std::min({std::max(range.first, last_.first), range.last, last_.last});
    std::uint64_t step = 0;
    if (2 * both < std::max(bytes, before) && bytes == before)
        step = (range.first + room - last_.first) % room;
    const bool as_before = step_ == step && (step != 0 || 2 * both >= std::max(bytes, before));
    agreed_ = as_before ? agreed_ + 1 : 1;
    step_ = step;
    last_ = range;
}

} // namespace umadvisor::policy
