#include "interposer/record/stack_cache.hpp"

#include "interposer/record/modules.hpp"
#include "interposer/record/slow_path.hpp"

#include <algorithm>
#include <atomic>
#include <pthread.h>

namespace umadvisor::record {
namespace {

/// In the upper half of an entry's epoch; the lower counts the owners of the pages.
constinit std::atomic<std::uint64_t> loads{0};

/// Reads the program's stack words as they are: red zones and shadow are no concern here.
__attribute__((no_sanitize("address", "thread"))) std::uint64_t word_at(std::uintptr_t address) noexcept {
    return *reinterpret_cast<const volatile std::uint64_t*>(address);
}

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

/// What stands for a layout itself: at places behind those of the words it is added to.
Fingerprint::Value start_of(const StackCache::Layout& layout) noexcept {
    Fingerprint row;
    row.add(layout.caller);
    row.add(layout.frame);
    row.add(layout.epoch);
    row.add(layout.slots);
    for (std::size_t i = 0; i < layout.slots; ++i)
        row.add(layout.offset[i]);
    Fingerprint start;
    start.add_at(StackCache::max_slots, row.value().low);
    start.add_at(StackCache::max_slots + 1, row.value().high);
    return start.value();
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
                       void* const* addresses, std::size_t count, std::uint32_t id) noexcept {
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
    if (lay_out(layout, unwinder, addresses, count))
        remember(fingerprint(keep(layout)), id);
}

StackCache::Candidate& StackCache::candidate_of(std::uint64_t key) noexcept {
    const std::size_t set = key >> 32 & (candidate_sets - 1);
    for (Candidate& each : unwound[set])
        if (each.key == key)
            return each;
    Candidate& fresh = unwound[set][oldest_unwound[set]++ % candidate_ways];
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

namespace {

/// Adds the words that hold `value` among those that a realigned frame may have pushed below its rbp: six
/// registers, the last of them the way back. False when there is none.
template <class Add>
bool add_equal(std::uintptr_t base, std::uintptr_t value, const Add& add) noexcept {
    bool found = false;
    for (std::uintptr_t at = base - 6 * sizeof value; at < base; at += sizeof value)
        if (word_at(at) == value) {
            if (!add(at, value))
                return false;
            found = true;
        }
    return found;
}

} // namespace

/// Finds the words that unwinding reads, for `layout`, whose other fields are filled in.
bool StackCache::lay_out(Layout& layout, const Unwinder& unwinder, void* const* addresses,
                         std::size_t count) noexcept {
#if defined(__x86_64__)
    const SlowPath slow;
    unw_context_t context;
    unw_cursor_t cursor;
    if (unwinder.get_context(&context) != 0 || unwinder.init_local(&cursor, &context) != 0)
        return false;
    unw_word_t ip = 0, canonical = 0, base = 0;
    // Down to the frame of record::stack(), whose canonical frame address lies past its return address and
    // saved rbp.
    do {
        if (unwinder.step(&cursor) <= 0 || unwinder.get_register(&cursor, UNW_X86_64_RSP, &canonical) != 0 ||
            canonical > layout.frame + 16)
            return false;
    } while (canonical != layout.frame + 16);

    std::size_t slots = 0;
    const auto add = [&](unw_word_t address, unw_word_t value) {
        const std::uintptr_t distance = address - layout.frame;
        if (slots == max_slots || address < layout.frame || !in_stack(address) || distance % 8 != 0 ||
            distance / 8 > UINT16_MAX || word_at(address) != value)
            return false;
        layout.offset[slots++] = static_cast<std::uint16_t>(distance / 8);
        return true;
    };
    // rbp of the frame at hand, where it was saved, and whether that word is among those looked at already.
    unw_word_t base_slot = 0;
    bool base_added = false;
    for (std::size_t i = 0; i < count; ++i) {
        const unw_word_t inner = canonical,
                         inner_base = base; // rsp and rbp of the frame that is stepped out of
        unw_save_loc_t ip_saved{}, base_saved{};
        if (i != 0 && unwinder.step(&cursor) <= 0)
            return false;
        if (unwinder.get_register(&cursor, UNW_X86_64_RIP, &ip) != 0 ||
            unwinder.get_register(&cursor, UNW_X86_64_RSP, &canonical) != 0 ||
            unwinder.get_register(&cursor, UNW_X86_64_RBP, &base) != 0 ||
            unwinder.get_save_location(&cursor, UNW_X86_64_RIP, &ip_saved) != 0 ||
            unwinder.get_save_location(&cursor, UNW_X86_64_RBP, &base_saved) != 0)
            return false;
        // The unwinder must tell the same story twice, in code that an object stands for (not JIT), without
        // signals.
        if (ip != reinterpret_cast<unw_word_t>(addresses[i]) || unwinder.is_signal_frame(&cursor) > 0 ||
            module_map.id(ip - 1) == 0)
            return false;
        if (ip_saved.type != UNW_SLT_MEMORY || ip_saved.u.addr != canonical - 8 || !add(ip_saved.u.addr, ip))
            return false;
        // A frame that does not save rbp leaves the location where it was.
        if (base_saved.type != UNW_SLT_MEMORY)
            return false;
        // How a frame is left is fixed by its ip. Where rbp points elsewhere than into the frame, the way out
        // does not go by rbp: such a word is the program's data, and different every time.
        if (i != 0 && inner <= inner_base && inner_base < canonical) {
            if (!base_added && !add(base_slot, inner_base))
                return false;
            base_added = true;
            // A frame based on rbp that keeps its caller's frame elsewhere than right above has realigned the
            // stack: gcc finds the way back through a word that it pushed after rbp.
            if (base_saved.u.addr == inner_base && canonical != inner_base + 16 &&
                !add_equal(inner_base, canonical, add))
                return false;
        }
        if (base_saved.u.addr != base_slot) {
            base_slot = base_saved.u.addr;
            base_added = false;
        }
    }
    if (slots == 0)
        return false;
    for (; slots % group != 0; ++slots)
        layout.offset[slots] = layout.offset[0];
    layout.slots = static_cast<std::uint16_t>(slots);
    layout.start = start_of(layout);
    return true;
#else
    static_cast<void>(layout), static_cast<void>(unwinder), static_cast<void>(addresses),
        static_cast<void>(count);
    return false;
#endif
}

} // namespace umadvisor::record
