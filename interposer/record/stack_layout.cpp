#include "interposer/record/modules.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/slow_path.hpp"
#include "interposer/record/stack_cache.hpp"

#include <algorithm>

namespace umadvisor::record {
#if defined(__x86_64__)
namespace {

/// Reads a word of the thread's own stack, whatever a sanitizer's red zones or shadow memory say about it.
__attribute__((no_sanitize("address", "thread"))) std::uint64_t word_at(std::uintptr_t address) noexcept {
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference)
    return *reinterpret_cast<const volatile std::uint64_t*>(address);
}

/// The layout's own part in fingerprints, at indices behind those of its words.
Fingerprint::Value start_of(const StackCache::Layout& layout) noexcept {
    Fingerprint row;
    row.add(layout.caller);
    row.add(layout.frame);
    row.add(layout.epoch);
    row.add(std::uint64_t{layout.paired} << 32 | layout.words);
    for (std::size_t i = 0; i < layout.words - layout.paired / 2u; ++i)
        row.add(layout.offset[i]);
    Fingerprint start;
    start.add_at(StackCache::max_words, row.value().low);
    start.add_at(StackCache::max_words + 1, row.value().high);
    return start.value();
}

/// Sorts the words by their offsets and pairs adjacent ones.
void arrange(StackCache::Layout& layout, std::uint16_t* offsets, std::size_t count) noexcept {
    std::sort(offsets, offsets + count);
    count = static_cast<std::size_t>(std::unique(offsets, offsets + count) - offsets);
    std::size_t pairs = 0, singles = 0;
    for (std::size_t i = 0; i < count; ++i)
        if (i + 1 < count && offsets[i] + 1 == offsets[i + 1]) {
            layout.offset[pairs++] = offsets[i++];
        } else {
            offsets[singles++] = offsets[i];
        }
    // Groups are filled up with words that are read anyway.
    if (pairs % 2 != 0) {
        layout.offset[pairs] = layout.offset[pairs - 1];
        ++pairs;
    }
    std::uint16_t* const single = layout.offset + pairs;
    std::copy(offsets, offsets + singles, single);
    for (; singles % StackCache::group != 0; ++singles)
        single[singles] = single[0];
    layout.paired = static_cast<std::uint16_t>(2 * pairs);
    layout.words = static_cast<std::uint16_t>(2 * pairs + singles);
}

/// Adds the words that hold `value` among those that a realigned frame may have pushed below its rbp: up to six
/// registers, the last of them the address by which it returns. False if there is none.
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

/// A register from which the caller's frame may be restored.
struct Base {
    unw_regnum_t number;
    unw_word_t value = 0; ///< in the current frame
    unw_word_t slot = 0;  ///< address where it was saved; 0: it was not
    bool added = false;   ///< whether that word was added already

    /// Whether the caller of the frame between those stack pointers may be restored from it. The ip fixes how a
    /// frame is left. If the register does not point into the frame, it holds the program's data, which differ
    /// every time. Mostly that is so for all but rbp; but Intel's compiler and the loader's trampolines let rbx
    /// point at what they push first.
    bool leads_out(unw_word_t inner, unw_word_t outer) const noexcept {
        constexpr unw_word_t pushed_first = 64;
        return inner <= value && value < outer && (number == UNW_X86_64_RBP || outer - value <= pushed_first);
    }
};

} // namespace

