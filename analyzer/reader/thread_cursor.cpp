#include "analyzer/reader/thread_cursor.hpp"

#include "analyzer/reader/chunk_walk.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace umadvisor::reader {

ThreadCursor::ThreadCursor(TraceFile& file, std::uint32_t thread, std::size_t index,
                           std::vector<const ChunkInfo*> chunks)
    : file_(file),
      thread_(thread),
      index_(static_cast<std::uint32_t>(index)),
      chunks_(std::move(chunks)),
      beginning_(file.header().late ? file.header().first.ticks : 0) {}

bool ThreadCursor::open_chunk() {
    while (next_chunk_ < chunks_.size()) {
        const ChunkInfo& chunk = *chunks_[next_chunk_++];
        const std::uint64_t cut_before = file_.completeness().chunks_cut;
        if (!file_.load(chunk, bytes_))
            continue;
        cut_ = file_.completeness().chunks_cut != cut_before;
        at_ = bytes_.data();
        end_ = at_ + bytes_.size();
        state_ = {};
        state_.time = chunk.base_time;
        of_state_ = chunk.kind == trace::ChunkKind::state;
        shapes_.clear();
        twins_.clear();
        if (time_ == 0)
            time_ = chunk.base_time;
        return true;
    }
    at_ = end_ = nullptr;
    return false;
}

void ThreadCursor::give_up() {
    if (!cut_) // a cut chunk ends inside a record: that is counted already
        ++file_.completeness().chunks_damaged;
    at_ = end_;
}

void ThreadCursor::define(const trace::LaunchShape& r, bool outside) {
    const std::size_t known = shapes_.size() + twins_.size();
    Shape& shape = (outside ? twins_ : shapes_)[r.shape];
    shape = {.place = shapes_.size() + twins_.size() != known ? static_cast<std::uint32_t>(known) : shape.place,
             .scanned = r.scanned != 0,
             .captured = r.captured != 0,
             .number = r.shape,
             .entry = r.entry,
             .function = r.function,
             .stream = r.stream,
             .untold = r.untold,
             .stack = ids::StackId(r.stack, outside),
             .touched = {r.touched.begin(), r.touched.end()},
             .host_ranges = {r.host_ranges.begin(), r.host_ranges.end()},
             .grid = {r.grid_x, r.grid_y, r.grid_z},
             .block = {r.block_x, r.block_y, r.block_z},
             .shared_bytes = r.shared_bytes};
    defined_ = &shape;
}

bool ThreadCursor::managed_event_follows() const {
    trace::RawRecord next;
    return at_ != end_ && trace::next_record(at_, end_, next) != nullptr &&
           next.type == trace::Type::managed_event;
}

namespace {

/// A call that was under way when the recording began counts from there.
template <class Record>
void begin_at(std::uint64_t beginning, Record& record) {
    if (record.start >= beginning)
        return;
    if constexpr (requires { record.duration; })
        record.duration -= std::min(record.duration, beginning - record.start);
    record.start = beginning;
}

} // namespace

template <class Record>
ThreadCursor::Decoded ThreadCursor::decode_event(const trace::RawRecord& raw) {
    Record& record = event_.emplace<Record>();
    if (of_state_)
        state_ = {};
    if (!trace::decode(raw, record, state_))
        return Decoded::damaged;
    if (!make_plausible(record))
        return Decoded::refused;
    shape_ = nullptr;
    if constexpr (requires { record.start; })
        if (beginning_ != 0)
            begin_at(beginning_, record);
    if constexpr (std::is_same_v<Record, trace::LaunchShape>) {
        define(record);
        twin_follows_ = has_twins_;
        return Decoded::event;
    } else {
        if constexpr (std::is_same_v<Record, trace::Launch>)
            shape_ = shapes_.find(record.shape);
        // The thread that writes ManagedEvents wakes after they happened, and the clock pair that its chunk
        // begins with is of that moment.
        if constexpr (std::is_same_v<Record, trace::ManagedEvent>)
            time_ = record.start;
        else if (std::is_same_v<Record, trace::Clock> && managed_event_follows())
            time_ = 0;
        else
            time_ = std::max(time_, record.start);
        return Decoded::event;
    }
}

ThreadCursor::Decoded ThreadCursor::decode(const trace::RawRecord& raw) {
    Decoded decoded = Decoded::unknown; // as definitions are here
    trace::visit_type(raw.type, [&]<class Record>() {
        if constexpr (!is_definition(Record::type))
            decoded = decode_event<Record>(raw);
    });
    return decoded;
}

void ThreadCursor::define_twin() {
    define(std::get<trace::LaunchShape>(event_), true);
}

void ThreadCursor::mark_outside() {
    std::visit(
        [this](auto& record) {
            using Record = std::decay_t<decltype(record)>;
            if constexpr (std::is_same_v<Record, trace::Launch>)
                shape_ = twins_.find(record.shape);
            else if constexpr (!std::is_same_v<Record, trace::LaunchShape> && requires { record.stack; })
                record.stack = ids::StackId(record.stack, true).packed();
        },
        event_);
}

bool ThreadCursor::advance() {
    if (std::exchange(twin_follows_, false)) {
        define_twin();
        return true;
    }
    for (;;) {
        if (at_ == end_) {
            if (!open_chunk())
                return false;
            continue;
        }
        trace::RawRecord raw;
        const std::uint8_t* next = trace::next_record(at_, end_, raw);
        if (next == nullptr) {
            give_up();
            continue;
        }
        at_ = next;
        // Most records are launches: a branch saves them the look-up in a table.
        switch (raw.type == trace::Type::launch ? decode_event<trace::Launch>(raw) : decode(raw)) {
        case Decoded::event:
            return true;
        case Decoded::unknown:
            ++file_.completeness().records_unknown;
            break;
        case Decoded::refused:
            ++file_.completeness().records_refused;
            break;
        case Decoded::damaged:
            give_up();
            break;
        }
    }
}

} // namespace umadvisor::reader
