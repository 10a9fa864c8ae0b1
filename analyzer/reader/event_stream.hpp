/// The events of all threads in the order of time.
#pragma once

#include "analyzer/reader/thread_cursor.hpp"

#include <memory>
#include <queue>
#include <vector>

namespace umadvisor::reader {

/// Merges the threads of a file by the start of their records. A thread's own records keep their order: what it
/// did later is never shown earlier. Memory: one chunk for each thread that has begun and not ended.
class EventStream {
public:
    /// `file` must outlive the stream. Losses are counted in its completeness as they are met.
    explicit EventStream(TraceFile& file);

    /// The next event, valid until the next call; nullptr at the end.
    const ThreadCursor* next();

private:
    struct Head {
        std::uint64_t time;
        std::size_t thread;
        bool operator>(const Head& other) const {
            return time != other.time ? time > other.time : thread > other.thread;
        }
    };
    struct Thread {
        std::uint32_t number;
        std::vector<const ChunkInfo*> chunks;
        std::unique_ptr<ThreadCursor> cursor; ///< from its first event to its last
    };

    const ThreadCursor* next_thread();

    TraceFile& file_;
    std::vector<Thread> threads_;
    std::priority_queue<Head, std::vector<Head>, std::greater<>> heads_;
    std::size_t current_ = 0;
    ThreadCursor* running_ = nullptr; ///< that of current_
    Head next_{};                     ///< the first of heads_, or later than all
};

} // namespace umadvisor::reader
