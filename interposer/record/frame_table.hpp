/// The stack tree: (parent frame, return address) -> number.
#pragma once

#include "interposer/record/mutex.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace umadvisor::record {

/// Read without locks, written under one. A frame is defined in the trace before anyone can learn its number,
/// so no committed event names a frame that a SIGKILL kept out of the file.
class FrameTable {
public:
    constexpr FrameTable() noexcept = default;

    /// Number of the frame, defined at first sight; 0 when there is no memory.
    std::uint32_t intern(std::uint32_t parent, std::uintptr_t address) noexcept {
        const std::uint32_t id = find(table_.load(std::memory_order_acquire), parent, address);
        return id != 0 ? id : add(parent, address);
    }

    /// Number of the stack `native` with the Python stack `python`. Forgotten together with `native`.
    std::uint32_t intern_python(std::uint32_t native, std::uint32_t python) noexcept {
        return intern(native, python_mark | python);
    }

    struct Frame {
        std::uint32_t parent; ///< 0: none, and of a frame that is not known
        bool python;          ///< `address` is none of native code
        std::uintptr_t address;
    };
    /// Looks through the whole table, under the lock.
    Frame look_up(std::uint32_t id) noexcept;
    /// Of the stack `id`, made of offsets in modules and of what these are: the same in each run of the same
    /// files. 0: it has none (Python, code of no module).
    std::uint64_t key(std::uint32_t id) const noexcept {
        const std::atomic<std::uint64_t>* const page =
            id / keys_a_page < pages ? keys_[id / keys_a_page].load(std::memory_order_acquire) : nullptr;
        return page == nullptr ? 0 : page[id % keys_a_page].load(std::memory_order_relaxed);
    }

    /// Forgets frames with addresses in [first, last), since another object may be loaded there, and all that
    /// was called from them. Whether there were any.
    bool forget(std::uintptr_t first, std::uintptr_t last) noexcept;

private:
    struct Slot {
        std::atomic<std::uint64_t> address;
        std::atomic<std::uint32_t> parent;
        std::atomic<std::uint32_t> id; ///< 0: free; written last
    };
    struct Table {
        std::size_t slots; ///< a power of two
        Slot slot[1];      ///< as many as there are
    };
    static constexpr std::uint32_t forgotten = 0xffffffff;
    static constexpr std::uintptr_t python_mark = std::uintptr_t{1} << 62; ///< no address of code has this bit

    static std::size_t place(std::uint32_t parent, std::uintptr_t address) noexcept {
        const std::uint64_t mixed = (address ^ (std::uint64_t{parent} << 40 | parent)) * 0x9e3779b97f4a7c15u;
        return static_cast<std::size_t>(mixed >> 24);
    }
    static std::uint32_t find(Table* table, std::uint32_t parent, std::uintptr_t address) noexcept {
        if (table == nullptr)
            return 0;
        for (std::size_t at = place(parent, address);; ++at) {
            Slot& slot = table->slot[at & (table->slots - 1)];
            const std::uint32_t id = slot.id.load(std::memory_order_acquire);
            if (id == 0)
                return 0;
            // Numbers are given once: the same one before and after stands for what lies between.
            if (slot.address.load(std::memory_order_acquire) == address &&
                slot.parent.load(std::memory_order_acquire) == parent && id != forgotten &&
                slot.id.load(std::memory_order_relaxed) == id)
                return id;
        }
    }
    /// Whether the slot was free, not a forgotten frame's.
    static bool put(Table& table, std::uint32_t parent, std::uintptr_t address, std::uint32_t id) noexcept;
    void free_forgotten(Table& table) noexcept;
    std::uint32_t add(std::uint32_t parent, std::uintptr_t address) noexcept;
    bool enlarge() noexcept;
    void set_key(std::uint32_t id, std::uint64_t key) noexcept;

    static constexpr std::uint32_t pages = 512, keys_a_page = 16384; ///< stacks beyond them have no key

    std::atomic<Table*> table_{nullptr};
    std::atomic<std::atomic<std::uint64_t>*> keys_[pages] = {};
    Mutex mutex_;
    std::size_t used_ = 0; ///< slots that are not free, forgotten ones too
    std::uint32_t last_id_ = 0;
};

} // namespace umadvisor::record