/// Finds the words that unwinding reads, for `layout`, whose other fields are filled in.
bool StackCache::lay_out(Layout& layout, const Unwinder& unwinder, const Unwound& unwound) noexcept {
    const SlowPath slow;
    const OffStack<UnwinderState> state;
    auto& [context, cursor] = *state;
    if (unwinder.get_context(&context) != 0 || unwinder.init_local(&cursor, &context) != 0)
        return false;
    unw_word_t ip = 0, canonical = 0;
    // Steps to the frame of record::stack(), whose canonical frame address is past its return address and saved
    // rbp.
    do {
        if (unwinder.step(&cursor) <= 0 || unwinder.get_register(&cursor, UNW_X86_64_RSP, &canonical) != 0 ||
            canonical > layout.frame + 16)
            return false;
    } while (canonical != layout.frame + 16);

    constexpr std::size_t max_offsets = max_words - 2 * group; // some are filled in
    struct Offsets {
        std::uint16_t all[max_offsets];
    };
    const OffStack<Offsets> found;
    std::uint16_t* const offsets = found->all;
    std::size_t count = 0;
    const auto add = [&](unw_word_t address, unw_word_t value) {
        const std::uintptr_t distance = address - layout.frame;
        if (count == max_offsets || address < layout.frame || !in_stack(address) || distance % 8 != 0 ||
            distance / 8 > UINT16_MAX || word_at(address) != value)
            return false;
        offsets[count++] = static_cast<std::uint16_t>(distance / 8);
        return true;
    };
    const auto add_once = [&add](Base& base) {
        base.added = base.added || add(base.slot, base.value);
        return base.added;
    };
    Base bases[] = {{UNW_X86_64_RBP}, {UNW_X86_64_RBX}, {UNW_X86_64_R12},
                    {UNW_X86_64_R13}, {UNW_X86_64_R14}, {UNW_X86_64_R15}};
    for (std::size_t i = 0; i < unwound.count; ++i) {
        const unw_word_t inner = canonical; // rsp of the frame that is stepped out of
        unw_save_loc_t saved{};
        if (i != 0 && unwinder.step(&cursor) <= 0)
            return false;
        if (unwinder.get_register(&cursor, UNW_X86_64_RIP, &ip) != 0 ||
            unwinder.get_register(&cursor, UNW_X86_64_RSP, &canonical) != 0 ||
            unwinder.get_save_location(&cursor, UNW_X86_64_RIP, &saved) != 0)
            return false;
        // The unwinder must find the same frames again, in code of a loaded object (not JIT), without signal
        // frames.
        if (ip != reinterpret_cast<unw_word_t>(unwound.addresses[i]) || unwinder.is_signal_frame(&cursor) > 0 ||
            module_map.id(ip - 1) == 0)
            return false;
        if (saved.type != UNW_SLT_MEMORY || saved.u.addr != canonical - 8 || !add(saved.u.addr, ip))
            return false;
        for (Base& base : bases) {
            if (unwinder.get_save_location(&cursor, base.number, &saved) != 0)
                return false;
            const unw_word_t slot = saved.type == UNW_SLT_MEMORY ? saved.u.addr : 0;
            if (i != 0 && base.leads_out(inner, canonical)) {
                if (!add_once(base))
                    return false;
                // A frame with rbp as base whose caller's frame is not right above it has realigned the stack:
                // gcc restores the caller through a word that it pushed after rbp.
                if (base.number == UNW_X86_64_RBP && slot == base.value && canonical != base.value + 16 &&
                    !add_equal(base.value, canonical, add))
                    return false;
            }
            // A frame that does not save the register does not change its saved location.
            if (slot != base.slot)
                base.added = false;
            base.slot = slot;
            if (unwinder.get_register(&cursor, base.number, &base.value) != 0)
                return false;
        }
    }
    if (unwound.ended) {
        // The outermost frame ends by a word: no return address, or no unwinding information and no frame
        // pointer.
        unw_proc_info_t function{};
        if (unwinder.get_proc_info(&cursor, &function) != 0 || unwinder.step(&cursor) != 0)
            return false;
        const bool described = function.end_ip > function.start_ip + 1; // else the unwinder has made it up
        unw_word_t end = 0;
        if (described ? unwinder.get_register(&cursor, UNW_X86_64_RSP, &end) != 0 || !in_stack(end - 8) ||
                            !add(end - 8, word_at(end - 8))
                      : bases[0].value != 0 || !add_once(bases[0]))
            return false;
    }
    arrange(layout, offsets, count);
    layout.start = start_of(layout);
    return true;
}

#else

bool StackCache::lay_out(Layout&, const Unwinder&, const Unwound&) noexcept {
    return false;
}

#endif

} // namespace umadvisor::record
