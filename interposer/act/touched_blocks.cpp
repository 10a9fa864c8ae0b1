#include "interposer/act/touched_blocks.hpp"

#include "interposer/act/cores.hpp"
#include "interposer/act/host.hpp"
#include "interposer/act/stage_ring.hpp"
#include "interposer/attach/real.hpp"
#include "interposer/observe/contexts.hpp"
#include "interposer/observe/host_nodes.hpp"
#include "interposer/record/mutex.hpp"

#include <algorithm>
#include <iterator>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace umadvisor::act {

namespace {

using attach::Entry;
using attach::real;

constexpr std::size_t least_bytes = std::size_t{64} << 20;
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr unsigned most_threads = 16;
constexpr unsigned long most_nodes = 1024;

struct Block {
    std::uint64_t address = 0; ///< 0: the entry is unused
    std::uint64_t bytes = 0;
    std::uint16_t context = 0; ///< number
};

record::Mutex mutex{record::Lock::actions}; ///< guards what follows
constinit Block blocks[64];
constinit StagePool threads;
constinit bool threads_run = false;
constinit pid_t owner = 0; ///< the process that has the threads and the blocks; 0: none yet

/// Whether threads can touch memory for this process. Starts them at the first call.
bool can_touch() {
    const record::Guard guard(mutex);
    if (owner == 0) {
        owner = getpid();
        const unsigned cores = std::min(usable_cores(), most_threads);
        threads_run = cores > 1 && threads.start(cores - 1); // the calling thread is the last one
    }
    return threads_run && owner == getpid();
}

Block* find(std::uint64_t address) {
    const auto found = std::ranges::find(blocks, address, &Block::address);
    return address != 0 && owner == getpid() && found != std::end(blocks) ? found : nullptr;
}

bool enter(const Block& block) {
    const record::Guard guard(mutex);
    const auto unused = std::ranges::find(blocks, 0u, &Block::address);
    if (unused == std::end(blocks))
        return false;
    *unused = block;
    return true;
}

/// Pages are those of the node of the thread that asks, whoever touches them (mbind(2)).
void prefer_own_node(void* memory, std::size_t bytes) {
    const std::uint64_t node = observe::node_of_thread();
    if (node == 0 || node > most_nodes)
        return;
    constexpr unsigned long bits = 8 * sizeof(unsigned long);
    unsigned long mask[most_nodes / bits] = {};
    mask[(node - 1) / bits] = 1ul << (node - 1) % bits;
    syscall(SYS_mbind, memory, bytes, MPOL_PREFERRED, mask, most_nodes, 0);
}

/// Null: there is no memory.
char* map(std::size_t bytes) {
    const std::size_t more = bytes + huge_page;
    void* const all = mmap(nullptr, more, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        return nullptr;
    char* const first = static_cast<char*>(all);
    const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(all) % huge_page) % huge_page;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t used = (bytes + page - 1) / page * page;
    if (before != 0)
        munmap(first, before);
    munmap(first + before + used, more - before - used);
    madvise(first + before, used, MADV_HUGEPAGE);
    prefer_own_node(first + before, used);
    return first + before;
}

/// Flags of cuMemHostRegister that make memory what flags of cuMemHostAlloc do. False: there are none.
bool registering(std::uint64_t flags, unsigned& to) {
    to = ((flags & CU_MEMHOSTALLOC_PORTABLE) != 0 ? CU_MEMHOSTREGISTER_PORTABLE : 0) |
         ((flags & CU_MEMHOSTALLOC_DEVICEMAP) != 0 ? CU_MEMHOSTREGISTER_DEVICEMAP : 0);
    return (flags & ~std::uint64_t{CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP}) == 0;
}

} // namespace

bool make_touched(const HostAllocationScope& asked) noexcept {
    unsigned flags = 0;
    if (asked.bytes < least_bytes || !registering(asked.record.flags, flags) || !can_touch() ||
        free_host_memory() < asked.bytes + asked.bytes / 4)
        return false;
    char* const memory = map(asked.bytes);
    if (memory == nullptr)
        return false;
    StageJob job{.to = memory, .from = nullptr, .bytes = asked.bytes, .manner = {most_threads, false}};
    threads.put(job);
    threads.wait(job);
    const Block block{reinterpret_cast<std::uint64_t>(memory), asked.bytes, observe::current_context_number()};
    if (real<Entry::cuMemHostRegister_v2>()(memory, asked.bytes, flags) == CUDA_SUCCESS) {
        if (enter(block)) {
            *asked.out = memory;
            return true;
        }
        real<Entry::cuMemHostUnregister>()(memory);
    }
    munmap(memory, asked.bytes);
    return false;
}

bool is_touched(std::uint64_t address) noexcept {
    const record::Guard guard(mutex);
    return find(address) != nullptr;
}

CUresult free_touched(std::uint64_t address) noexcept {
    const CUresult answer = real<Entry::cuMemHostUnregister>()(reinterpret_cast<void*>(address));
    if (answer != CUDA_SUCCESS)
        return answer;
    Block freed;
    {
        const record::Guard guard(mutex);
        if (Block* const block = find(address)) {
            freed = *block;
            *block = {};
        }
    }
    munmap(reinterpret_cast<void*>(freed.address), freed.bytes);
    return CUDA_SUCCESS;
}

void forget_touched(std::uint16_t context_number) noexcept {
    for (;;) {
        Block gone;
        {
            const record::Guard guard(mutex);
            const auto found = std::ranges::find(blocks, context_number, &Block::context);
            if (owner != getpid() || context_number == 0 || found == std::end(blocks))
                return;
            gone = *found;
            *found = {};
        }
        munmap(reinterpret_cast<void*>(gone.address), gone.bytes);
    }
}

} // namespace umadvisor::act
