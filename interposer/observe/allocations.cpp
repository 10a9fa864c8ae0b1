#include "interposer/observe/allocations.hpp"

#include "interposer/base/pages.hpp"
#include "interposer/record/bounds.hpp"
#include "interposer/record/recorder.hpp"

#include <algorithm>

namespace umadvisor::observe {

namespace {

constexpr std::size_t none = ~std::size_t{0};
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

// A kind packs what an allocation is, apart from address and size, into one word.
constexpr std::uint64_t memory_mask = 0xff;
constexpr std::uint64_t rewritten_bit = 1 << 8, readable_bit = 1 << 9, fills_card_bit = 1 << 10,
                        kept_on_device_bit = 1 << 11, pooled_bit = 1 << 12, holds_pointers_bit = 1 << 13;
constexpr unsigned device_shift = 16, context_shift = 48;

std::uint64_t kind_of(const Allocation& allocation) {
    return static_cast<std::uint64_t>(allocation.memory) | (allocation.rewritten ? rewritten_bit : 0) |
           (allocation.readable ? readable_bit : 0) | (allocation.fills_card ? fills_card_bit : 0) |
           (allocation.kept_on_device ? kept_on_device_bit : 0) | (allocation.pooled ? pooled_bit : 0) |
           (allocation.holds_pointers ? holds_pointers_bit : 0) |
           std::uint64_t{allocation.device} << device_shift |
           std::uint64_t{allocation.context} << context_shift;
}

std::uint64_t end_of(std::uint64_t address, std::uint64_t bytes) {
    return address + (bytes != 0 ? bytes : 1);
}

/// Number of leading elements that are not greater than `address`; `values` is sorted. Branchless on the
/// elements: half of the branches would be mispredicted, which was two thirds of a look-up's time.
template <class Words>
std::size_t count_up_to(const Words& values, std::size_t count, std::uint64_t address) {
    std::size_t low = 0;
    while (count > 1) {
        const std::size_t half = count / 2;
        low += half & (0 - static_cast<std::size_t>(values[low + half - 1].load(acquire) <= address));
        count -= half;
    }
    return low + (count == 1 && values[low].load(acquire) <= address);
}

} // namespace

constinit AllocationIndex detail::allocation_index;

AllocationIndex& arrays() noexcept {
    static constinit AllocationIndex index;
    return index;
}

/// Holds both locks.
struct AllocationIndex::Change {
    explicit Change(AllocationIndex& index) noexcept : guard(index.mutex_), change(index.changes_) {}
    record::Guard guard;
    base::SeqLock::Change change;
};

bool AllocationIndex::prepare() noexcept {
    if (leaves_.load(std::memory_order_relaxed) != nullptr)
        return true;
    constexpr std::size_t leaf_bytes = max_leaves * sizeof(Leaf), directory_bytes = max_leaves * sizeof(Word);
    // Zeroed pages are all these need; they cost nothing until touched.
    void* const pages = base::map_pages(leaf_bytes + 2 * directory_bytes);
    if (pages == nullptr)
        return false;
    char* const at = static_cast<char*>(pages);
    first_of_ = reinterpret_cast<Word*>(at + leaf_bytes);
    leaf_of_ = reinterpret_cast<Word*>(at + leaf_bytes + directory_bytes);
    leaves_.store(reinterpret_cast<Leaf*>(at), release);
    return true;
}

bool AllocationIndex::nearest_once(std::uint64_t address, Allocation& out) const noexcept {
    const std::size_t directory = count_up_to(first_of_, leaf_count_.load(acquire), address);
    if (directory == 0)
        return false;
    const Leaf& in = leaf(directory - 1);
    const std::size_t slot =
        count_up_to(in.address, std::min<std::size_t>(in.count.load(acquire), leaf_capacity), address);
    if (slot == 0)
        return false;
    out = read({directory - 1, slot - 1});
    return true;
}

bool AllocationIndex::search(std::uint64_t address, Allocation& out) const noexcept {
    Allocation found;
    if (!nearest(address, found) || address >= end_of(found.address, found.bytes))
        return false;
    out = found;
    return true;
}

bool AllocationIndex::overlaps(std::uint64_t first, std::uint64_t last) const noexcept {
    Allocation found;
    return nearest(last - 1, found) && end_of(found.address, found.bytes) > first;
}

bool AllocationIndex::nearest(std::uint64_t address, Allocation& out) const noexcept {
    if (leaves_.load(acquire) == nullptr)
        return false;
    Allocation found{};
    bool hit = false;
    if (changes_.read(256, [&] { hit = nearest_once(address, found); })) {
        if (hit)
            out = found;
        return hit;
    }
    // The thread of a change that takes this long was preempted; waiting for the lock lets it run.
    const record::Guard guard(mutex_);
    return nearest_once(address, out);
}

AllocationIndex::Position AllocationIndex::position_of(std::uint64_t address) const noexcept {
    const std::size_t directory = count_up_to(first_of_, leaf_count_.load(acquire), address);
    if (directory == 0)
        return {none, none};
    const Leaf& in = leaf(directory - 1);
    return {directory - 1, count_up_to(in.address, in.count.load(acquire), address) - 1};
}

Allocation AllocationIndex::read(Position at) const noexcept {
    const Leaf& in = leaf(at.directory);
    const std::uint64_t kind = in.kind[at.slot].load(acquire);
    Allocation out;
    out.id = in.id[at.slot].load(acquire);
    out.address = in.address[at.slot].load(acquire);
    out.bytes = in.bytes[at.slot].load(acquire);
    out.memory = static_cast<trace::Memory>(kind & memory_mask);
    out.rewritten = (kind & rewritten_bit) != 0;
    out.readable = (kind & readable_bit) != 0;
    out.fills_card = (kind & fills_card_bit) != 0;
    out.kept_on_device = (kind & kept_on_device_bit) != 0;
    out.pooled = (kind & pooled_bit) != 0;
    out.holds_pointers = (kind & holds_pointers_bit) != 0;
    out.device = static_cast<std::uint32_t>(kind >> device_shift);
    out.context = static_cast<std::uint16_t>(kind >> context_shift);
    return out;
}

bool AllocationIndex::split(std::size_t directory) noexcept {
    const std::size_t leaves = leaf_count_.load(acquire);
    std::uint64_t fresh = 0;
    Leaf* const all = leaves_.load(acquire);
    if (free_leaves_ != 0) {
        fresh = free_leaves_ - 1;
        free_leaves_ = all[fresh].id[0].load(acquire);
    } else if (used_leaves_ < max_leaves) {
        fresh = used_leaves_++;
    } else {
        return false;
    }
    Leaf& to = all[fresh];
    to.count.store(0, release);
    std::size_t position = 0;
    if (leaves != 0) { // the upper half moves
        Leaf& from = leaf(directory);
        constexpr std::size_t half = leaf_capacity / 2;
        for (std::size_t i = half; i < leaf_capacity; ++i) {
            to.address[i - half].store(from.address[i].load(acquire), release);
            to.bytes[i - half].store(from.bytes[i].load(acquire), release);
            to.id[i - half].store(from.id[i].load(acquire), release);
            to.kind[i - half].store(from.kind[i].load(acquire), release);
        }
        to.count.store(leaf_capacity - half, release);
        from.count.store(half, release);
        position = directory + 1;
    }
    for (std::size_t i = leaves; i > position; --i) {
        first_of_[i].store(first_of_[i - 1].load(acquire), release);
        leaf_of_[i].store(leaf_of_[i - 1].load(acquire), release);
    }
    first_of_[position].store(to.address[0].load(acquire), release);
    leaf_of_[position].store(fresh, release);
    leaf_count_.store(leaves + 1, release);
    return true;
}

void AllocationIndex::put(Position at, const Allocation& allocation) noexcept {
    Leaf& in = leaf(at.directory);
    const std::size_t count = in.count.load(acquire);
    for (std::size_t i = count; i > at.slot; --i) {
        in.address[i].store(in.address[i - 1].load(acquire), release);
        in.bytes[i].store(in.bytes[i - 1].load(acquire), release);
        in.id[i].store(in.id[i - 1].load(acquire), release);
        in.kind[i].store(in.kind[i - 1].load(acquire), release);
    }
    in.address[at.slot].store(allocation.address, release);
    in.bytes[at.slot].store(allocation.bytes, release);
    in.id[at.slot].store(allocation.id, release);
    in.kind[at.slot].store(kind_of(allocation), release);
    in.count.store(count + 1, release);
    if (at.slot == 0)
        first_of_[at.directory].store(allocation.address, release);
    count_.fetch_add(1, std::memory_order_relaxed);
    if (allocation.memory == trace::Memory::managed)
        managed_count_.fetch_add(1, std::memory_order_relaxed);
    bytes_[static_cast<std::size_t>(allocation.memory) % kinds].fetch_add(allocation.bytes,
                                                                          std::memory_order_relaxed);
}

void AllocationIndex::remove(Position at) noexcept {
    Leaf& in = leaf(at.directory);
    count_.fetch_sub(1, std::memory_order_relaxed);
    const std::uint64_t memory = in.kind[at.slot].load(acquire) & memory_mask;
    if (memory == static_cast<std::uint64_t>(trace::Memory::managed))
        managed_count_.fetch_sub(1, std::memory_order_relaxed);
    bytes_[memory % kinds].fetch_sub(in.bytes[at.slot].load(acquire), std::memory_order_relaxed);
    const std::size_t count = in.count.load(acquire) - 1;
    for (std::size_t i = at.slot; i < count; ++i) {
        in.address[i].store(in.address[i + 1].load(acquire), release);
        in.bytes[i].store(in.bytes[i + 1].load(acquire), release);
        in.id[i].store(in.id[i + 1].load(acquire), release);
        in.kind[i].store(in.kind[i + 1].load(acquire), release);
    }
    in.count.store(count, release);
    if (count != 0) {
        first_of_[at.directory].store(in.address[0].load(acquire), release);
        return;
    }
    const std::uint64_t empty = leaf_of_[at.directory].load(acquire);
    in.id[0].store(free_leaves_, release);
    free_leaves_ = empty + 1;
    const std::size_t leaves = leaf_count_.load(acquire) - 1;
    for (std::size_t i = at.directory; i < leaves; ++i) {
        first_of_[i].store(first_of_[i + 1].load(acquire), release);
        leaf_of_[i].store(leaf_of_[i + 1].load(acquire), release);
    }
    leaf_count_.store(leaves, release);
}

std::size_t AllocationIndex::remove_overlapped(std::uint64_t first, std::uint64_t last, Allocation* out,
                                               std::size_t capacity) noexcept {
    for (std::size_t count = 0;; ++count) {
        const Position at = position_of(last - 1);
        if (at.directory == none)
            return count;
        const Allocation there = read(at);
        if (end_of(there.address, there.bytes) <= first)
            return count;
        if (count < capacity)
            out[count] = there;
        remove(at);
    }
}

std::size_t AllocationIndex::insert(const Allocation& allocation, Allocation* covered,
                                    std::size_t capacity) noexcept {
    bool full = false;
    std::size_t count = 0;
    {
        const Change change(*this);
        full = !prepare();
        if (!full) {
            const std::uint64_t last = end_of(allocation.address, allocation.bytes);
            count = remove_overlapped(allocation.address, last, covered, capacity);
            Position at = position_of(allocation.address);
            if (at.directory == none)
                at = {0, none}; // before the first
            const std::size_t leaves = leaf_count_.load(acquire);
            if (leaves == 0 || leaf(at.directory).count.load(acquire) == leaf_capacity) {
                full = !split(at.directory);
                if (leaves != 0 && !full && at.slot != none && at.slot + 1 > leaf_capacity / 2)
                    at = {at.directory + 1, at.slot - leaf_capacity / 2};
            }
            if (!full) {
                put({at.directory, at.slot + 1}, allocation);
                if (allocation.address < low_.load(std::memory_order_relaxed))
                    low_.store(allocation.address, std::memory_order_relaxed);
                if (last > high_.load(std::memory_order_relaxed))
                    high_.store(last, std::memory_order_relaxed);
            }
        }
    }
    if (full)
        record::reached(record::Bound::live_allocations);
    return count;
}

void AllocationIndex::widen(std::uint64_t low, std::uint64_t high) noexcept {
    const Change change(*this);
    if (!prepare()) // a look-up of an address in these bounds reads the leaves
        return;
    low_.store(std::min(low, low_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
    high_.store(std::max(high, high_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
}

bool AllocationIndex::erase(std::uint64_t address, Allocation& out) noexcept {
    if (!may_hold(address))
        return false;
    const record::Guard guard(mutex_);
    const Position at = position_of(address);
    if (at.directory == none)
        return false;
    const Allocation there = read(at); // the last one at the address or before it
    if (there.address != address)
        return false;
    out = there;
    const base::SeqLock::Change change(changes_);
    remove(at);
    return true;
}

void AllocationIndex::erase_all(std::uint64_t id) noexcept {
    const Change change(*this);
    for (std::size_t directory = 0; directory < leaf_count_.load(acquire);) {
        const std::size_t leaves = leaf_count_.load(acquire);
        std::size_t slot = 0;
        while (leaf_count_.load(acquire) == leaves && slot < leaf(directory).count.load(acquire))
            if (leaf(directory).id[slot].load(acquire) == id)
                remove({directory, slot});
            else
                ++slot;
        directory += leaf_count_.load(acquire) ==
                     leaves; // a leaf that became empty was removed, and the next one has its index
    }
}

std::size_t AllocationIndex::remove_range(std::uint64_t first, std::uint64_t last, Allocation* out,
                                          std::size_t capacity) noexcept {
    if (leaves_.load(acquire) == nullptr)
        return 0;
    const Change change(*this);
    std::size_t removed = 0;
    while (removed < capacity) {
        const Position at = position_of(last - 1);
        if (at.directory == none || read(at).address < first)
            break;
        out[removed++] = read(at);
        remove(at);
    }
    return removed;
}

std::size_t AllocationIndex::remove_context(std::uint16_t context, Allocation* out,
                                            std::size_t capacity) noexcept {
    if (leaves_.load(acquire) == nullptr)
        return 0;
    const Change change(*this);
    std::size_t removed = 0;
    // From the end, since a removal moves only the elements behind it.
    for (std::size_t directory = leaf_count_.load(acquire); directory-- != 0;)
        for (std::size_t slot = leaf(directory).count.load(acquire); slot-- != 0 && removed < capacity;) {
            const Allocation allocation = read({directory, slot});
            if (allocation.context != context)
                continue;
            out[removed++] = allocation;
            remove({directory, slot});
        }
    return removed;
}

void AllocationIndex::set_bit(std::uint64_t address, std::uint64_t bit, bool on) noexcept {
    const Change change(*this);
    const Position at = position_of(address);
    if (at.directory == none || read(at).address != address)
        return;
    Word& kind = leaf(at.directory).kind[at.slot];
    kind.store((kind.load(acquire) & ~bit) | (on ? bit : 0), release);
}

void AllocationIndex::set_kept_on_device(std::uint64_t address, bool kept) noexcept {
    set_bit(address, kept_on_device_bit, kept);
}

void AllocationIndex::set_holds_pointers(std::uint64_t address) noexcept {
    set_bit(address, holds_pointers_bit, true);
}

void AllocationIndex::visit_managed(void (*visit)(void*, const Allocation&), void* to) noexcept {
    const record::Guard guard(mutex_);
    const std::size_t leaves = leaf_count_.load(acquire);
    for (std::size_t directory = 0; directory < leaves; ++directory) {
        const std::size_t count = leaf(directory).count.load(acquire);
        for (std::size_t slot = 0; slot < count; ++slot) {
            const Allocation allocation = read({directory, slot});
            if (allocation.memory == trace::Memory::managed)
                visit(to, allocation);
        }
    }
}

} // namespace umadvisor::observe
