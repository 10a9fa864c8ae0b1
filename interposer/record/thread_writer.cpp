#include "interposer/record/thread_writer.hpp"

#include "interposer/base/pages.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/current_context.hpp"
#include "interposer/record/mutex.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/sink.hpp"
#include "interposer/record/slow_path.hpp"
#include "interposer/record/totals.hpp"
#include "interposer/runtime/own_thread.hpp"
#include "trace/records.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace umadvisor::record {

constinit thread_local ThreadSeat seat{};

namespace {

constinit Mutex waiting_mutex{Lock::dictionary};
constinit ThreadWriter* waiting = nullptr;
constinit pthread_key_t writer_key = 0;

/// That of a thread that ended on the stack which the calling thread has now, if there is one among the last
/// ones: what it remembers of stacks holds here too. pthread_create(3) gives stacks out again, each with the
/// address of the thread's descriptor in it.
ThreadWriter* claim_writer() noexcept {
    constexpr int most_looks = 32;
    const std::uintptr_t self = reinterpret_cast<std::uintptr_t>(pthread_self());
    ThreadWriter* writer = nullptr;
    {
        const Guard guard(waiting_mutex);
        ThreadWriter** found = &waiting;
        int looks = 0;
        for (ThreadWriter** at = &waiting; *at != nullptr && looks < most_looks; at = &(*at)->next, ++looks)
            if ((*at)->owner == self) {
                found = at;
                break;
            }
        writer = *found;
        if (writer != nullptr)
            *found = writer->next;
    }
    if (writer == nullptr)
        writer = static_cast<ThreadWriter*>(base::map_pages(sizeof(ThreadWriter)));
    if (writer != nullptr && writer->owner != self) {
        writer->stacks.forget();
        writer->owner = self;
    }
    return writer;
}

/// Runs at the end of each thread that has recorded.
void leave(void* value) noexcept {
    if (!recording())
        return; // in a forked child the chunk is the parent's
    const Quiet quiet;
    ThreadWriter* writer = static_cast<ThreadWriter*>(value);
    seat.writer = nullptr;
    if (writer->chunk.header != nullptr)
        sink.finish_sealed(writer->chunk);
    writer->stacks.learned = 0;
    writer->stacks.first = writer->stacks.last = 0; // a stack of another size may end at the same address
    writer->python.forget();
    {
        const Guard guard(waiting_mutex);
        writer->next = waiting;
        waiting = writer;
    }
    runtime::end_before_last_thread();
}

/// A part that is not the first begins without what the thread has recorded.
void describe_thread(ThreadWriter& writer) noexcept {
    char name[17] = {};
    // Reading /proc/thread-self/comm makes objects of the kernel whose removal delays the thread's end by
    // milliseconds.
    prctl(PR_GET_NAME, name);
    trace::Thread record;
    record.id = seat.thread;
    record.thread_name = name;
    define(record);
    const CurrentContext current = is_for_later() ? recorded_context() : CurrentContext{};
    if (current.context == 0)
        return;
    trace::Context context;
    context.start = now();
    context.action = trace::ContextAction::set_current;
    context.context = current.context;
    context.device = current.device;
    if (!writer.chunk.room(trace::encoded_bound(context)))
        return;
    writer.chunk.put(context);
    writer.chunk.commit();
}

} // namespace

bool prepare_threads() noexcept {
    return pthread_key_create(&writer_key, leave) == 0;
}

void forget_threads() noexcept {
    pthread_setspecific(writer_key, nullptr); // else the thread's end would seal a chunk of the parent
    pthread_key_delete(writer_key);
    seat = {.writer = nullptr, .inside_wrapper = seat.inside_wrapper, .thread = 0, .sequence = 0, .part = 0};
}

ThreadWriter* seat_thread() noexcept {
    const Quiet quiet;
    ThreadWriter* writer = claim_writer();
    if (writer == nullptr)
        return nullptr;
    seat.writer = writer;
    pthread_setspecific(writer_key, writer);
    runtime::note_end_is_seen();
    if (seat.thread == 0)
        seat.thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
    return writer;
}

bool ThreadWriter::renew(std::size_t bytes) noexcept {
    if (chunk.header == nullptr && sink.full())
        return false; // checked without the lock, since a full file must not slow the program
    const Quiet quiet;
    if (chunk.header != nullptr && part == record::part()) {
        chunk.reopen(sink.room_of(chunk.memory()));
        if (extend(bytes))
            return true;
    }
    return claim() && extend(bytes);
}

/// Makes room in the chunk, if it is not full.
bool ThreadWriter::extend(std::size_t bytes) noexcept {
    while (!chunk.room(bytes)) {
        if (!sink.extend(chunk.memory()))
            return false;
        chunk.limit = chunk.memory() + sink.room_of(chunk.memory());
    }
    return true;
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
    if (watched()) // each launch is counted where it is written anew
        return;
    if (generation != its_generation) {
        generation = its_generation;
        forget_launches();
    }
    if (shape < trace::BriefLaunch::shapes)
        launches.remember(key.value_with(Fingerprint(mark)), trace::BriefLaunch::head(shape), period);
}

bool ThreadWriter::claim() noexcept {
    const SlowPath slow;
    if (chunk.header != nullptr)
        sink.finish_sealed(chunk);
    const auto [memory, claimed_part] =
        sink.claim(trace::ChunkKind::event, seat.sequence == 0 ? Sink::first_room : trace::chunk_bytes);
    if (memory == nullptr)
        return false;
    part = claimed_part;
    first_serial = last_serial + 1; // the new chunk has defined no shape
    forget_launches();
    // Populates all its pages at once, if the kernel can (5.14): else each would fault in a call of the
    // program. Not for a thread's first chunk, since most short threads need a single page.
    if (seat.sequence != 0)
        madvise(memory, trace::chunk_bytes, MADV_POPULATE_WRITE);
    const trace::ClockPair pair = read_clock_pair();
    chunk.begin(memory, trace::ChunkKind::event, seat.thread, seat.sequence++, pair.ticks,
                sink.room_of(memory));
    trace::Clock clock;
    clock.start = pair.ticks;
    clock.monotonic_ns = pair.monotonic_ns;
    chunk.put(clock);
    chunk.commit();
    if (std::exchange(seat.part, part) != part)
        describe_thread(*this);
    read_clock();
    if (const std::uint64_t time = monotonic_nanoseconds(); sink.is_due(time))
        sink.write_out(time);
    return true;
}

} // namespace umadvisor::record
