#include "interposer/record/frame_table.hpp"

#include "interposer/record/modules.hpp"
#include "interposer/record/pages.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/slow_path.hpp"

namespace umadvisor::record {

void FrameTable::put(Table& table, std::uint32_t parent, std::uintptr_t address, std::uint32_t id) noexcept {
    std::size_t at = place(parent, address);
    while (table.slot[at & (table.slots - 1)].id.load(std::memory_order_relaxed) != 0)
        ++at;
    Slot& slot = table.slot[at & (table.slots - 1)];
    slot.address.store(address, std::memory_order_relaxed);
    slot.parent.store(parent, std::memory_order_relaxed);
    slot.id.store(id, std::memory_order_release);
}

std::uint32_t FrameTable::add(std::uint32_t parent, std::uintptr_t address) noexcept {
    const SlowPath slow;
    // Asked before our lock is taken: forget() is called under the module map's.
    const std::uint64_t module =
        module_map.id(address - 1); // a call at a function's end returns to the next one
    const Guard guard(mutex_);
    if (const std::uint32_t id = find(table_.load(std::memory_order_relaxed), parent, address))
        return id; // another thread was first
    Table* table = table_.load(std::memory_order_relaxed);
    if (table == nullptr || used_ * 2 >= table->slots) {
        if (!enlarge())
            return 0;
        table = table_.load(std::memory_order_relaxed);
    }
    trace::Frame frame;
    frame.id = ++last_id_;
    frame.parent = parent;
    frame.address = address;
    frame.module = module;
    define(frame);
    put(*table, parent, address, last_id_);
    ++used_;
    return last_id_;
}

/// A new table, twice as large where the frames in use need it. The old one stays where it is: a reader may be
/// in it. Over the life of the process that doubles the memory, no more.
bool FrameTable::enlarge() noexcept {
    Table* old = table_.load(std::memory_order_relaxed);
    std::size_t live = 0;
    for (std::size_t i = 0; old != nullptr && i < old->slots; ++i) {
        const std::uint32_t id = old->slot[i].id.load(std::memory_order_relaxed);
        live += id != 0 && id != forgotten;
    }
    std::size_t slots = 8192;
    while (slots < live * 4)
        slots *= 2;
    Table* table = static_cast<Table*>(map_pages(sizeof(Table) + slots * sizeof(Slot)));
    if (table == nullptr)
        return false;
    table->slots = slots;
    for (std::size_t i = 0; old != nullptr && i < old->slots; ++i) {
        const Slot& slot = old->slot[i];
        const std::uint32_t id = slot.id.load(std::memory_order_relaxed);
        if (id != 0 && id != forgotten)
            put(*table, slot.parent.load(std::memory_order_relaxed),
                slot.address.load(std::memory_order_relaxed), id);
    }
    used_ = live;
    table_.store(table, std::memory_order_release);
    return true;
}

void FrameTable::forget(std::uintptr_t first, std::uintptr_t last) noexcept {
    const Guard guard(mutex_);
    Table* table = table_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; table != nullptr && i < table->slots; ++i) {
        Slot& slot = table->slot[i];
        const std::uint64_t address = slot.address.load(std::memory_order_relaxed);
        if (slot.id.load(std::memory_order_relaxed) != 0 && first <= address && address < last)
            slot.id.store(forgotten, std::memory_order_release);
    }
}

} // namespace umadvisor::record
