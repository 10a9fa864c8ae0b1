#include "interposer/record/stack_cache.hpp"

#include <algorithm>
#include <atomic>
#include <pthread.h>

namespace umadvisor::record {
namespace {

/// In the upper half of an entry's epoch; the lower counts the owners of the pages.
constinit std::atomic<std::uint64_t> loads{0};

} // namespace

void void_stack_caches() noexcept {
    loads.fetch_add(std::uint64_t{1} << 32, std::memory_order_relaxed);
}

namespace {

/// What the words of a layout hold. Reads the program's stack as it is: red zones and shadow are no concern
/// here.
__attribute__((no_sanitize("address", "thread"))) Fingerprint::Value
fingerprint(const StackCache::Layout& layout) noexcept {
    const auto* const frame = reinterpret_cast<const volatile std::uint64_t*>(layout.frame);
    Fingerprint even(layout.start), odd; // two sums: neither waits for the other's carry
    for (std::size_t i = 0; i < layout.slots; i += StackCache::group)
        for (std::size_t j = i; j < i + StackCache::group; j += 2) {
            even.add_at(j, frame[layout.offset[j]]);
            odd.add_at(j + 1, frame[layout.offset[j + 1]]);
        }
    return even.value_with(odd);
}

} // namespace

std::uint32_t StackCache::find(std::uintptr_t caller, std::uintptr_t frame) noexcept {
    const std::uint64_t valid = loads.load(std::memory_order_relaxed) + epoch;
    const std::uint64_t mix = mixed(caller, frame);
    const std::size_t set = set_of(mix);
    for (std::size_t way = 0; way < layout_ways; ++way) {
        if (tags[set][way] != tag_of(mix))
            continue;
        const Layout& layout = layouts[set][way];
        if (layout.caller != caller || layout.frame != frame || layout.epoch != valid)
            continue;
        const Fingerprint::Value words = fingerprint(layout);
        for (const Known& each : known[set_of(words)])
            if (each.words == words && each.id != 0)
                return each.id;
    }
    return 0;
}

/// Fibers and signal stacks come and go with their memory, so only words of the thread's own stack are ever
/// looked at again.
bool StackCache::in_stack(std::uintptr_t address) noexcept {
    if (last == 0) {
        first = last = 1;
        pthread_attr_t attributes;
        if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
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
    if (!unwinder.steps || !in_stack(frame))
        return;
    // Looking at every frame costs thirty times an unwinding: only for stacks that come again, and ever more
    // rarely for those that did not stay the same.
    const std::uint64_t key = (mixed(caller, frame) ^ id) * 0xff51afd7ed558ccdu;
    Candidate& candidate = candidate_of(key);
    if (++candidate.seen < candidate.wanted)
        return;
    candidate.seen = 0;
    candidate.wanted = static_cast<std::uint8_t>(std::min(candidate.wanted * 2, 128));
    Layout layout;
    layout.caller = caller;
    layout.frame = frame;
    layout.epoch = loads.load(std::memory_order_relaxed) + epoch;
    if (lay_out(layout, unwinder, unwound))
        remember(fingerprint(keep(layout)), id);
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

const StackCache::Layout& StackCache::keep(const Layout& layout) noexcept {
    const std::uint64_t mix = mixed(layout.caller, layout.frame);
    const std::size_t set = set_of(mix);
    for (const Layout& each : layouts[set]) // of words, so equal ones have equal starts
        if (each.start == layout.start && each.slots == layout.slots)
            return each;
    const std::size_t way = oldest_layout[set]++ % layout_ways;
    tags[set][way] = tag_of(mix);
    Layout& kept = layouts[set][way];
    kept.caller = layout.caller;
    kept.frame = layout.frame;
    kept.epoch = layout.epoch;
    kept.start = layout.start;
    kept.slots = layout.slots;
    std::copy(layout.offset, layout.offset + layout.slots, kept.offset);
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
