#include "interposer/record/chunk_memory.hpp"

#include "interposer/base/pages.hpp"
#include "interposer/base/small_file.hpp"
#include "interposer/record/clock.hpp"

#include <algorithm>
#include <cstring>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <unistd.h>

namespace umadvisor::record {

namespace {

/// So many slots are accessible at first, and so many are made accessible at a time. The others are not:
/// mlockall(2) with MCL_CURRENT would fill accessible ones with pages.
constexpr std::uint32_t slots_at_a_time = 64;

/// Numbers of slots that are tried. Each recording thread needs one, but a limit (kernel.shmmax) may forbid the
/// most.
constexpr std::uint32_t sizes[]{trace::most_slots, 512, slots_at_a_time};

/// Whether all that is mapped is locked from the start (mlockall(2), MCL_FUTURE).
bool locks_what_is_mapped() noexcept {
    const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const page = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return true; // not even a page can be mapped

    const bool locked = madvise(page, bytes, MADV_DONTNEED) != 0; // refused for locked pages alone
    munmap(page, bytes);
    return locked;
}

/// Whether the kernel never overcommits memory (proc(5), overcommit_memory 2), SHM_NORESERVE or not.
bool is_overcommit_off() noexcept {
    base::SmallFile<4> answer;
    return answer.read("/proc/sys/vm/overcommit_memory") && answer.view().starts_with('2');
}

/// Few slots if the program is short of address space, locked memory or committed memory.
std::uint32_t most_slots() noexcept {
    rlimit limit{};
    const bool limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return limited || locks_what_is_mapped() || is_overcommit_off() ? slots_at_a_time : trace::most_slots;
}

} // namespace

bool ChunkMemory::map(std::uint32_t slots) noexcept {
    bytes_ = trace::segment_bytes(slots);
    // Pages cost nothing until they are touched, and are not reserved.
    id_ = shmget(IPC_PRIVATE, bytes_, IPC_CREAT | IPC_EXCL | SHM_NORESERVE | 0600);
    if (id_ < 0)
        return false;
    void* const failed = reinterpret_cast<void*>(-1);
    void* at =
        base_ != nullptr ? shmat(id_, base_, SHM_REMAP) : shmat(id_, base::distant_address(bytes_), SHM_RND);
    if (at == failed && base_ == nullptr)
        at = shmat(id_, nullptr, 0);
    if (at == failed) {
        shmctl(id_, IPC_RMID, nullptr);
        id_ = -1;
        return false;
    }
    if (base_ == nullptr) // else other threads read it
        base_ = static_cast<std::uint8_t*>(at);
    return true;
}

bool ChunkMemory::map_private(std::uint32_t slots) noexcept {
    bytes_ = trace::segment_bytes(slots);
    void* const where = base_ != nullptr ? base_ : base::distant_address(bytes_);
    void* const at =
        mmap(where, bytes_, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (base_ != nullptr ? MAP_FIXED : 0), -1, 0);
    if (at == MAP_FAILED)
        return false;
    if (base_ == nullptr) // else other threads read it
        base_ = static_cast<std::uint8_t*>(at);
    return true;
}

/// Settles what new memory must not cost the program.
void ChunkMemory::keep_to_itself() noexcept {
    madvise(base_, bytes_, MADV_DONTDUMP); // core files are to hold the program's memory only
    munlock(base_, bytes_);                // leaves RLIMIT_MEMLOCK to the program
    open_ = std::max(open_, slots_at_a_time);
    if (open_ < slots_ &&
        mprotect(chunk_in(open_), std::size_t{slots_ - open_} * trace::chunk_bytes, PROT_NONE) != 0)
        open_ = slots_;
}

bool ChunkMemory::create_private() noexcept {
    id_ = -1;
    if (base_ != nullptr) {
        if (!map_private(slots_))
            return false;
    } else {
        const std::uint32_t most = most_slots();
        for (const std::uint32_t slots : sizes)
            if (slots <= most && map_private(slots_ = slots))
                break;
        if (base_ == nullptr)
            return false;
    }
    keep_to_itself();
    return true;
}

bool ChunkMemory::create(dev_t device, ino_t inode) noexcept {
    const std::uint32_t most = most_slots();
    if (base_ != nullptr) {
        if (!map(slots_) && !map_private(slots_))
            return false;
    } else {
        for (const std::uint32_t slots : sizes)
            if (slots <= most && map(slots_ = slots))
                break;
        if (base_ == nullptr && !create_private())
            return false;
    }
    keep_to_itself();
    trace::Segment& head = *segment();
    if (getrandom(&head.cookie, sizeof head.cookie, GRND_NONBLOCK) != sizeof head.cookie)
        head.cookie = {realtime_nanoseconds(), monotonic_nanoseconds() ^ static_cast<std::uint64_t>(getpid())
                                                                             << 32};
    head.device = device;
    head.inode = inode;
    head.slots = slots_;
    head.magic = trace::segment_magic;
    return true;
}

bool ChunkMemory::let_go() noexcept {
    // It fails in another IPC namespace (unshare(2)), or as another user.
    if (id_ >= 0 && shmctl(id_, IPC_RMID, nullptr) != 0)
        return false;
    id_ = -1;
    return true;
}

void ChunkMemory::forget() noexcept {
    id_ = -1;
    if (base_ == nullptr)
        return;
    // Not shmdt(2): code that still has an address in it must find memory there, at every moment. But without
    // memory (RLIMIT_AS) it is detached, since the child must not write to its parent's memory.
    if (mmap(base_, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
        MAP_FAILED)
        shmdt(base_);
    else
        mprotect(base_, trace::segment_bytes(open_), PROT_READ | PROT_WRITE);
}

trace::SegmentName ChunkMemory::name() const noexcept {
    if (id_ < 0)
        return {};
    return {.cookie = segment()->cookie, .bytes = bytes_, .id = id_, .reserved = 0};
}

/// Makes the next slot that was never used accessible, if it is not.
bool ChunkMemory::open_more() noexcept {
    if (fresh_ < open_)
        return true;
    const std::uint32_t more = std::min(slots_at_a_time, slots_ - open_);
    if (mprotect(chunk_in(open_), std::size_t{more} * trace::chunk_bytes, PROT_READ | PROT_WRITE) != 0)
        return false;
    open_ += more;
    return true;
}

std::uint8_t* ChunkMemory::take(std::uint32_t chunk) noexcept {
    if (free_count_ == 0 && (fresh_ == slots_ || !open_more()))
        return nullptr;
    const std::uint32_t slot = free_count_ != 0 ? free_[--free_count_] : fresh_++;
    std::uint8_t* const memory = chunk_in(slot);
    // Ordered after give_back() has marked the slot free: a reader that copies a chunk checks its number
    // afterwards.
    std::atomic_thread_fence(std::memory_order_release);
    std::memset(memory, 0, sizeof(trace::ChunkHeader));
    // After the header was zeroed: a reader that finds the number does not find the former chunk.
    owners()[slot].store(chunk + 1, std::memory_order_release);
    return memory;
}

void ChunkMemory::give_back(std::uint32_t slot) noexcept {
    owners()[slot].store(0, std::memory_order_release); // after the chunk was written to the file
    free_[free_count_++] = static_cast<std::uint16_t>(slot);
}

} // namespace umadvisor::record
