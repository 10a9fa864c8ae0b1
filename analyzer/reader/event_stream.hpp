/// The events of all threads in the order of time.
#pragma once

#include "analyzer/reader/range_marks.hpp"
#include "analyzer/reader/thread_cursor.hpp"

#include <memory>
#include <optional>
#include <queue>
#include <vector>

namespace umadvisor::reader {

/// Merges the threads of a file by the start of their records. A thread's own records keep their order: what it
/// did later is never shown earlier. Memory: one chunk for each thread that has begun and not ended.
class EventStream {
public:
    /// `file` must outlive the stream. Losses are counted in its completeness as they are met.
    /// `choice`, if any, must outlive it, too: what is called outside of these ranges is marked (outside.hpp).
    explicit EventStream(TraceFile& file, const RangeChoice* choice = nullptr);

    /// The next event, valid until the next call; nullptr at the end.
    const ThreadCursor* next() {
        ThreadCursor* const cursor = next_event();
        if (marks_ && cursor != nullptr)
            mark(*cursor);
        return cursor;
    }
    /// Whether the current event lies inside the selected ranges: those of its thread, or, for events of
    /// managed memory, which no call makes, those of any thread. Without a choice every event does.
    bool inside() const { return inside_; }
    /// nullptr: without a choice.
    const RangeMarks* marks() const { return marks_ ? &*marks_ : nullptr; }

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

    ThreadCursor* next_event();
    ThreadCursor* next_thread();
    void mark(ThreadCursor& cursor);

    TraceFile& file_;
    std::vector<Thread> threads_;
    std::priority_queue<Head, std::vector<Head>, std::greater<>> heads_;
    std::size_t current_ = 0;
    ThreadCursor* running_ = nullptr; ///< that of current_
    Head next_{};                     ///< the first of heads_, or later than all
    std::optional<RangeMarks> marks_;
    bool inside_ = true;
};

} // namespace umadvisor::reader
