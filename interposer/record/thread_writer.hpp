/// What a recording thread has: a chunk of its own and what it remembers between records.
#pragma once

#include "interposer/record/chunk_writer.hpp"
#include "interposer/record/launch_memo.hpp"
#include "interposer/record/launch_shapes.hpp"
#include "interposer/record/piece_memo.hpp"
#include "interposer/record/python_stacks.hpp"
#include "interposer/record/stack_cache.hpp"
#include "trace/encoder.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::record {

/// Lives in pages of its own, which are handed from an ended thread to a new one. All zeros: new.
struct alignas(64) ThreadWriter {
    // Two lines of the cache: all that a launch needs that was made before.
    ChunkWriter chunk;
    Fingerprint::Value mark;  ///< is part of the keys of launches; another one makes void what is remembered
    std::uint64_t generation; ///< of the index of allocations, by which they were looked at
    std::uint64_t marks;      ///< that there were

    std::uint64_t first_serial, last_serial; ///< of the shapes that the chunk defines
    StackCache stacks;
    LaunchMemo launches;
    PieceMemo pieces;
    LaunchShapes shapes;
    PythonStacks python;
    ThreadWriter* next; ///< in the list of those that wait for a thread

    /// What is remembered of a launch, if its shape stands in the chunk, the chunk has room for one more
    /// launch, and allocations are what they were; else null.
    [[gnu::always_inline]] LaunchMemo::Entry* recall(const LaunchKey& key,
                                                     std::uint64_t now_generation) noexcept {
        if (now_generation != generation || !chunk.room(launch_bound)) [[unlikely]]
            return nullptr;
        return launches.find(key.value_with(Fingerprint(mark)));
    }

    /// Remembers a launch that was looked at by `its_generation`; `period` is the device timer's answer.
    void remember(const LaunchKey& key, std::uint64_t its_generation, std::uint64_t shape,
                  std::uint32_t period) noexcept;

    /// The number in the chunk of a shape that it has defined.
    std::uint64_t shape_number(std::uint64_t serial) const noexcept { return serial - first_serial + 1; }

    /// Makes room for `bytes`: opens the sealed chunk again or claims a new one. False when the file takes no
    /// more.
    bool renew(std::size_t bytes) noexcept;

    /// After a record that renew() was needed for. Once the trace is closed nobody writes it out later: the
    /// chunk goes to the file and is sealed, so that the next record comes here, too.
    void keep_late() noexcept;

private:
    static constexpr std::size_t launch_bound = trace::encoded_bound(trace::Launch());
    bool claim() noexcept;
    void forget_launches() noexcept;
};
static_assert(sizeof(ChunkWriter) + sizeof(Fingerprint::Value) <= 64);

/// The little that stands in thread-local storage itself: it is cut from every thread's stack.
struct ThreadSeat {
    ThreadWriter* writer;
    bool inside_wrapper;    ///< what the driver calls of its own exported symbols, and we, is not the program's
    std::uint32_t thread;   ///< Linux thread id; 0: not asked yet
    std::uint32_t sequence; ///< next event chunk of this thread
};
extern constinit thread_local ThreadSeat seat;

/// Prepares for threads to come and go. False when the process has no pthread key left.
bool prepare_threads() noexcept;

/// Gives the calling thread a writer; nullptr without memory. Also after the thread's key destructors have
/// begun: the key is set again, and pthread_key_create(3) runs them again.
ThreadWriter* seat_thread() noexcept;

/// Forgets the calling thread's writer and that there are others. In a forked child, before all variables are
/// put back.
void forget_threads() noexcept;

/// The calling thread's writer; one branch when it has one.
inline ThreadWriter* thread_writer() noexcept {
    ThreadWriter* writer = seat.writer;
    return writer != nullptr ? writer : seat_thread();
}

} // namespace umadvisor::record
