#include "interposer/act/stage_ring.hpp"

#include "interposer/attach/real.hpp"
#include "interposer/base/small_file.hpp"
#include "interposer/observe/contexts.hpp"
#include "interposer/observe/host_nodes.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/confined.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/runtime/own_thread.hpp"
#include "residency/prices.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace umadvisor::act {

namespace {

/// How long a thread spins before it sleeps: to wake it takes a quarter of the time in which a buffer passes.
constexpr std::uint64_t spin_time = 5 * residency::decision_prices.thread_wake;

/// Whether `happened()` becomes true within `spin_time`.
template <class Happened>
bool spin(Happened&& happened) noexcept {
    for (const std::uint64_t until = record::monotonic_nanoseconds() + spin_time;;) {
        for (int i = 0; i < 64; ++i) {
            if (happened())
                return true;
#ifdef __x86_64__
            __builtin_ia32_pause();
#endif
        }
        if (record::monotonic_nanoseconds() > until)
            return false;
    }
}

} // namespace

bool StagePool::start(unsigned threads) noexcept {
    const runtime::OwnThread server{&serve, &end, "umadvisor-stage", this, runtime::Faults::unblocked};
    unsigned started = 0;
    while (started < threads && !record::is_confined() && runtime::start_own_thread(server))
        ++started;
    return started != 0;
}

void StagePool::put(StageJob& job) noexcept {
    job.claimed = 0;
    job.users = 1;
    job.next = nullptr;
    lock();
    if (first_ == nullptr)
        set_first(&job);
    else
        last_->next = &job;
    last_ = &job;
    wake(job);
    unlock();
}

/// Atomic, since serve() reads it without the lock.
void StagePool::set_first(StageJob* job) noexcept {
    std::atomic_ref(first_).store(job);
}

void StagePool::wake(const StageJob& job) noexcept {
    pthread_cond_broadcast(&work_);
    if (job.manner.threads > policy::stage_few_threads)
        pthread_cond_broadcast(&work_for_all_);
}

void StagePool::rouse() noexcept {
    lock();
    pthread_cond_broadcast(&work_);
    unlock();
}

void StagePool::end(void* pool) noexcept {
    auto& self = *static_cast<StagePool*>(pool);
    self.lock();
    self.ending_ = true;
    pthread_cond_broadcast(&self.work_);
    pthread_cond_broadcast(&self.work_for_all_);
    self.unlock();
}

bool StagePool::finished(const StageJob& job) noexcept {
    return std::atomic_ref(const_cast<unsigned&>(job.users)).load() == 0;
}

void StagePool::wait(StageJob& job) noexcept {
    // Works on the first job, which may be an earlier one, but not on later jobs, which would delay the caller.
    lock();
    while (first_ != nullptr && std::atomic_ref(job.claimed).load() < job.bytes)
        work_on_first();
    unlock();
    if (spin([&] { return finished(job); }))
        return;
    lock();
    while (!finished(job))
        pthread_cond_wait(&done_, &mutex_);
    unlock();
}

namespace {

constexpr std::size_t touched_slice_bytes = std::size_t{2} << 20;

/// Has the kernel map pages of zeros, all in one call where it can (Linux 5.14).
void touch(char* memory, std::size_t bytes) noexcept {
    constexpr int populate_write = 23; // MADV_POPULATE_WRITE, which older headers lack
    if (madvise(memory, bytes, populate_write) == 0)
        return;
    constexpr std::size_t smallest_page = 4096;
    for (std::size_t at = 0; at < bytes; at += smallest_page)
        *const_cast<volatile char*>(memory + at) = 0;
}

/// Once a slice differs, others are not looked at.
void compare_part(StageJob& job, std::size_t offset, std::size_t bytes) noexcept {
    const std::atomic_ref differs(job.differs);
    if (!differs.load(std::memory_order_relaxed) && std::memcmp(job.to + offset, job.from + offset, bytes) != 0)
        differs.store(true, std::memory_order_relaxed);
}

/// Bytes [offset, offset + bytes) of those that move, or are compared.
void copy_part(StageJob& job, std::size_t offset, std::size_t bytes) noexcept {
    if (job.from == nullptr)
        return touch(job.to + offset, bytes);
    if (job.compares)
        return compare_part(job, offset, bytes);
    const auto copy = job.manner.past_caches ? &copy_past_caches
                                             : [](char* to, const char* from, std::size_t length) noexcept {
                                                   std::memcpy(to, from, length);
                                               };
    if (job.width == 0)
        return copy(job.to + offset, job.from + offset, bytes);
    while (bytes != 0) {
        const std::size_t row = offset / job.width, at = offset % job.width;
        const std::size_t length = std::min(bytes, job.width - at);
        copy(job.to + row * job.to_pitch + at, job.from + row * job.from_pitch + at, length);
        offset += length;
        bytes -= length;
    }
}

} // namespace

