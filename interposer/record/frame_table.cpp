#include "interposer/record/frame_table.hpp"

#include "interposer/base/pages.hpp"
#include "interposer/record/bounds.hpp"
#include "interposer/record/modules.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/slow_path.hpp"

namespace umadvisor::record {

namespace {

std::uint64_t key_of(std::uint64_t parent, const LoadedModule& module, std::uintptr_t address) noexcept {
    std::uint64_t key = parent;
    for (const std::uint64_t word : {module.identity, std::uint64_t{address - module.bias}}) {
        key = (key ^ word) * 0x9e3779b97f4a7c15u;
        key ^= key >> 32;
    }
    return key;
}

} // namespace

void FrameTable::set_key(std::uint32_t id, std::uint64_t key) noexcept {
    if (key == 0 || id / keys_a_page >= pages)
        return;
    auto& slot = keys_[id / keys_a_page];
    auto* page = slot.load(std::memory_order_relaxed);
    if (page == nullptr) {
        page = static_cast<std::atomic<std::uint64_t>*>(base::map_pages(keys_a_page * sizeof *page));
        slot.store(page, std::memory_order_release);
    }
    if (page != nullptr)
        page[id % keys_a_page].store(key, std::memory_order_relaxed);
}

std::uint32_t FrameTable::add(std::uint32_t parent, std::uintptr_t address) noexcept {
    const SlowPath slow;
    // Before our lock, since forget() is called under the module map's lock.
    const bool python = (address & python_mark) != 0;
    // A call at a function's end returns to the next one.
    LoadedModule module{};
    const bool found = !python && module_map.find(address - 1, module);
    const Guard guard(mutex_);
    if (const std::uint32_t id = find(parent, address))
        return id; // another thread has entered it meanwhile
    if (last_id_ == most(Bound::stack_frames)) {
        reached(Bound::stack_frames);
        return 0;
    }
    Slot* const slot = table_.add(hash_of(parent, address));
    if (slot == nullptr)
        return 0;
    trace::Frame frame;
    frame.id = ++last_id_;
    frame.parent = parent;
    frame.address = python ? 0 : address;
    frame.module = found ? module.id : 0;
    frame.python = python ? address & ~python_mark : 0;
    if (found && (parent == 0 || key(parent) != 0))
        frame.key = key_of(key(parent), module, address);
    set_key(last_id_, frame.key);
    define(frame);
    // With release, so that a thread that reads either of them sees that the former number was removed.
    slot->address.store(address, std::memory_order_release);
    slot->parent.store(parent, std::memory_order_release);
    slot->id.store(last_id_, std::memory_order_release);
    return last_id_;
}

FrameTable::Frame FrameTable::look_up(std::uint32_t id) noexcept {
    const Guard guard(mutex_);
    for (const Slot& slot : table_.slots()) {
        if (id == 0 || slot.id.load(std::memory_order_relaxed) != id)
            continue;
        const std::uintptr_t address = slot.address.load(std::memory_order_relaxed);
        return {slot.parent.load(std::memory_order_relaxed), (address & python_mark) != 0, address};
    }
    return {};
}

bool FrameTable::forget(std::uintptr_t first, std::uintptr_t last) noexcept {
    const Guard guard(mutex_);
    bool any = false;
    // By number; without memory the frames called from them are kept, which only costs their slots.
    const std::size_t bytes = last_id_ / 8 + 1;
    auto* const gone = static_cast<std::uint8_t*>(base::map_pages(bytes));
    const auto is_gone = [gone](std::uint32_t id) {
        return gone != nullptr && (gone[id / 8] >> id % 8 & 1) != 0;
    };
    for (bool more = true; more;) {
        more = false;
        for (Slot& slot : table_.slots()) {
            const std::uint32_t id = slot.id.load(std::memory_order_relaxed);
            const std::uint64_t address = slot.address.load(std::memory_order_relaxed);
            if (id == 0 || id == forgotten ||
                ((address < first || address >= last) && !is_gone(slot.parent.load(std::memory_order_relaxed))))
                continue;
            slot.id.store(forgotten, std::memory_order_release);
            any = true;
            if (gone != nullptr) {
                gone[id / 8] = static_cast<std::uint8_t>(gone[id / 8] | 1u << id % 8);
                more = true; // the frames that it called may be in slots before it
            }
        }
    }
    if (gone != nullptr)
        base::unmap_pages(gone, bytes);
    table_.sweep([](Slot& slot) { slot.id.store(0, std::memory_order_release); }); // plug-ins come and go
    return any;
}

} // namespace umadvisor::record
