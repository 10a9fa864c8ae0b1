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
/// One thread that reads 16 bytes at a time keeps too few lines on their way from memory: wider reads move half
/// as much again, and so does asking for lines before they are read.
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

/// memcpy whose stores go past the caches: what is written is not read first, and of a copy that is larger than
/// they are nothing stays. Other threads see it after whatever orders their accesses (Intel 64 and IA-32
/// Architectures Software Developer's Manual, volume 1, 10.4.6.2: the stores are fenced).
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

/// A copy that the threads share, slice by slice. The pool's between put() and wait().
struct StageJob {
    char* to;
    const char* from;
    std::size_t bytes; ///< that move, more than 0
    policy::StageManner manner{policy::stage_threads,
                               true};         ///< its threads: all of the pool, or stage_few_threads
    std::size_t width = 0;                    ///< bytes of a row; 0: both ends are in one piece
    std::size_t to_pitch = 0, from_pitch = 0; ///< bytes from row to row
    std::size_t taken = 0;                    ///< bytes, and more as soon as nothing is left
    unsigned users = 0; ///< threads that copy slices of it, and one while it is in the pool's list
    StageJob* next = nullptr;
};

/// The threads sleep while there is nothing to do (for 50 us after a job they wait awake), never end, and take
/// no signals but those of faults: a program that guards its pages serves a touch of ours as it would one of
/// the driver's. Whoever waits takes part, so a copy is finished also where no thread gets to run. Thread-safe.
class StagePool {
public:
    constexpr StagePool() noexcept = default;
    StagePool(const StagePool&) = delete;
    StagePool& operator=(const StagePool&) = delete;

    /// Up to `threads`; false where not a single one could be started. Not twice.
    bool start(unsigned threads) noexcept;

    /// A job is about to be put: the threads that sleep take as long to wake as a piece takes to come from the
    /// device.
    void rouse() noexcept;

    /// Jobs are begun in the order in which they were put. The memory at both ends is in use until wait() has
    /// returned, or finished() was true.
    void put(StageJob& job) noexcept;
    bool finished(const StageJob& job) noexcept;
    void wait(StageJob& job) noexcept;

private:
    static void* serve(void* pool) noexcept;
    void take_part() noexcept;
    void leave(StageJob& job) noexcept;
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

    /// Held for a moment only: who meets another there does not sleep at once.
    pthread_mutex_t mutex_ = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
    pthread_cond_t work_ = PTHREAD_COND_INITIALIZER;         ///< for the few that take part in all jobs
    pthread_cond_t work_for_all_ = PTHREAD_COND_INITIALIZER; ///< for the others
    pthread_cond_t done_ = PTHREAD_COND_INITIALIZER;
    [[no_unique_address]] record::LockLevel level_{record::Lock::actions};
    unsigned served_by_ = 0;    ///< threads
    StageJob* first_ = nullptr; ///< of those of which nobody has found yet that all is taken
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
    std::uint64_t passed;     ///< bytes, since it was made or was to grow
    CUcontext context;
    std::uint64_t node;   ///< that its memory is to lie on
    std::uint16_t number; ///< of the context (contexts.hpp); 0: free
    bool lent;
};

/// Bytes that will pass in this run, as far as an earlier one tells: rings that would grow are made large at
/// once. Before the first copy.
void expect_to_pass(std::uint64_t bytes) noexcept;

/// The ring of `context`, which is current; made at first, and larger once much has passed it or where rows of
/// `row` bytes need it. Null: it is in use by another copy, or every one is another context's, or rows do not
/// fit (`answer` is CUDA_SUCCESS), or the driver refused (its answer).
StageRing* borrow_ring(CUcontext context, std::uint64_t row, CUresult& answer) noexcept;
void return_ring(StageRing& ring) noexcept;

/// The context is gone, and what was made in it.
void forget_ring(std::uint16_t context_number) noexcept;

/// Memory that the driver allocates for a thread lies on the NUMA node of that thread's CPU. A link between
/// nodes is narrower than the device's: what is ours lies on the device's side of it. What the kernel is asked;
/// tests put other answers in their place.
struct NodeCalls {
    const char* root; ///< files are looked for below it
    /// get_mempolicy(2) and set_mempolicy(2) of the calling thread.
    long (*get_policy)(int* mode, unsigned long* nodes, unsigned long bits);
    long (*set_policy)(int mode, const unsigned long* nodes, unsigned long bits);
};
extern constinit NodeCalls node_calls;

/// The host's node next to the current context's device, plus 1; 0: not known, or the host has only one (then
/// the driver is not asked). Calls open(2), a cancellation point, and changes errno.
std::uint64_t nearest_node() noexcept;

/// While it lives, what is allocated for the calling thread comes from `node` (plus 1; 0: does nothing) as long
/// as that has memory. Then the thread's own memory policy is back. Where the kernel refuses, as sandboxes do,
/// all is as without. Changes errno.
class NearNode {
public:
    explicit NearNode(std::uint64_t node) noexcept;
    ~NearNode();
    NearNode(const NearNode&) = delete;
    NearNode& operator=(const NearNode&) = delete;

private:
    static constexpr std::size_t most_nodes = 1024; ///< that Linux can be built for
    static constexpr std::size_t word_bits = 8 * sizeof(unsigned long);
    using Nodes = unsigned long[most_nodes / word_bits];

    int former_mode_ = 0;
    Nodes former_nodes_{};
    bool changed_ = false;
};

} // namespace umadvisor::act