/// Copies slices of the first job until all are claimed. Called with the lock, which is not held during the
/// copies: an access to the program's memory may run the program's own code.
void StagePool::work_on_first() noexcept {
    StageJob& job = *first_;
    const std::size_t slice = job.from != nullptr ? policy::stage_slice_bytes : touched_slice_bytes;
    std::atomic_ref(job.users).fetch_add(1);
    unlock();
    for (std::size_t offset; (offset = std::atomic_ref(job.claimed).fetch_add(slice)) < job.bytes;)
        copy_part(job, offset, std::min(slice, job.bytes - offset));
    lock();
    if (first_ == &job) {
        set_first(job.next);
        if (first_ != nullptr)
            wake(*first_);
        release(job);
    }
    release(job);
}

/// The job may be destroyed once its last user has released it.
void StagePool::release(StageJob& job) noexcept {
    if (std::atomic_ref(job.users).fetch_sub(1) == 1)
        pthread_cond_broadcast(&done_);
}

void StagePool::serve(void* pool) noexcept {
    auto& self = *static_cast<StagePool*>(pool);
    self.lock();
    const unsigned number = self.served_by_++;
    pthread_cond_t& work = number < policy::stage_few_threads ? self.work_ : self.work_for_all_;
    for (bool worked = false; !self.ending_;) {
        if (self.first_ != nullptr && number < self.first_->manner.threads) {
            self.work_on_first();
            worked = true;
        } else if (self.first_ == nullptr && worked) { // the next job of a copy comes soon
            self.unlock();
            worked = spin([&] { return std::atomic_ref(self.first_).load() != nullptr; });
            self.lock();
        } else if (number != 0) {
            pthread_cond_wait(&work, &self.mutex_);
            worked = true; // a job was put, so spin before the next sleep
        } else {
            worked = self.sleep_a_while(work);
        }
    }
    self.unlock();
}

/// Of the first thread alone, which looks whether the program is over. Returns whether it was woken.
bool StagePool::sleep_a_while(pthread_cond_t& work) noexcept {
    const timespec end = runtime::end_of_sleep(runtime::longest_sleep);
    if (pthread_cond_clockwait(&work, &mutex_, CLOCK_MONOTONIC, &end) == 0)
        return true;
    unlock();
    runtime::end_if_program_is_over();
    lock();
    return false;
}

namespace {

using attach::Entry;
using attach::real;

record::Mutex rings_mutex{record::Lock::actions};
constinit StageRing rings[policy::stage_rings]{}; ///< memory is freed with the contexts alone
constinit bool expected_to_grow = false;          ///< every ring

constexpr unsigned long one_more = 1; ///< the kernel reads one bit less than the number passed to it

/// The file holds a list such as "0", "0-1" or "0,8".
bool has_several_nodes() {
    char path[512];
    std::snprintf(path, sizeof path, "%s/sys/devices/system/node/online", node_calls.root);
    const record::OffStack<base::SmallFile<>> file;
    base::SmallFile<>& list = *file;
    return list.read(path) && list.view().find_first_of(",-") != std::string_view::npos;
}

void unmake(StageRing& ring) {
    for (StageBuffer& buffer : ring.buffers)
        if (buffer.passed != nullptr)
            real<Entry::cuEventDestroy_v2>()(buffer.passed);
    if (ring.buffers[0].at != nullptr)
        real<Entry::cuMemFreeHost>()(ring.buffers[0].at);
    std::fill(std::begin(ring.buffers), std::end(ring.buffers), StageBuffer{});
}

/// Allocates the ring's memory. The memory that it had before is not freed: transfers may still use it.
CUresult pin(StageRing& ring, std::size_t buffer_bytes) {
    void* memory = nullptr;
    const NearNode near(ring.node);
    const CUresult answer =
        real<Entry::cuMemHostAlloc>()(&memory, policy::stage_buffers * buffer_bytes, CU_MEMHOSTALLOC_PORTABLE);
    if (answer != CUDA_SUCCESS)
        return answer;
    auto* at = static_cast<char*>(memory);
    for (StageBuffer& buffer : ring.buffers) {
        buffer.at = at;
        buffer.in_flight = false;
        at += buffer_bytes;
    }
    ring.buffer_bytes = buffer_bytes;
    return CUDA_SUCCESS;
}

CUresult make(StageRing& ring) {
    std::fill(std::begin(ring.buffers), std::end(ring.buffers), StageBuffer{}); // of a context that is gone
    ring.passed = 0;
    ring.node = nearest_node();
    CUresult answer =
        pin(ring, expected_to_grow ? policy::stage_buffer_bytes : policy::stage_first_buffer_bytes);
    if (answer != CUDA_SUCCESS && expected_to_grow)
        answer = pin(ring, policy::stage_first_buffer_bytes);
    if (answer != CUDA_SUCCESS)
        return answer;
    for (StageBuffer& buffer : ring.buffers) {
        answer = real<Entry::cuEventCreate>()(&buffer.passed, CU_EVENT_DISABLE_TIMING);
        if (answer != CUDA_SUCCESS) {
            buffer.passed = nullptr;
            unmake(ring);
            return answer;
        }
    }
    return CUDA_SUCCESS;
}

/// If the driver has no more memory, later copies use the ring as it is.
void grow(StageRing& ring, std::uint64_t row) {
    const bool earned = ring.passed >= policy::stage_grown_after;
    if (ring.buffer_bytes == policy::stage_buffer_bytes || (!earned && row <= ring.buffer_bytes))
        return;
    ring.passed = 0;
    pin(ring, policy::stage_buffer_bytes);
}

/// The context's ring, or else a free one.
StageRing* find(CUcontext context, std::uint16_t number) {
    StageRing* found = nullptr;
    for (StageRing& ring : rings) {
        if (ring.number == number && ring.context == context)
            return &ring;
        if (ring.number == 0 && found == nullptr)
            found = &ring;
    }
    return found;
}

} // namespace

