/// The stack tree: (parent frame, return address) -> number.
#pragma once

#include "interposer/base/hash.hpp"
#include "interposer/base/table.hpp"
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

    /// Number of the frame, which the first call defines; 0 without memory.
    std::uint32_t intern(std::uint32_t parent, std::uintptr_t address) noexcept {
        const std::uint32_t id = find(parent, address);
        return id != 0 ? id : add(parent, address);
    }

    /// Number of the stack `native` with the Python stack `python`. Forgotten together with `native`.
    std::uint32_t intern_python(std::uint32_t native, std::uint32_t python) noexcept {
        return intern(native, python_mark | python);
    }

    struct Frame {
        std::uint32_t parent; ///< 0: none, or the frame is not known
        bool python;          ///< `address` is not one of native code
        std::uintptr_t address;
    };
    /// Searches the whole table, under the lock.
    Frame look_up(std::uint32_t id) noexcept;
    /// A key of the stack `id`, made of offsets in modules and of the modules' identities: the same in each run
    /// of the same files. 0: it has none (Python, code of no module).
    std::uint64_t key(std::uint32_t id) const noexcept {
        const std::atomic<std::uint64_t>* const page =
            id / keys_a_page < pages ? keys_[id / keys_a_page].load(std::memory_order_acquire) : nullptr;
        return page == nullptr ? 0 : page[id % keys_a_page].load(std::memory_order_relaxed);
    }

    /// Forgets frames with addresses in [first, last), since another object may be loaded there, and all frames
    /// called from them. Returns whether there were any.
    bool forget(std::uintptr_t first, std::uintptr_t last) noexcept;

private:
    static constexpr std::uint32_t forgotten = 0xffffffff;
    static constexpr std::uintptr_t python_mark = std::uintptr_t{1} << 62; ///< no address of code has this bit

    static std::uint64_t hash_of(std::uint32_t parent, std::uintptr_t address) noexcept {
        return base::hash(address ^ (std::uint64_t{parent} << 40 | parent));
    }
    struct Slot {
        std::atomic<std::uint64_t> address;
        std::atomic<std::uint32_t> parent;
        std::atomic<std::uint32_t> id; ///< 0: free; written last

        bool free() const noexcept { return id.load(std::memory_order_acquire) == 0; }
        bool gone() const noexcept { return id.load(std::memory_order_relaxed) == forgotten; }
        std::uint64_t hash() const noexcept { return hash_of(parent, address); }
    };

    std::uint32_t find(std::uint32_t parent, std::uintptr_t address) const noexcept {
        std::uint32_t id = 0;
        const Slot* const found = table_.find(hash_of(parent, address), [&](const Slot& slot) {
            id = slot.id.load(std::memory_order_acquire);
            // Numbers are never used again: if it is the same before and after, so is what was read in between.
            return slot.address.load(std::memory_order_acquire) == address &&
                   slot.parent.load(std::memory_order_acquire) == parent && id != forgotten && id != 0 &&
                   slot.id.load(std::memory_order_relaxed) == id;
        });
        return found != nullptr ? id : 0;
    }
    std::uint32_t add(std::uint32_t parent, std::uintptr_t address) noexcept;
    void set_key(std::uint32_t id, std::uint64_t key) noexcept;

    static constexpr std::uint32_t pages = 512, keys_a_page = 16384; ///< stacks beyond them have no key

    base::Table<Slot, base::Searched::by_any_thread> table_;
    std::atomic<std::atomic<std::uint64_t>*> keys_[pages] = {};
    Mutex mutex_{Lock::frames};
    std::uint32_t last_id_ = 0;
};

} // namespace umadvisor::record
