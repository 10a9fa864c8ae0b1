#include "policy/same_uploads.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace umadvisor::policy {

const SameUploads::Entry* SameUploads::find(const Upload& upload) const noexcept {
    const Entry* const found = std::ranges::find(entries_, upload, &Entry::upload);
    return found != std::end(entries_) ? found : nullptr;
}

SameUploads::Entry* SameUploads::find(const Upload& upload) noexcept {
    return const_cast<Entry*>(std::as_const(*this).find(upload));
}

/// In the place of the one that has not come for longest, among those without memory. Null: there is none.
SameUploads::Entry* SameUploads::enter(const Upload& upload) noexcept {
    const auto age = [](const Entry& entry) {
        return entry.kept != 0 || entry.thread != 0 ? ~std::uint64_t{0} : entry.at;
    };
    Entry& oldest = *std::ranges::min_element(entries_, {}, age);
    if (oldest.kept != 0 || oldest.thread != 0)
        return nullptr;
    oldest = {.upload = upload};
    return &oldest;
}

std::uint64_t SameUploads::give_up(Entry& entry) noexcept {
    entry.current = false;
    return std::exchange(entry.kept, 0);
}

SameUploads::Turn SameUploads::begin(const Upload& upload, std::uint64_t thread) noexcept {
    ++uploads_;
    Entry* entry = find(upload);
    if (entry == nullptr)
        entry = enter(upload);
    // A turn of this thread's own was never ended: the mode was switched off meanwhile.
    if (entry == nullptr || entry->slower || (entry->thread != 0 && entry->thread != thread))
        return {};
    entry->at = uploads_;
    const bool keeps_next = !entry->current && entry->returns + 1 >= entry->patience;
    if (!entry->current && !keeps_next)
        return {};
    entry->thread = thread;
    const bool compares = entry->current && entry->equal % measured_every != measured_every - 1;
    return {compares ? Choice::compare : Choice::measure, entry->kept};
}

bool SameUploads::has_turn(const Upload& upload, std::uint64_t thread) const noexcept {
    const Entry* const entry = find(upload);
    return entry != nullptr && entry->thread == thread;
}

void SameUploads::leave(const Upload& upload, std::uint64_t thread) noexcept {
    Entry* const entry = find(upload);
    if (entry != nullptr && entry->thread == thread)
        entry->thread = 0;
}

std::uint64_t SameUploads::drop(const Upload& upload) noexcept {
    Entry* const entry = find(upload);
    if (entry == nullptr)
        return 0;
    const std::uint64_t memory = entry->kept;
    *entry = {};
    return memory;
}

std::uint64_t SameUploads::equal(const Upload& upload, std::uint64_t ticks) noexcept {
    Entry* const entry = find(upload);
    if (entry == nullptr)
        return 0;
    entry->thread = 0;
    if (++entry->equal >= paid_after)
        entry->patience = least_returns;
    const bool loses = entry->ticks != 0 && ticks > entry->ticks + entry->ticks / 100;
    entry->losses = loses ? entry->losses + 1 : 0;
    entry->slower = entry->losses == most_losses;
    return entry->slower ? give_up(*entry) : 0;
}

std::uint64_t SameUploads::unequal(const Upload& upload) noexcept {
    Entry* const entry = find(upload);
    if (entry == nullptr)
        return 0;
    entry->thread = 0;
    entry->current = false;
    entry->returns = 0;
    if (entry->equal < paid_after)
        entry->patience = std::min(8 * entry->patience, most_patience);
    return entry->patience >= gives_up_from ? give_up(*entry) : 0;
}

bool SameUploads::made(const Upload& upload, std::uint64_t thread, std::uint64_t words,
                       std::uint64_t ticks) noexcept {
    Entry* const entry = find(upload);
    if (entry == nullptr || entry->slower)
        return false;
    entry->returns = entry->words == words ? entry->returns + 1 : 0;
    entry->words = words;
    if (entry->thread != thread)
        return false;
    entry->thread = 0;
    // One that was disturbed is forgotten soon.
    if (ticks != 0)
        entry->ticks = entry->ticks == 0 ? ticks : std::min(ticks, entry->ticks + entry->ticks / 4);
    if (entry->current)
        ++entry->equal; // it was that one's turn to be measured
    if (entry->current)
        return false;
    if (ticks == 0) { // what the bytes are good for would never be known
        entry->returns = 0;
        entry->patience = std::min(2 * entry->patience, most_patience);
    }
    if (entry->returns < entry->patience)
        return false;
    entry->thread = thread;
    return true;
}

std::uint64_t SameUploads::kept(const Upload& upload) const noexcept {
    const Entry* const entry = find(upload);
    return entry != nullptr ? entry->kept : 0;
}

void SameUploads::keep(const Upload& upload, std::uint64_t memory) noexcept {
    Entry* const entry = find(upload);
    if (entry == nullptr)
        return;
    entry->thread = 0;
    entry->kept = memory;
    entry->current = memory != 0;
    entry->equal = entry->losses = 0;
    if (memory == 0) {
        entry->returns = 0;
        entry->patience = std::min(8 * entry->patience, most_patience);
    }
}

template <class Wanted>
std::uint64_t SameUploads::remove(Wanted&& wanted) noexcept {
    const auto found = std::ranges::find_if(
        entries_, [&](const Entry& entry) { return entry.kept != 0 && entry.thread == 0 && wanted(entry); });
    if (found == std::end(entries_))
        return 0;
    const std::uint64_t memory = found->kept;
    *found = {};
    return memory;
}

std::uint64_t SameUploads::remove_idle() noexcept {
    return remove([&](const Entry& entry) { return entry.at + idle_after < uploads_; });
}

std::uint64_t SameUploads::remove_any() noexcept {
    return remove([](const Entry&) { return true; });
}

std::uint64_t SameUploads::remove_context(std::uint16_t context) noexcept {
    return remove([&](const Entry& entry) { return entry.upload.context == context; });
}

std::uint64_t SameUploads::remove_source(std::uint64_t first, std::uint64_t last) noexcept {
    return remove([&](const Entry& entry) {
        return entry.upload.source < last && first < entry.upload.source + entry.upload.bytes;
    });
}

} // namespace umadvisor::policy
