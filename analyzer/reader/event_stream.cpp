#include "analyzer/reader/event_stream.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <variant>

namespace umadvisor::reader {

EventStream::EventStream(TraceFile& file, const RangeChoice* choice) : file_(file) {
    if (choice != nullptr)
        marks_.emplace(*choice);
    std::map<std::uint32_t, std::vector<const ChunkInfo*>> threads;
    for (const ChunkInfo& chunk : file.chunks())
        if (chunk.kind == trace::ChunkKind::event || chunk.kind == trace::ChunkKind::state)
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

void EventStream::mark(ThreadCursor& cursor) {
    const std::uint32_t thread = cursor.index();
    inside_ = marks_->inside(thread);
    if (const auto* const range = std::get_if<trace::Range>(&cursor.event())) {
        marks_->add(*range, thread, cursor.time());
        inside_ = inside_ || marks_->inside(thread); // both ends of a range are part of it
    } else if (std::holds_alternative<trace::Pause>(cursor.event())) {
        marks_->pause(cursor.time());
    } else if (std::holds_alternative<trace::ManagedEvent>(cursor.event())) {
        inside_ = marks_->any_inside();
    }
    if (!inside_)
        cursor.mark_outside();
}

ThreadCursor* EventStream::next_event() {
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

ThreadCursor* EventStream::next_thread() {
    running_ = nullptr;
    while (running_ == nullptr && !heads_.empty()) {
        current_ = heads_.top().thread;
        heads_.pop();
        Thread& thread = threads_[current_];
        if (thread.cursor == nullptr) {
            thread.cursor =
                std::make_unique<ThreadCursor>(file_, thread.number, current_, std::move(thread.chunks));
            if (marks_)
                thread.cursor->tell_outside_apart();
            if (!thread.cursor->advance())
                thread.cursor.reset(); // the file has become shorter
        }
        running_ = thread.cursor.get();
    }
    next_ = heads_.empty() ? Head{UINT64_MAX, SIZE_MAX} : heads_.top();
    return running_;
}

} // namespace umadvisor::reader
