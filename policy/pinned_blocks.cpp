#include "policy/pinned_blocks.hpp"

#include <algorithm>

namespace umadvisor::policy {

PinnedBlocks::Known* PinnedBlocks::find(const PinnedKind& kind) noexcept {
    Known* const end = kinds_ + kinds_count_;
    Known* const found = std::find_if(kinds_, end, [&](const Known& each) { return each.kind == kind; });
    return found == end ? nullptr : found;
}

PinnedBlocks::Known& PinnedBlocks::know(const PinnedKind& kind) noexcept {
    Known* known = find(kind);
    if (known == nullptr) {
        known = kinds_count_ < most_kinds
                    ? &kinds_[kinds_count_++]
                    : std::min_element(kinds_, kinds_ + most_kinds,
                                       [](const Known& a, const Known& b) { return a.seen < b.seen; });
        *known = {.kind = kind};
    }
    known->seen = turn_;
    return *known;
}

bool PinnedBlocks::hand_out(const PinnedKind& kind, PinnedBlock& out) noexcept {
    ++turn_;
    Known& known = know(kind);
    if (known.free != 0) {
        --known.free;
        ++known.returns;
    }
    std::size_t found = kept_count_;
    for (std::size_t i = 0; i < kept_count_; ++i) {
        if (kept_[i].block.kind == kind)
            found = i;
        else
            ++kept_[i].others;
    }
    if (found == kept_count_)
        return false;
    remove(found, out);
    return true;
}

bool PinnedBlocks::handed_out(const PinnedKind& kind, std::uint64_t ticks) noexcept {
    Known& known = know(kind);
    ++known.reused;
    known.spent += ticks;
    if (known.given_up || known.reused % trial != 0 || known.least_made == 0)
        return false;
    known.given_up = known.spent / trial > known.least_made;
    known.spent = 0;
    return known.given_up;
}

void PinnedBlocks::made(const PinnedKind& kind, std::uint64_t ticks) noexcept {
    Known& known = know(kind);
    known.least_made = known.least_made == 0 ? ticks : std::min(known.least_made, ticks);
}

bool PinnedBlocks::wants(const PinnedKind& kind) noexcept {
    Known& known = know(kind);
    ++known.free;
    return !known.given_up && known.returns >= returns_before && kept_count_ < most_blocks &&
           bytes_ <= budget_ && kind.bytes <= budget_ - bytes_;
}

bool PinnedBlocks::keep(const PinnedBlock& block, std::uint64_t now) noexcept {
    if (kept_count_ == most_blocks || bytes_ > budget_ || block.kind.bytes > budget_ - bytes_)
        return false;
    kept_[kept_count_++] = {block, now};
    bytes_ += block.kind.bytes;
    return true;
}

bool PinnedBlocks::holds(std::uint64_t address) const noexcept {
    return std::any_of(kept_, kept_ + kept_count_,
                       [&](const Kept& each) { return each.block.address == address; });
}

void PinnedBlocks::remove(std::size_t at, PinnedBlock& out) noexcept {
    out = kept_[at].block;
    bytes_ -= out.kind.bytes;
    std::copy(kept_ + at + 1, kept_ + kept_count_, kept_ + at);
    --kept_count_;
}

bool PinnedBlocks::remove_old(std::uint16_t context, std::uint64_t now, PinnedBlock& out) noexcept {
    for (std::size_t i = 0; i < kept_count_; ++i) {
        const Kept& each = kept_[i];
        if (each.block.kind.context == context &&
            (each.others > old_after || now - each.since > old_after_ns)) {
            remove(i, out);
            return true;
        }
    }
    return false;
}

bool PinnedBlocks::remove_any(PinnedBlock& out) noexcept {
    if (kept_count_ == 0)
        return false;
    remove(kept_count_ - 1, out);
    return true;
}

void PinnedBlocks::forget(std::uint16_t context) noexcept {
    PinnedBlock gone;
    for (std::size_t i = kept_count_; i-- > 0;)
        if (kept_[i].block.kind.context == context)
            remove(i, gone);
    Known* const end = std::remove_if(kinds_, kinds_ + kinds_count_,
                                      [&](const Known& each) { return each.kind.context == context; });
    kinds_count_ = static_cast<std::size_t>(end - kinds_);
}

} // namespace umadvisor::policy
