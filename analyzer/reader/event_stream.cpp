#include "analyzer/reader/event_stream.hpp"

#include <cstdint>
#include <map>
#include <utility>

namespace umadvisor::reader {

EventStream::EventStream(TraceFile& file) : file_(file) {
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
    if (running_ == nullptr)
        return next_thread();
    if (!running_->advance()) {
        threads_[current_].cursor.reset();
        return next_thread();
    }
    const Head head{running_->time(), current_};
    if (!(head > next_)) // most often the same thread goes on: no heap operation then
        return running_;
    heads_.push(head);
    return next_thread();
}

const ThreadCursor* EventStream::next_thread() {
    running_ = nullptr;
    while (running_ == nullptr && !heads_.empty()) {
        current_ = heads_.top().thread;
        heads_.pop();
        Thread& thread = threads_[current_];
        if (thread.cursor == nullptr) {
            thread.cursor =
                std::make_unique<ThreadCursor>(file_, thread.number, current_, std::move(thread.chunks));
            if (!thread.cursor->advance())
                thread.cursor.reset(); // the file has become shorter
        }
        running_ = thread.cursor.get();
    }
    next_ = heads_.empty() ? Head{UINT64_MAX, SIZE_MAX} : heads_.top();
    return running_;
}

} // namespace umadvisor::reader
