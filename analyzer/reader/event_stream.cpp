#include "analyzer/reader/event_stream.hpp"

#include <limits>
#include <map>
#include <utility>

namespace umadvisor::reader {
namespace {
constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
} // namespace

EventStream::EventStream(TraceFile& file) : file_(file), current_(none) {
    std::map<std::uint32_t, std::vector<const ChunkInfo*>> threads;
    for (const ChunkInfo& chunk : file.chunks())
        if (chunk.kind == trace::ChunkKind::event)
            threads[chunk.thread].push_back(&chunk);
    for (auto& [thread, chunks] : threads) {
        const Completeness before = file.completeness();
        ThreadCursor first(file, thread, threads_.size(), chunks);
        if (!first.advance())
            continue;
        file.completeness() = before; // it is read again when its turn comes: losses count once
        heads_.push({first.time(), threads_.size()});
        threads_.push_back({thread, std::move(chunks), nullptr});
    }
}

const ThreadCursor* EventStream::next() {
    if (current_ != none) {
        // Most often the same thread goes on: no heap operation then.
        std::unique_ptr<ThreadCursor>& cursor = threads_[current_].cursor;
        if (!cursor->advance())
            cursor.reset();
        else if (heads_.empty() || !(Head{cursor->time(), current_} > heads_.top()))
            return cursor.get();
        else
            heads_.push({cursor->time(), current_});
    }
    for (current_ = none; !heads_.empty();) {
        Thread& thread = threads_[heads_.top().thread];
        current_ = heads_.top().thread;
        heads_.pop();
        if (thread.cursor != nullptr)
            return thread.cursor.get();
        thread.cursor =
            std::make_unique<ThreadCursor>(file_, thread.number, current_, std::move(thread.chunks));
        if (thread.cursor->advance())
            return thread.cursor.get();
        thread.cursor.reset(); // the file has become shorter
        current_ = none;
    }
    return nullptr;
}

} // namespace umadvisor::reader
