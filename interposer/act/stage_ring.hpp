/// Pinned buffers that staged copies pass through, a ring for each context, and the threads that fill and empty
/// them.
#pragma once

#include "interposer/attach/entries.hpp"
#include "interposer/record/lock_check.hpp"
#include "policy/stage_plan.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pthread.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace umadvisor::act {

namespace detail {

inline constexpr std::size_t cache_line = 64;

#ifdef __x86_64__
/// One thread that reads 16 bytes at a time has too few cache lines in flight from memory. Wider reads, or
/// software prefetches, move half as much again.
__attribute__((target("avx512f"))) inline void stream_lines_wide(char* to, const char* from,
                                                                 std::size_t lines) noexcept {
    for (; lines != 0; --lines, to += cache_line, from += cache_line)
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
    _mm_sfence();
}

inline void stream_lines(char* to, const char* from, std::size_t lines) noexcept {
    constexpr std::size_t ahead = 2048; // also the next page's translation
    for (; lines != 0; --lines, to += cache_line, from += cache_line) {
        _mm_prefetch(from + ahead, _MM_HINT_T0);
        __m128i words[4];
        for (int i = 0; i < 4; ++i)
            words[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from) + i);
        for (int i = 0; i < 4; ++i)
            _mm_stream_si128(reinterpret_cast<__m128i*>(to) + i, words[i]);
    }
    _mm_sfence();
}
#endif

} // namespace detail

/// memcpy with stores that bypass the caches: lines are not read before they are written. The caches could
/// not hold a larger copy in any case. The stores are fenced (Intel 64 and IA-32
/// Architectures Software Developer's Manual, volume 1, 10.4.6.2), so other threads see them with the usual
/// synchronisation.
inline void copy_past_caches(char* to, const char* from, std::size_t bytes) noexcept {
#ifdef __x86_64__
    using detail::cache_line;
    const std::size_t head = (cache_line - reinterpret_cast<std::uintptr_t>(to) % cache_line) % cache_line;
    if (bytes >= head + cache_line) {
        std::memcpy(to, from, head);
        const std::size_t lines = (bytes - head) / cache_line, done = head + lines * cache_line;
        if (__builtin_cpu_supports("avx512f"))
            detail::stream_lines_wide(to + head, from + head, lines);
        else
            detail::stream_lines(to + head, from + head, lines);
        to += done, from += done, bytes -= done;
    }
#endif
    std::memcpy(to, from, bytes);
}

/// A copy that the threads share, slice by slice; without `from`, new memory that they touch; or a comparison.
/// It belongs to the pool between put() and wait().
struct StageJob {
    char* to;
    const char* from;
    std::size_t bytes; ///< that move, more than 0
    policy::StageManner manner{policy::stage_threads,
                               true};         ///< its threads: all of the pool or stage_few_threads
    std::size_t width = 0;                    ///< bytes of a row; 0: both ends are in one piece
    std::size_t to_pitch = 0, from_pitch = 0; ///< bytes from row to row
    bool compares = false;                    ///< both ends, in one piece, and changes neither
    bool differs = false;                     ///< the ends do; set before wait() returns
    std::size_t claimed = 0;                  ///< bytes that threads have claimed; exceeds `bytes` once all are
    unsigned users = 0; ///< threads that copy slices of it, plus 1 while it is in the pool's list
    StageJob* next = nullptr;
};

/// The threads sleep while there is no job, except that they spin for 50 us after one, and end with the
/// program. They block all signals but those of faults: a program that guards its pages handles an access of
/// ours as it would one of the driver's. A thread that waits works on jobs, too, so a copy is finished even if
/// no pool thread gets to run. Thread-safe.
class StagePool {
public:
    constexpr StagePool() noexcept = default;
    StagePool(const StagePool&) = delete;
    StagePool& operator=(const StagePool&) = delete;

    /// Up to `threads`; false where not a single one could be started. Not twice.
    bool start(unsigned threads) noexcept;

    /// A job is about to be put. Wakes the threads now, since that takes as long as a piece's transfer from the
    /// device.
    void rouse() noexcept;

