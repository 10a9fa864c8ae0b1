#include "policy/kept_blocks.hpp"

#include "policy/mix.hpp"

#include <utility>

namespace umadvisor::policy {

namespace {

constexpr std::size_t probes = 8;
constexpr std::size_t idle_probes = 4;

std::size_t place_of(const BlockKind& kind) {
    return mix(mix(kind.bytes, kind.flags), kind.context) % KeptBlocks::most_kinds;
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

std::uint64_t KeptBlocks::remove_first(Kind& kind) noexcept {
    Block& block = blocks_[kind.first - 1];
    const std::uint16_t next = block.next;
    block.next = unused_;
    unused_ = kind.first;
    kind.first = next;
    return block.address;
}

std::uint64_t KeptBlocks::take(const BlockKind& kind) noexcept {
    ++requests_;
    Kind* const known = find(kind);
    if (known == nullptr)
        return 0;
    known->asked = requests_;
    if (known->first != 0) {
        const std::uint32_t number = ++known->answered;
        if (number % compared_every != 0 || number > compared_every * most_compared)
            return remove_first(*known);
        known->skip_next = true;
        return 0;
    }
    if (known->given_up != 0) {
        --known->given_up;
        ++known->returns;
    }
    return 0;
}

bool KeptBlocks::give_up(const BlockKind& kind) noexcept {
    Kind* const known = enter(kind);
    if (known == nullptr)
        return false;
    if (known->returns >= least_returns)
        return !std::exchange(known->skip_next, false);
    ++known->given_up;
    return false;
}

bool KeptBlocks::keep(const KeptBlock& block) noexcept {
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
    blocks_[number - 1] = {block.address, known->first};
    known->first = number;
    return true;
}

bool KeptBlocks::remove_idle(KeptBlock& out) noexcept {
    for (std::size_t i = 0; i < idle_probes; ++i) {
        Kind& kind = kinds_[looked_at_];
        if (kind.first != 0 && requests_ - kind.asked > idle_after) {
            out = {kind.kind, remove_first(kind)};
            kind.returns = 0; // it has to come back anew
            return true;
        }
        looked_at_ = (looked_at_ + 1) % most_kinds;
    }
    return false;
}

bool KeptBlocks::remove_any(KeptBlock& out) noexcept {
    for (Kind& kind : kinds_)
        if (kind.first != 0) {
            out = {kind.kind, remove_first(kind)};
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

void KeptBlocks::forget_context(std::uint16_t context) noexcept {
    for (Kind& kind : kinds_)
        if (kind.kind.context == context && kind.kind.bytes != 0) {
            while (kind.first != 0)
                remove_first(kind);
            kind = {};
        }
}

} // namespace umadvisor::policy