void expect_to_pass(std::uint64_t bytes) noexcept {
    expected_to_grow = bytes >= policy::stage_grown_after;
}

StageRing* borrow_ring(CUcontext context, std::uint64_t row, CUresult& answer) noexcept {
    answer = CUDA_SUCCESS;
    const std::uint16_t number = observe::context_number(context);
    if (number == 0)
        return nullptr;
    StageRing* ring = nullptr;
    bool fresh = false;
    {
        const record::Guard guard(rings_mutex);
        ring = find(context, number);
        if (ring == nullptr || ring->lent)
            return nullptr;
        fresh = ring->number == 0;
        ring->context = context;
        ring->number = number;
        ring->lent = true;
    }
    if (fresh)
        answer = make(*ring);
    if (answer == CUDA_SUCCESS)
        grow(*ring, row);
    if (answer == CUDA_SUCCESS && row <= ring->buffer_bytes)
        return ring;
    const record::Guard guard(rings_mutex);
    if (answer != CUDA_SUCCESS)
        ring->number = 0;
    ring->lent = false;
    return nullptr;
}

void return_ring(StageRing& ring) noexcept {
    const record::Guard guard(rings_mutex);
    ring.lent = false;
}

void forget_ring(std::uint16_t context_number) noexcept {
    const record::Guard guard(rings_mutex);
    for (StageRing& ring : rings)
        if (context_number != 0 && ring.number == context_number) {
            ring.number = 0;
            ring.lent = false;
        }
}

constinit NodeCalls node_calls{
    "",
    [](int* mode, unsigned long* nodes, unsigned long bits) {
        constexpr void* of_the_thread = nullptr;
        return syscall(SYS_get_mempolicy, mode, nodes, bits, of_the_thread, 0ul);
    },
    [](int mode, const unsigned long* nodes, unsigned long bits) {
        return syscall(SYS_set_mempolicy, mode, nodes, bits);
    },
};

std::uint64_t nearest_node() noexcept {
    CUdevice device = 0;
    return has_several_nodes() && !record::is_confined() &&
                   real<Entry::cuCtxGetDevice>()(&device) == CUDA_SUCCESS
               ? observe::node_of_device(device)
               : 0;
}

NearNode::NearNode(std::uint64_t node) noexcept {
    if (node == 0 || node > most_nodes ||
        node_calls.get_policy(&former_mode_, former_nodes_, most_nodes + one_more) != 0)
        return;
    Nodes nodes{};
    nodes[(node - 1) / word_bits] = 1ul << (node - 1) % word_bits;
    changed_ = node_calls.set_policy(MPOL_PREFERRED, nodes, most_nodes + one_more) == 0;
}

NearNode::~NearNode() {
    if (changed_)
        node_calls.set_policy(former_mode_, former_nodes_, most_nodes + one_more);
}

} // namespace umadvisor::act
