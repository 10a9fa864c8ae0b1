#include "policy/kept_blocks.hpp"

#include "policy/mix.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace umadvisor::policy {

namespace {

constexpr std::size_t probes = 8;

std::size_t place_of(const BlockKind& kind) {
    return mix(mix(kind.bytes, kind.flags), mix(kind.place, kind.context)) % KeptBlocks::most_kinds;
}

} // namespace

KeptBlocks::Kind* KeptBlocks::find(const BlockKind& kind) noexcept {
    const std::size_t place = place_of(kind);
    for (std::size_t i = 0; i < probes; ++i)
        if (Kind& each = kinds_[(place + i) % most_kinds]; each.kind == kind)
            return &each;
    return nullptr;
}

/// The kind's entry, in place of the one that was asked for the longest time ago, and of which nothing is kept.
/// Null: there is no such entry.
KeptBlocks::Kind* KeptBlocks::enter(const BlockKind& kind) noexcept {
    if (Kind* const known = find(kind))
        return known;
    const std::size_t place = place_of(kind);
    Kind* oldest = nullptr;
    for (std::size_t i = 0; i < probes; ++i)
        if (Kind& each = kinds_[(place + i) % most_kinds];
            each.first == 0 && (oldest == nullptr || each.asked < oldest->asked))
            oldest = &each;
    if (oldest != nullptr)
        *oldest = {.kind = kind, .asked = requests_};
    return oldest;
}

/// Removes the block that `link` leads to.
KeptBlock KeptBlocks::remove(const Kind& kind, std::uint16_t& link) noexcept {
    const std::uint16_t number = link;
    Block& block = blocks_[number - 1];
    link = std::exchange(block.next, unused_);
    unused_ = number;
    --count_;
    return {kind.kind, block.address, block.owner};
}

/// What leads to the block of the kind that was kept first. The kind has one.
std::uint16_t& KeptBlocks::oldest(Kind& kind) noexcept {
    std::uint16_t* link = &kind.first;
    while (blocks_[*link - 1].next != 0)
        link = &blocks_[*link - 1].next;
    return *link;
}

KeptBlocks::Source KeptBlocks::hand_out(const BlockKind& kind, KeptBlock& out) noexcept {
    ++requests_;
    Kind* const known = find(kind);
    if (known == nullptr)
        return Source::driver;
    known->asked = requests_;
    if (known->first != 0) {
        const std::uint32_t number = ++known->answered;
        if (number % first_compared == 0 && std::has_single_bit(number / first_compared)) {
            known->skip_next = true;
            return Source::compared;
        }
        out = remove(*known, known->first);
        return Source::kept;
    }
    if (known->given_up == 0)
        return Source::driver;
    --known->given_up;
    ++known->returns;
    return Source::compared;
}

bool KeptBlocks::handed_out(const BlockKind& kind, std::uint64_t ticks) noexcept {
    Kind* const known = find(kind);
    if (known == nullptr)
        return false;
    known->least_kept = known->reused % trial == 0 ? ticks : std::min(known->least_kept, ticks);
    if (++known->reused % trial != 0 || known->refused)
        return false;
    known->refused = known->least_made != 0 && known->least_kept > known->least_made;
    return known->refused;
}

void KeptBlocks::made(const BlockKind& kind, std::uint64_t ticks) noexcept {
    if (Kind* const known = enter(kind))
        known->least_made = known->least_made == 0 ? ticks : std::min(known->least_made, ticks);
}

bool KeptBlocks::wants(const BlockKind& kind) noexcept {
    Kind* const known = enter(kind);
    if (known == nullptr || known->refused)
        return false;
    if (known->returns >= least_returns)
        return !std::exchange(known->skip_next, false);
    ++known->given_up;
    return false;
}

bool KeptBlocks::keep(const KeptBlock& block, std::uint64_t now) noexcept {
    Kind* const known = find(block.kind);
    if (known == nullptr)
        return false;
    std::uint16_t number = unused_;
    if (number != 0)
        unused_ = blocks_[number - 1].next;
    else if (used_ < most_blocks)
        number = ++used_;
    else
        return false;
    blocks_[number - 1] = {block.address, block.owner, now, known->first};
    known->first = number;
    ++count_;
    return true;
}

bool KeptBlocks::remove_old(std::uint16_t context, std::uint64_t now, KeptBlock& out) noexcept {
    for (Kind& kind : kinds_) {
        if (count_ == 0)
            return false;
        if (kind.first == 0 || (context != 0 && kind.kind.context != context))
            continue;
        const bool idle = requests_ - kind.asked > old_after;
        std::uint16_t& link = oldest(kind);
        if (!idle && now <= blocks_[link - 1].since + old_after_ns)
            continue;
        out = remove(kind, link);
        if (idle)
            kind.returns = 0; // it has to come back anew
        return true;
    }
    return false;
}

bool KeptBlocks::remove_any(KeptBlock& out) noexcept {
    for (Kind& kind : kinds_)
        if (kind.first != 0) {
            out = remove(kind, kind.first);
            return true;
        }
    return false;
}

bool KeptBlocks::holds(std::uint64_t address) const noexcept {
    for (const Kind& kind : kinds_)
        for (std::uint16_t number = kind.first; number != 0; number = blocks_[number - 1].next)
            if (blocks_[number - 1].address == address)
                return true;
    return false;
}

std::uint64_t KeptBlocks::forget_context(std::uint16_t context) noexcept {
    std::uint64_t bytes = 0;
    for (Kind& kind : kinds_)
        if (kind.kind.context == context && kind.kind.bytes != 0) {
            while (kind.first != 0)
                bytes += remove(kind, kind.first).kind.bytes;
            kind = {};
        }
    return bytes;
}

} // namespace umadvisor::policy
