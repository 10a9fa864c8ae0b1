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

std::uint32_t StackCache::find(std::uintptr_t caller, std::uintptr_t frame) noexcept {
    const std::uint64_t valid = loads.load(std::memory_order_relaxed) + epoch;
    for (Entry& entry : entries[set_of(caller, frame)]) {
        if (entry.caller != caller || entry.frame != frame || entry.slots == 0 || entry.epoch != valid)
            continue;
        std::uint64_t different = 0;
        for (std::size_t i = 0; i < entry.slots && different == 0; i += group)
            for (std::size_t j = i; j < i + group; ++j)
                different |= word_at(frame + entry.offset[j]) ^ entry.value[j];
        if (different == 0)
            return entry.id;
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
    const std::uint64_t valid = loads.load(std::memory_order_relaxed) + epoch;
    const std::size_t set = set_of(caller, frame);
    Entry* entry = nullptr;
    for (Entry& other : entries[set])
        if (other.caller == caller && other.frame == frame && other.id == id && other.epoch == valid)
            entry = &other;
    if (entry == nullptr) {
        entry = &entries[set][victim[set]++ % ways];
        entry->caller = caller;
        entry->frame = frame;
        entry->epoch = valid;
        entry->id = id;
        entry->slots = 0;
        entry->seen = 0;
        entry->wanted = 2;
    }
    // Looking at every frame costs thirty times an unwinding: only for stacks that come again, and ever more
    // rarely for those that did not stay the same.
    if (++entry->seen < entry->wanted)
        return;
    entry->seen = 0;
    entry->wanted = static_cast<std::uint8_t>(std::min(entry->wanted * 2, 128));
    if (!remember(*entry, unwinder, addresses, count))
        entry->slots = 0;
}

bool StackCache::remember(Entry& entry, const Unwinder& unwinder, void* const* addresses,
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
            canonical > entry.frame + 16)
            return false;
    } while (canonical != entry.frame + 16);

    std::size_t slots = 0;
    unw_word_t last_base_slot = 0, last_base = entry.frame; // record::stack() has rbp at its frame address
    const auto add = [&](unw_word_t address, unw_word_t value) {
        if (slots == max_slots || address < entry.frame || !in_stack(address) ||
            address - entry.frame > UINT32_MAX || word_at(address) != value)
            return false;
        entry.offset[slots] = static_cast<std::uint32_t>(address - entry.frame);
        entry.value[slots++] = value;
        return true;
    };
    for (std::size_t i = 0; i < count; ++i) {
        unw_save_loc_t ip_slot{}, base_slot{};
        if (i != 0 && unwinder.step(&cursor) <= 0)
            return false;
        if (unwinder.get_register(&cursor, UNW_X86_64_RIP, &ip) != 0 ||
            unwinder.get_register(&cursor, UNW_X86_64_RSP, &canonical) != 0 ||
            unwinder.get_register(&cursor, UNW_X86_64_RBP, &base) != 0 ||
            unwinder.get_save_location(&cursor, UNW_X86_64_RIP, &ip_slot) != 0 ||
            unwinder.get_save_location(&cursor, UNW_X86_64_RBP, &base_slot) != 0)
            return false;
        // The unwinder must tell the same story twice, in code that an object stands for (not JIT), without
        // signals.
        if (ip != reinterpret_cast<unw_word_t>(addresses[i]) || unwinder.is_signal_frame(&cursor) > 0 ||
            module_map.id(ip - 1) == 0)
            return false;
        if (ip_slot.type != UNW_SLT_MEMORY || ip_slot.u.addr != canonical - 8 || !add(ip_slot.u.addr, ip))
            return false;
        // A frame that does not save rbp leaves the location where it was.
        if (base_slot.type != UNW_SLT_MEMORY)
            return false;
        if (base_slot.u.addr != last_base_slot) {
            // A frame based on rbp that keeps its caller's frame elsewhere than right above has realigned the
            // stack: gcc finds the way back through one more word, which is not among those looked at.
            if (base_slot.u.addr == last_base && canonical != last_base + 16)
                return false;
            if (!add(base_slot.u.addr, base))
                return false;
            last_base_slot = base_slot.u.addr;
        }
        last_base = base;
    }
    for (; slots % group != 0; ++slots) {
        entry.offset[slots] = entry.offset[0];
        entry.value[slots] = entry.value[0];
    }
    entry.slots = static_cast<std::uint16_t>(slots);
    return slots != 0;
#else
    static_cast<void>(entry), static_cast<void>(unwinder), static_cast<void>(addresses),
        static_cast<void>(count);
    return false;
#endif
}

} // namespace umadvisor::record
