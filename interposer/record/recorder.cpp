#include "interposer/record/recorder.hpp"

#include "interposer/record/alive.hpp"
#include "interposer/record/bounds.hpp"
#include "interposer/record/checked_read.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/confined.hpp"
#include "interposer/record/dictionary.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/process.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/sink.hpp"
#include "interposer/record/slow_path.hpp"
#include "interposer/record/stacks.hpp"
#include "interposer/record/summary.hpp"
#include "interposer/record/thread_writer.hpp"
#include "interposer/record/totals.hpp"
#include "trace/encoder.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace umadvisor::record {
namespace {

constinit std::atomic_flag renewing{};
} // namespace

namespace {

/// With the lock of what is alive.
void begin_lap() noexcept {
    sink.next_lap();
    alive.write_to(sink, trace::PauseCause::ring);
}

/// Not where the thread has that lock already: then put_alive() begins the lap.
void begin_due_lap() noexcept {
    if (!sink.lap_is_due(monotonic_nanoseconds()) || !alive.mutex().try_lock())
        return;
    if (sink.lap_is_due(monotonic_nanoseconds()))
        begin_lap();
    alive.mutex().unlock();
}

/// Out of line, since writers with room do not need it.
template <class Record>
[[gnu::noinline]] void write_to_new_room(ThreadWriter& writer, const Record& record,
                                         std::size_t bound) noexcept {
    if (!writer.renew(bound)) {
        summary.add(record);
        sink.drop();
        return begin_due_lap();
    }
    writer.chunk.put(record);
    writer.chunk.commit();
    writer.keep_late();
    begin_due_lap();
}

template <class Record>
void note_failure(const Record& record) noexcept {
    if constexpr (requires { record.status; })
        if (record.status != 0 && detail::following.failed != nullptr) [[unlikely]]
            detail::following.failed(record.status);
}

template <class Record>
void put_in_chunk(const Record& record) noexcept {
    ThreadWriter* writer = thread_writer();
    const std::size_t bound = trace::encoded_bound(record);
    if (writer == nullptr) [[unlikely]]
        return summary.add(record), sink.drop(trace::DropReason::no_memory);
    if (!writer->has_room(bound)) [[unlikely]]
        return write_to_new_room(*writer, record, bound);
    writer->chunk.put(record);
    writer->chunk.commit();
}

template <class Record>
void put(const Record& record) noexcept {
    if (!keeps())
        return;
    put_in_chunk(record);
    note_failure(record);
}

/// A record is with what is alive, or in a chunk of the recording that is under way, and never in neither.
template <class Record>
[[gnu::noinline]] void put_alive(const Record& record) noexcept {
    const Quiet quiet;
    const Guard guard(alive.mutex());
    alive.note(record);
    put(record);
    if (keeps() && sink.lap_is_due(monotonic_nanoseconds()))
        begin_lap();
}

} // namespace

template <class Record>
void write(const Record& record) noexcept {
    if (counts<Record>()) [[unlikely]] {
        count(record);
        constexpr bool is_in_pauses = Lived<Record, Alive> || std::is_same_v<Record, trace::Pause>;
        if (!is_in_pauses && is_held())
            return;
    }
    if (!recording())
        return;
    if constexpr (Lived<Record, Alive>)
        if (detail::following.for_later) [[unlikely]]
            return put_alive(record);
    put(record);
}

#define EVENT(R) template void write(const trace::R&) noexcept;
#include "trace/records.def"

namespace {

/// Null when the records were dropped.
ThreadWriter* write_shaped(trace::LaunchShape& shape, trace::Launch& launch) noexcept {
    ThreadWriter* writer = thread_writer();
    if (writer == nullptr) [[unlikely]] {
        summary.add(shape, launch);
        sink.drop(trace::DropReason::no_memory);
        return nullptr;
    }
    // Reserves for both first, since a new chunk has defined no shapes.
    const std::size_t bound = trace::encoded_bound(shape) + trace::encoded_bound(launch);
    const bool renewed = !writer->has_room(bound);
    if (renewed && !writer->renew(bound)) [[unlikely]] {
        summary.add(shape, launch);
        sink.drop();
        begin_due_lap();
        return nullptr;
    }
    shape.shape = 0;
    const std::uint64_t serial = writer->shapes.serial(shape, writer->first_serial, writer->last_serial);
    shape.shape = launch.shape = writer->shape_number(serial);
    if (serial > writer->last_serial) {
        writer->last_serial = serial;
        writer->chunk.put(shape);
    }
    writer->chunk.put(launch);
    writer->chunk.commit();
    if (renewed) [[unlikely]] {
        writer->keep_late();
        begin_due_lap();
    }
    note_failure(launch);
    return writer;
}

} // namespace

void write(trace::LaunchShape& shape, trace::Launch& launch) noexcept {
    if (watched()) [[unlikely]] {
        count(shape, launch);
        if (is_held())
            return;
    }
    if (keeps())
        write_shaped(shape, launch);
}

void write(trace::LaunchShape& shape, trace::Launch& launch, const LaunchKey& key, std::uint64_t generation,
           std::uint32_t period) noexcept {
    if (watched()) [[unlikely]] {
        count(shape, launch);
        if (is_held())
            return;
    }
    if (!keeps())
        return;
    if (ThreadWriter* const writer = write_shaped(shape, launch))
        writer->remember(key, generation, launch.shape, period);
}

namespace {

void note_all(About about, const char* format, va_list arguments) {
    if (!recording() || !has_thread_pages())
        return;
    const Quiet quiet;
    struct Line {
        char text[1024];
    };
    const OffStack<Line> buffer;
    char* const line = buffer->text;
    if (std::vsnprintf(line, sizeof(Line), format, arguments) < 0)
        return;
    trace::Notice notice;
    notice.time = now();
    notice.text = line;
    notice.allocation = trace::AllocationId{about.allocation};
    notice.stack = about.stack;
    define(notice);
}

} // namespace

void note(const char* format, ...) noexcept {
    va_list arguments;
    va_start(arguments, format);
    note_all({}, format, arguments);
    va_end(arguments);
}

void note(About about, const char* format, ...) noexcept {
    va_list arguments;
    va_start(arguments, format);
    note_all(about, format, arguments);
    va_end(arguments);
}

void read_clock() noexcept {
    // A second thread would have no newer pair.
    if (renewing.test_and_set(std::memory_order_acquire))
        return;
    const trace::ClockPair pair = read_clock_pair();
    // Two words cannot be stored as one, and a reader may read between the stores. With release, also on
    // aarch64, it gets the ticks with their own nanoseconds or later ones: the rate is then too slow by one
    // renewal, but both halves are of the last two pairs.
    sink.header()->last_monotonic_ns.store(pair.monotonic_ns, std::memory_order_relaxed);
    sink.header()->last_ticks.store(pair.ticks, std::memory_order_release);
    renewing.clear(std::memory_order_release);
}

void renew_clock() noexcept {
    // About half a millisecond of the counter. A simulated clock may stand still for any time.
    constexpr std::uint64_t soon = 1u << 20;
    if (!keeps() || (clock_kind() == trace::ClockKind::tsc &&
                     now() - sink.header()->last_ticks.load(std::memory_order_relaxed) < soon))
        return;
    read_clock();
    if (const std::uint64_t time = monotonic_nanoseconds(); sink.is_due(time)) {
        const SlowPath slow;
        sink.write_out(time);
        begin_due_lap();
    }
}

void charge(std::uint64_t ticks) noexcept {
    if (recording())
        sink.header()->own_ticks.fetch_add(ticks, std::memory_order_relaxed);
}

} // namespace umadvisor::record
