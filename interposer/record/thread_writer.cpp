#include "interposer/record/thread_writer.hpp"

#include "interposer/base/pages.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/sink.hpp"
#include "interposer/record/slow_path.hpp"
#include "interposer/runtime/own_thread.hpp"
#include "trace/records.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace umadvisor::record {

constinit thread_local ThreadSeat seat{};

namespace {

constinit Mutex waiting_mutex{Lock::texts};
constinit ThreadWriter* waiting = nullptr;
constinit pthread_key_t writer_key = 0;

ThreadWriter* claim_writer() noexcept {
    {
        const Guard guard(waiting_mutex);
        if (ThreadWriter* writer = waiting) {
            waiting = writer->next;
            return writer;
        }
    }
    return static_cast<ThreadWriter*>(base::map_pages(sizeof(ThreadWriter)));
}

/// Runs at the end of each thread that has recorded.
void leave(void* value) noexcept {
    if (!recording())
        return; // in a forked child the chunk is the parent's
    const Quiet quiet;
    ThreadWriter* writer = static_cast<ThreadWriter*>(value);
    seat.writer = nullptr;
    if (writer->chunk.header != nullptr) {
        writer->chunk.seal();
        sink.finish(writer->chunk.memory());
    }
    writer->chunk = {};
    writer->stacks.forget();
    writer->python.forget();
    {
        const Guard guard(waiting_mutex);
        writer->next = waiting;
        waiting = writer;
    }
    runtime::end_before_last_thread();
}

void define_thread() noexcept {
    char name[17] = {};
    prctl(PR_GET_NAME, name);
    trace::Thread record;
    record.id = seat.thread;
    record.thread_name = name;
    define(record);
}

} // namespace

bool prepare_threads() noexcept {
    return pthread_key_create(&writer_key, leave) == 0;
}

void forget_threads() noexcept {
    pthread_setspecific(writer_key, nullptr); // else the thread's end would seal a chunk of the parent
    pthread_key_delete(writer_key);
    seat = {.writer = nullptr, .inside_wrapper = seat.inside_wrapper, .thread = 0, .sequence = 0};
}

ThreadWriter* seat_thread() noexcept {
    const Quiet quiet;
    ThreadWriter* writer = claim_writer();
    if (writer == nullptr)
        return nullptr;
    seat.writer = writer;
    pthread_setspecific(writer_key, writer);
    if (seat.thread == 0) {
        seat.thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
        define_thread();
    }
    return writer;
}

bool ThreadWriter::renew(std::size_t bytes) noexcept {
    if (chunk.header == nullptr && sink.full())
        return false; // checked without the lock, since a full file must not slow the program
    const Quiet quiet;
    if (chunk.reopen() && chunk.room(bytes))
        return true;
    return claim() && chunk.room(bytes);
}

void ThreadWriter::keep_late() noexcept {
    if (!sink.closed())
        return;
    const Quiet quiet;
    chunk.seal();
    sink.keep(chunk.memory());
}

void ThreadWriter::forget_launches() noexcept {
    Fingerprint row;
    row.add_at(Fingerprint::extra, ++marks);
    mark = row.value();
}

void ThreadWriter::remember(const LaunchKey& key, std::uint64_t its_generation, std::uint64_t shape,
                            std::uint32_t period) noexcept {
    if (generation != its_generation) {
        generation = its_generation;
        forget_launches();
    }
    if (shape < trace::BriefLaunch::shapes)
        launches.remember(key.value_with(Fingerprint(mark)), trace::BriefLaunch::head(shape), period);
}

bool ThreadWriter::claim() noexcept {
    const SlowPath slow;
    if (chunk.header != nullptr) {
        chunk.seal();
        sink.finish(chunk.memory());
        chunk = {};
    }
    std::uint8_t* memory = sink.claim(trace::ChunkKind::event);
    if (memory == nullptr)
        return false;
    first_serial = last_serial + 1; // the new chunk has defined no shape
    forget_launches();
    // Populates all its pages at once, if the kernel can (5.14): else each would fault in a call of the
    // program. Not for a thread's first chunk, since most short threads need a single page.
    if (seat.sequence != 0)
        madvise(memory, trace::chunk_bytes, MADV_POPULATE_WRITE);
    const trace::ClockPair pair = read_clock_pair();
    chunk.begin(memory, trace::ChunkKind::event, seat.thread, seat.sequence++, pair.ticks);
    trace::Clock clock;
    clock.start = pair.ticks;
    clock.monotonic_ns = pair.monotonic_ns;
    chunk.put(clock);
    chunk.commit();
    read_clock();
    if (const std::uint64_t time = monotonic_nanoseconds(); sink.is_due(time))
        sink.write_out(time);
    return true;
}

} // namespace umadvisor::record
