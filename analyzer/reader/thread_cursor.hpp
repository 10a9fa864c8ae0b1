/// Reading one thread's events, chunk after chunk.
#pragma once

#include "analyzer/ids/stack_id.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/reader/trace_file.hpp"
#include "trace/decoder.hpp"
#include "trace/records.hpp"

#include <cstdint>
#include <variant>
#include <vector>

namespace umadvisor::reader {

/// The first is there for the comma that follows it.
template <class, class... Records>
using VariantBehind = std::variant<Records...>;

using Event = VariantBehind<void
#define EVENT(R) , trace::R
#include "trace/records.def"
                            >;

/// A launch shape, kept small: a chunk may define thousands.
struct Shape {
    // First what each launch is asked for.
    std::uint32_t place = 0; ///< among the shapes of its chunk, counted from 0 without gaps
    bool scanned = false, captured = false;
    std::uint64_t number = 0, entry = 0, function = 0;
    trace::StreamId stream{};
    std::uint64_t untold = 0;
    ids::StackId stack{};
    std::vector<trace::AllocationId> touched;
    std::vector<std::uint64_t> host_ranges; ///< pageable memory among the parameters
    std::uint64_t grid[3] = {}, block[3] = {}, shared_bytes = 0;
};

class ThreadCursor {
public:
    /// `thread` as the file numbers it, `index` as index() has it; `chunks` in the order in which they were
    /// begun.
    ThreadCursor(TraceFile& file, std::uint32_t thread, std::size_t index,
                 std::vector<const ChunkInfo*> chunks);

    /// Moves to the next record; false at the end.
    bool advance();

    /// From here on each LaunchShape comes twice, the second time for what is launched outside the ranges that
    /// are looked at.
    void tell_outside_apart() { has_twins_ = true; }
    /// The current record is of a call outside: its stack, and that of its shape, is one of outside from here
    /// on.
    void mark_outside();

    std::uint32_t thread() const { return thread_; }
    /// Which of the threads of the file it is, counted from 0 without gaps.
    std::uint32_t index() const { return index_; }
    /// Start of the record in ticks, never before the thread's previous record: the key of the merge. A
    /// LaunchShape has the time of the record before it. A ManagedEvent has its own, since it is recorded late,
    /// and a Clock before it has none.
    std::uint64_t time() const { return time_; }
    const Event& event() const { return event_; }
    /// Whether the record is from before the recording, of something that lives on. It has the time at which
    /// the recording began, and no duration.
    bool of_state() const { return of_state_; }
    /// Of the current Launch; nullptr when its shape was not defined in its chunk (damage).
    const Shape* shape() const { return shape_; }
    /// What the current LaunchShape defines.
    const Shape* defined() const { return defined_; }

private:
    bool open_chunk();
    bool managed_event_follows() const;
    enum class Decoded : std::uint8_t { event, unknown, refused, damaged };
    Decoded decode(const trace::RawRecord& raw);
    template <class Record>
    Decoded decode_event(const trace::RawRecord& raw);
    void define(const trace::LaunchShape& record, bool outside = false);
    void define_twin();
    void give_up();

    TraceFile& file_;
    std::uint32_t thread_, index_;
    std::vector<const ChunkInfo*> chunks_;
    std::size_t next_chunk_ = 0;
    std::vector<std::uint8_t> bytes_;
    bool cut_ = false, of_state_ = false;
    std::uint64_t beginning_ = 0; ///< no record has an earlier time; 0: that does not matter
    const std::uint8_t* at_ = nullptr;
    const std::uint8_t* end_ = nullptr;
    trace::DeltaState state_;
    FlatMap<Shape> shapes_, twins_;
    Event event_;
    const Shape *shape_ = nullptr, *defined_ = nullptr;
    std::uint64_t time_ = 0;
    bool has_twins_ = false, twin_follows_ = false; ///< of the current LaunchShape
};

} // namespace umadvisor::reader
