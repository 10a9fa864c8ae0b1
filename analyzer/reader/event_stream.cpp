#include "analyzer/reader/event_stream.hpp"

#include <limits>
#include <map>

namespace umadvisor::reader {
namespace {
constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
} // namespace

EventStream::EventStream(TraceFile& file) : current_(none) {
    std::map<std::uint32_t, std::vector<const ChunkInfo*>> threads;
    for (const ChunkInfo& chunk : file.chunks())
        if (chunk.kind == trace::ChunkKind::event)
            threads[chunk.thread].push_back(&chunk);
    for (auto& [thread, chunks] : threads) {
        cursors_.push_back(std::make_unique<ThreadCursor>(file, thread, std::move(chunks)));
        push(cursors_.size() - 1);
    }
}

void EventStream::push(std::size_t cursor) {
    if (cursors_[cursor]->advance())
        heads_.push({cursors_[cursor]->time(), cursor});
    else
        cursors_[cursor].reset();
}

const ThreadCursor* EventStream::next() {
    if (current_ != none) {
        // Most often the same thread goes on: no heap operation then.
        ThreadCursor& cursor = *cursors_[current_];
        if (!cursor.advance()) {
            cursors_[current_].reset();
            current_ = none;
        } else if (heads_.empty() || !(Head{cursor.time(), current_} > heads_.top())) {
            return &cursor;
        } else {
            heads_.push({cursor.time(), current_});
        }
    }
    if (heads_.empty()) {
        current_ = none;
        return nullptr;
    }
    current_ = heads_.top().cursor;
    heads_.pop();
    return cursors_[current_].get();
}

} // namespace umadvisor::reader
