/// The state of a recording thread: a chunk of its own, and its caches.
#pragma once

#include "interposer/record/chunk_writer.hpp"
#include "interposer/record/launch_memo.hpp"
#include "interposer/record/launch_shapes.hpp"
#include "interposer/record/piece_memo.hpp"
#include "interposer/record/python_stacks.hpp"
#include "interposer/record/stack_cache.hpp"
#include "interposer/record/taking.hpp"
#include "trace/encoder.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::record {

/// It is in pages of its own, which a new thread gets from one that has ended. All zeros: new.
struct alignas(64) ThreadWriter {
    // Two cache lines with all that a repeated launch needs.
    ChunkWriter chunk;
    Fingerprint::Value mark;  ///< is part of the keys of launches; a new one makes the memo void
    std::uint64_t generation; ///< of the index of allocations, for the launches in the memo
    std::uint32_t part;       ///< that the chunk is of (part())
    std::uint64_t marks;      ///< how many there were

    std::uint64_t first_serial, last_serial; ///< of the shapes that the chunk defines
    StackCache stacks;
    LaunchMemo launches;
    PieceMemo pieces;
    LaunchShapes shapes;
    PythonStacks python;
    ThreadWriter* next;   ///< in the list of free writers
    std::uintptr_t owner; ///< pthread_self(3) of the thread, or of the one that ended

    /// The memo's entry for a launch, if the chunk has its shape and room for one more launch, and allocations
    /// have not changed; else null.
    [[gnu::always_inline]] LaunchMemo::Entry* recall(const LaunchKey& key,
                                                     std::uint64_t now_generation) noexcept {
        if (now_generation != generation || part != record::part() || !chunk.room(launch_bound)) [[unlikely]]
            return nullptr;
        return launches.find(key.value_with(Fingerprint(mark)));
    }

    /// Enters a launch that was scanned in the generation `its_generation`; `period` is the device timer's
    /// answer.
    void remember(const LaunchKey& key, std::uint64_t its_generation, std::uint64_t shape,
                  std::uint32_t period) noexcept;

    /// The number in the chunk of a shape that it has defined.
    std::uint64_t shape_number(std::uint64_t serial) const noexcept { return serial - first_serial + 1; }

    /// Whether a record of so many bytes at most can be appended.
    bool has_room(std::size_t bytes) const noexcept { return chunk.room(bytes) && part == record::part(); }

    /// Makes room for `bytes`: opens the sealed chunk again or claims a new one. False if the file is full.
    bool renew(std::size_t bytes) noexcept;

    /// Called after a record that needed renew(). Once the trace is closed no later call writes the chunk: it
    /// is written here and sealed, so that the next record comes here, too.
    void keep_late() noexcept;

private:
    static constexpr std::size_t launch_bound = trace::encoded_bound(trace::Launch());
    bool claim() noexcept;
    bool extend(std::size_t bytes) noexcept;
    void forget_launches() noexcept;
};
static_assert(sizeof(ChunkWriter) + sizeof(Fingerprint::Value) <= 64);

/// The few variables in thread-local storage itself, which takes from every thread's stack.
struct ThreadSeat {
    ThreadWriter* writer;
    bool inside_wrapper;  ///< calls by the driver of its own exported symbols, and ours, are not the program's
    std::uint32_t thread; ///< Linux thread id; 0: not asked yet
    std::uint32_t sequence; ///< next event chunk of this thread
    std::uint32_t part;     ///< in which the thread was defined last
};
extern constinit thread_local ThreadSeat seat;

/// Creates the pthread key for the ends of threads. False if the process has none left.
bool prepare_threads() noexcept;

/// Gives the calling thread a writer; nullptr without memory. Also after the thread's key destructors have
/// begun: the key is set again, and pthread_key_create(3) runs them again.
ThreadWriter* seat_thread() noexcept;

/// Forgets all writers. In a forked child, before all variables are put back.
void forget_threads() noexcept;

/// The calling thread's writer; one branch if it has one.
inline ThreadWriter* thread_writer() noexcept {
    ThreadWriter* writer = seat.writer;
    return writer != nullptr ? writer : seat_thread();
}

} // namespace umadvisor::record
