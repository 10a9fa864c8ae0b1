/// What a recording thread has: a chunk of its own and what it remembers between records.
#pragma once

#include "interposer/record/chunk_writer.hpp"
#include "interposer/record/launch_memo.hpp"
#include "interposer/record/launch_shapes.hpp"
#include "interposer/record/stack_cache.hpp"

#include <cstddef>
#include <cstdint>

namespace umadvisor::record {

/// Lives in pages of its own, which are handed from an ended thread to a new one. All zeros: new.
struct ThreadWriter {
    ChunkWriter chunk;
    std::uint32_t chunk_index; ///< in the file
    LaunchShapes shapes;
    LaunchMemo launches;
    StackCache stacks;
    ThreadWriter* next; ///< in the list of those that wait for a thread

    /// Makes room for `bytes`: opens the sealed chunk again or claims a new one. False when the file takes no
    /// more.
    bool renew(std::size_t bytes) noexcept;

private:
    bool claim() noexcept;
};

/// The little that stands in thread-local storage itself: it is cut from every thread's stack.
struct ThreadSeat {
    ThreadWriter* writer;
    std::uint32_t thread;   ///< Linux thread id; 0: not asked yet
    std::uint32_t sequence; ///< next event chunk of this thread
};
extern constinit thread_local ThreadSeat seat;

/// Prepares for threads to come and go. False when the process has no pthread key left.
bool prepare_threads() noexcept;

/// Gives the calling thread a writer; nullptr without memory. Also after the thread's key destructors have
/// begun: the key is set again, and pthread_key_create(3) runs them again.
ThreadWriter* seat_thread() noexcept;

/// The calling thread's writer; one branch when it has one.
inline ThreadWriter* thread_writer() noexcept {
    ThreadWriter* writer = seat.writer;
    return writer != nullptr ? writer : seat_thread();
}

} // namespace umadvisor::record
