#include "interposer/record/recorder.hpp"

#include "interposer/record/bounds.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/dictionary.hpp"
#include "interposer/record/off_stack.hpp"
#include "interposer/record/process.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/sink.hpp"
#include "interposer/record/stacks.hpp"
#include "interposer/record/summary.hpp"
#include "interposer/record/thread_writer.hpp"
#include "trace/encoder.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace umadvisor::record {
namespace {

constinit std::atomic_flag renewing{};
constinit std::uint64_t private_counters[trace::counter_slots] = {};

} // namespace

constinit std::uint64_t* umadvisor_counters = private_counters;
constinit bool detail::stacks_wanted = false;

const char* open(const Settings& settings) noexcept {
    const Quiet quiet;
    choose_clock(settings.simulated_clock);
    if (!prepare_threads())
        return "the process has no thread-specific key left";
    if (const char* why = sink.create(settings)) {
        forget_threads();
        return why;
    }
    std::uint64_t* counters = sink.counters();
    for (std::uint32_t i = 0; i < trace::counter_slots; ++i)
        counters[i] = private_counters[i];
    umadvisor_counters = counters;
    stop_in_children();
    detail::stacks_wanted = settings.stack_frames > 0;
    detail::taking.store(Taking::everything, std::memory_order_release);
    define_process();
    prepare_stacks(settings.stack_frames, settings.python);
    return nullptr;
}

void abandon() noexcept {
    detail::taking.store(Taking::nothing, std::memory_order_relaxed);
    umadvisor_counters = private_counters; // a forked child counts for itself, not for its parent
}

void close() noexcept {
    if (!recording())
        return;
    const Quiet quiet;
    tell_reached();
    renew_clock();
    if (seat.writer != nullptr)
        seat.writer->chunk.seal();
    dictionary.seal();
    sink.header()->state.store(trace::FileState::closed, std::memory_order_release);
}

bool has_file() noexcept {
    return sink.has_file();
}

template <class Record>
void write(const Record& record) noexcept {
    if (!recording())
        return;
    ThreadWriter* writer = thread_writer();
    const std::size_t bound = trace::encoded_bound(record);
    if (writer == nullptr) [[unlikely]]
        return summary.add(record), sink.drop(trace::DropReason::no_memory);
    if (!writer->chunk.room(bound) && !writer->renew(bound)) [[unlikely]]
        return summary.add(record), sink.drop();
    writer->chunk.put(record);
    writer->chunk.commit();
}

template void write(const trace::LaunchShape&) noexcept;
template void write(const trace::Launch&) noexcept;
template void write(const trace::Alloc&) noexcept;
template void write(const trace::Free&) noexcept;
template void write(const trace::Copy&) noexcept;
template void write(const trace::Set&) noexcept;
template void write(const trace::Sync&) noexcept;
template void write(const trace::Stream&) noexcept;
template void write(const trace::Event&) noexcept;
template void write(const trace::Prefetch&) noexcept;
template void write(const trace::Advise&) noexcept;
template void write(const trace::Residency&) noexcept;
template void write(const trace::DeviceTime&) noexcept;
template void write(const trace::GpuModule&) noexcept;
template void write(const trace::Clock&) noexcept;
template void write(const trace::VirtualMemory&) noexcept;
template void write(const trace::Pool&) noexcept;
template void write(const trace::Context&) noexcept;
template void write(const trace::Peer&) noexcept;
template void write(const trace::HostFunction&) noexcept;
template void write(const trace::Range&) noexcept;
template void write(const trace::Pause&) noexcept;
template void write(const trace::Ipc&) noexcept;
template void write(const trace::External&) noexcept;
template void write(const trace::Discard&) noexcept;
template void write(const trace::Attach&) noexcept;
template void write(const trace::ManagedEvent&) noexcept;
template void write(const trace::ManagedCounters&) noexcept;
template void write(const trace::ManagedDetail&) noexcept;
template void write(const trace::Content&) noexcept;
template void write(const trace::GraphLaunch&) noexcept;
template void write(const trace::Graph&) noexcept;

namespace {

/// Null when the records were dropped.
ThreadWriter* write_shaped(trace::LaunchShape& shape, trace::Launch& launch) noexcept {
    ThreadWriter* writer = thread_writer();
    if (writer == nullptr) [[unlikely]] {
        summary.add(shape, launch);
        sink.drop(trace::DropReason::no_memory);
        return nullptr;
    }
    // Room for both first: a new chunk knows no shapes.
    const std::size_t bound = trace::encoded_bound(shape) + trace::encoded_bound(launch);
    if (!writer->chunk.room(bound) && !writer->renew(bound)) [[unlikely]] {
        summary.add(shape, launch);
        sink.drop();
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
    return writer;
}

} // namespace

void write(trace::LaunchShape& shape, trace::Launch& launch) noexcept {
    if (recording())
        write_shaped(shape, launch);
}

void write(trace::LaunchShape& shape, trace::Launch& launch, const LaunchKey& key, std::uint64_t generation,
           std::uint32_t period) noexcept {
    if (!recording())
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
    notice.allocation = about.allocation;
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

void renew_clock() noexcept {
    // Whoever comes second has nothing newer to say.
    if (!recording() || renewing.test_and_set(std::memory_order_acquire))
        return;
    const trace::ClockPair pair = read_clock_pair();
    sink.header()->last_monotonic_ns.store(pair.monotonic_ns, std::memory_order_relaxed);
    sink.header()->last_ticks.store(pair.ticks, std::memory_order_relaxed);
    renewing.clear(std::memory_order_release);
}

void charge(std::uint64_t ticks) noexcept {
    if (recording())
        sink.header()->own_ticks.fetch_add(ticks, std::memory_order_relaxed);
}

} // namespace umadvisor::record