    /// Jobs are begun in the order in which they were put. The memory at both ends is in use until wait() has
    /// returned, or finished() was true.
    void put(StageJob& job) noexcept;
    bool finished(const StageJob& job) noexcept;
    void wait(StageJob& job) noexcept;

private:
    static void serve(void* pool) noexcept;
    static void end(void* pool) noexcept;
    bool sleep_a_while(pthread_cond_t& work) noexcept;
    void work_on_first() noexcept;
    void release(StageJob& job) noexcept;
    void wake(const StageJob& job) noexcept;
    void set_first(StageJob* job) noexcept;
    void lock() noexcept {
        level_.assert_order();
        pthread_mutex_lock(&mutex_);
        level_.take();
    }
    void unlock() noexcept {
        level_.give_back();
        pthread_mutex_unlock(&mutex_);
    }

    /// Adaptive: the lock is held for moments only, so a thread that finds it locked spins before it sleeps.
    pthread_mutex_t mutex_ = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
    pthread_cond_t work_ = PTHREAD_COND_INITIALIZER;         ///< for the few threads that work on all jobs
    pthread_cond_t work_for_all_ = PTHREAD_COND_INITIALIZER; ///< for the others
    pthread_cond_t done_ = PTHREAD_COND_INITIALIZER;
    [[no_unique_address]] record::LockLevel level_{record::Lock::actions};
    unsigned served_by_ = 0;    ///< threads
    bool ending_ = false;       ///< as soon as no job is under way
    StageJob* first_ = nullptr; ///< of the jobs that no thread has found to be claimed completely
    StageJob* last_ = nullptr;
};

struct StageBuffer {
    char* at;       ///< pinned
    CUevent passed; ///< the device is done with it
    bool in_flight; ///< `passed` was recorded and has not been seen yet
    StageJob job;   ///< between the program's memory and `at`
};

/// Serves one copy at a time.
struct StageRing {
    StageBuffer buffers[policy::stage_buffers];
    std::size_t buffer_bytes; ///< of each
    std::uint64_t passed;     ///< bytes, since the ring was made or grown
    CUcontext context;
    std::uint64_t node;   ///< the NUMA node for its memory, plus 1
    std::uint16_t number; ///< of the context (contexts.hpp); 0: free
    bool lent;
};

/// Bytes that are expected to pass in this run, by what an earlier run recorded: rings that would grow are made
/// large at once. Called before the first copy.
void expect_to_pass(std::uint64_t bytes) noexcept;

/// The ring of `context`, which is current. It is made at the first call, and grown once much has passed it or
/// if rows of `row` bytes need it. Null with `answer` CUDA_SUCCESS: another copy uses it, all rings belong to
/// other contexts, or rows do not fit. Null with another answer: the driver refused.
StageRing* borrow_ring(CUcontext context, std::uint64_t row, CUresult& answer) noexcept;
void return_ring(StageRing& ring) noexcept;

/// The context has been destroyed, and what was made in it.
void forget_ring(std::uint16_t context_number) noexcept;

/// Calls to the kernel about NUMA nodes, which tests replace. Memory that the driver allocates for a thread is
/// on the NUMA node of that thread's CPU. The link between nodes is slower than the link to the device, so our
/// buffers are allocated on the device's node.
struct NodeCalls {
    const char* root; ///< files are read below it
    /// get_mempolicy(2) and set_mempolicy(2) of the calling thread.
    long (*get_policy)(int* mode, unsigned long* nodes, unsigned long bits);
    long (*set_policy)(int mode, const unsigned long* nodes, unsigned long bits);
};
extern constinit NodeCalls node_calls;

/// The host's node nearest to the current context's device, plus 1; 0: not known, or the host has only one
/// node, and then the driver is not asked. Calls open(2), a cancellation point, and changes errno.
std::uint64_t nearest_node() noexcept;

/// While it lives, memory for the calling thread is allocated on `node` (plus 1; 0: no effect) as long as that
/// has free memory. The destructor restores the thread's own memory policy. It has no effect if the kernel
/// refuses, as sandboxes do. Changes errno.
class NearNode {
public:
    explicit NearNode(std::uint64_t node) noexcept;
    ~NearNode();
    NearNode(const NearNode&) = delete;
    NearNode& operator=(const NearNode&) = delete;

private:
    static constexpr std::size_t most_nodes = 1024; ///< the most that Linux can be built for
    static constexpr std::size_t word_bits = 8 * sizeof(unsigned long);
    using Nodes = unsigned long[most_nodes / word_bits];

    int former_mode_ = 0;
    Nodes former_nodes_{};
    bool changed_ = false;
};

} // namespace umadvisor::act
