#include "interposer/record/stack_cache.hpp"

#include "interposer/record/confined.hpp"
#include "interposer/record/loaded_objects.hpp"
#include "interposer/record/off_stack.hpp"

#include <algorithm>
#include <atomic>
#include <pthread.h>

namespace umadvisor::record {
namespace {

/// Counts loads and unloads, in the upper half of an entry's epoch; the lower half counts the owners of the
/// pages.
constinit std::atomic<std::uint64_t> loads{0};

} // namespace

void void_stack_caches() noexcept {
    loads.fetch_add(std::uint64_t{1} << 32, std::memory_order_relaxed);
}

/// Reads the program's stack as it is, here and below: red zones and shadow are no concern here.
__attribute__((no_sanitize("address", "thread"))) bool StackCache::Layout::holds_still() const noexcept {
    // Two words at any address; a compiler's own type, so that no function call is made of it.
    typedef std::uint64_t Pair __attribute__((vector_size(16), aligned(8), may_alias));
    const auto* const base = reinterpret_cast<const std::uint64_t*>(frame);
    Pair even{}, odd{};
    std::size_t i = 0;
    for (; i < paired; i += group) {
        even |= *reinterpret_cast<const Pair*>(base + offset[i / 2]) ^ *reinterpret_cast<const Pair*>(held + i);
        odd |= *reinterpret_cast<const Pair*>(base + offset[i / 2 + 1]) ^
               *reinterpret_cast<const Pair*>(held + i + 2);
    }
    even |= odd;
    std::uint64_t differ = even[0] | even[1];
    for (const std::uint16_t* at = offset + paired / 2; i < words; i += group, at += group)
        differ |= (base[at[0]] ^ held[i]) | (base[at[1]] ^ held[i + 1]) | (base[at[2]] ^ held[i + 2]) |
                  (base[at[3]] ^ held[i + 3]);
    return differ == 0;
}

/// In the order of `held`.
template <class Each>
__attribute__((no_sanitize("address", "thread"), always_inline)) inline void
StackCache::Layout::for_each_word(Each&& each) const noexcept {
    const auto* const base = reinterpret_cast<const volatile std::uint64_t*>(frame);
    for (std::size_t i = 0; i < paired; i += 2) {
        each(i, base[offset[i / 2]]);
        each(i + 1, base[offset[i / 2] + 1]);
    }
    for (std::size_t i = paired; i < words; ++i)
        each(i, base[offset[i - paired / 2]]);
}

__attribute__((no_sanitize("address", "thread"))) Fingerprint::Value
StackCache::Layout::fingerprint() const noexcept {
    Fingerprint even(start), odd; // two sums: neither waits for the other's carry
    for_each_word([&](std::size_t i, std::uint64_t word) { (i % 2 == 0 ? even : odd).add_at(i, word); });
    return even.value_with(odd);
}

__attribute__((no_sanitize("address", "thread"))) void StackCache::Layout::adopt(std::uint32_t stack) noexcept {
    for_each_word([&](std::size_t i, std::uint64_t word) { held[i] = word; });
    id = stack;
}

std::uint32_t StackCache::find(std::uintptr_t caller, std::uintptr_t frame) noexcept {
    const std::uint64_t valid = loads.load(std::memory_order_relaxed) + epoch;
    const std::uint64_t mix = mixed(caller, frame);
    const std::size_t set = set_of(mix);
    const auto is_of = [&](std::size_t way) {
        const Layout& layout = layouts[set][way];
        return tags[set][way] == tag_of(mix) && layout.caller == caller && layout.frame == frame &&
               layout.epoch == valid;
    };
    for (std::size_t way = 0; way < layout_ways; ++way) {
        Layout& layout = layouts[set][way];
        if (!is_of(way) || !layout.holds_still())
            continue;
        if (layout.other != 0)
            layout.other = 0;
        return layout.id;
    }
    for (std::size_t way = 0; way < layout_ways; ++way) {
        if (!is_of(way))
            continue;
        Layout& layout = layouts[set][way];
        const std::uint32_t id = known_as(layout.fingerprint());
        if (id == 0)
            continue;
        // Adopted only if it was found twice in a row, so that alternating stacks do not replace each other.
        if (layout.other == id)
            layout.adopt(id);
        layout.other = layout.id != id ? id : 0;
        return id;
    }
    return 0;
}

std::uint32_t StackCache::known_as(const Fingerprint::Value& words) const noexcept {
    for (const Known& each : known[set_of(words)])
        if (each.words == words)
            return each.id;
    return 0;
}

/// The memory of fibers and signal stacks may be unmapped, so only words of the thread's own stack are cached.
bool StackCache::in_stack(std::uintptr_t address) noexcept {
    if (last == 0) {
        first = last = 1;
        pthread_attr_t attributes;
        // It asks for the thread's processors, too (glibc nptl/pthread_getattr_np.c).
        if (!is_confined() && pthread_getattr_np(pthread_self(), &attributes) == 0) {
            void* base = nullptr;
            std::size_t bytes = 0;
            if (pthread_attr_getstack(&attributes, &base, &bytes) == 0) {
                first = reinterpret_cast<std::uintptr_t>(base);
                last = first + bytes;
            }
            pthread_attr_destroy(&attributes);
        }
    }
    return first <= address && address + sizeof(std::uint64_t) <= last;
}

void StackCache::learn(const Unwinder& unwinder, std::uintptr_t caller, std::uintptr_t frame,
                       const Unwound& unwound, std::uint32_t id) noexcept {
    ++learned;
    if (!unwinder.steps)
        return;
    // A layout costs thirty times an unwinding, so it is made only for repeated stacks, and ever more rarely
    // for those whose words did not stay the same.
    const std::uint64_t key = (mixed(caller, frame) ^ id) * 0xff51afd7ed558ccdu;
    Candidate& candidate = candidate_of(key);
    if (++candidate.seen < candidate.needed)
        return;
    candidate.seen = 0;
    candidate.needed = static_cast<std::uint8_t>(std::min(candidate.needed * 2, 128));
    if (!in_stack(frame))
        return;
    const OffStack<Layout> made;
    Layout& layout = *made;
    layout.caller = caller;
    layout.frame = frame;
    layout.epoch = loads.load(std::memory_order_relaxed) + epoch;
    bool good = false;
    holding_the_loader([&] { good = lay_out(layout, unwinder, unwound); });
    if (!good)
        return;
    Layout& kept = keep(layout);
    kept.adopt(id);
    remember(kept.fingerprint(), id);
}

StackCache::Candidate& StackCache::candidate_of(std::uint64_t key) noexcept {
    const std::size_t set = key >> 32 & (candidate_sets - 1);
    for (Candidate& each : candidates[set])
        if (each.key == key)
            return each;
    Candidate& fresh = candidates[set][oldest_candidate[set]++ % candidate_ways];
    fresh = {key, 0, 2};
    return fresh;
}

StackCache::Layout& StackCache::keep(const Layout& layout) noexcept {
    const std::uint64_t mix = mixed(layout.caller, layout.frame);
    const std::size_t set = set_of(mix);
    for (Layout& each : layouts[set]) // the start is a fingerprint of the layout
        if (each.start == layout.start && each.words == layout.words)
            return each;
    const std::size_t way = oldest_layout[set]++ % layout_ways;
    tags[set][way] = tag_of(mix);
    Layout& kept = layouts[set][way];
    kept.caller = layout.caller;
    kept.frame = layout.frame;
    kept.epoch = layout.epoch;
    kept.other = 0;
    kept.start = layout.start;
    kept.paired = layout.paired;
    kept.words = layout.words;
    std::copy(layout.offset, layout.offset + layout.words, kept.offset);
    return kept;
}

void StackCache::remember(const Fingerprint::Value& words, std::uint32_t id) noexcept {
    const std::size_t set = set_of(words);
    for (Known& each : known[set])
        if (each.words == words) {
            each.id = id;
            return;
        }
    known[set][oldest_known[set]++ % known_ways] = {words, id};
}

} // namespace umadvisor::record
