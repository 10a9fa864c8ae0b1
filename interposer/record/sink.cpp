#include "interposer/record/sink.hpp"

#include "interposer/record/clock.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/summary.hpp"
#include "interposer/runtime/message.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <unistd.h>

namespace umadvisor::record {

constinit Sink sink;

namespace {

constexpr std::uint32_t first_batch = 16; ///< chunks; few, so that a small program has a small file
constexpr std::uint32_t later_batch = 64;
/// One chunk less than can be numbered, since slots hold the number plus one.
constexpr std::uint64_t max_file_bytes = trace::header_bytes + (std::uint64_t{trace::chunk_bytes} << 32) - 1;

constexpr std::uint64_t write_interval = 50'000'000; ///< nanoseconds
constexpr std::uint64_t write_share = 100;           ///< at most one part in so many of the time

std::uint64_t chunk_offset(std::uint64_t index) noexcept {
    return trace::header_bytes + index * trace::chunk_bytes;
}

bool has_begun(const std::uint8_t* chunk) noexcept {
    auto& header = *reinterpret_cast<trace::ChunkHeader*>(const_cast<std::uint8_t*>(chunk));
    return std::atomic_ref(header.magic).load(std::memory_order_acquire) == trace::chunk_magic;
}

/// For code that runs at exit: a program may exit from a signal handler that interrupted a thread with the
/// lock.
bool lock_within_a_second(Mutex& mutex) noexcept {
    for (int tries = 0; tries < 1000; ++tries) {
        if (mutex.try_lock())
            return true;
        const timespec millisecond{0, 1'000'000};
        nanosleep(&millisecond, nullptr);
    }
    return false;
}

} // namespace

const char* Sink::create(const Settings& settings) noexcept {
    if (const char* why = file_.create(settings.path, settings.force))
        return why;
    if (!memory_.create(file_.device(), file_.inode()))
        return file_.fail(settings.path, "no memory for the first records");
    // Three chunks are the least that can hold anything: the summary, one of events, one of definitions.
    const std::uint64_t most = settings.max_bytes != 0 ? settings.max_bytes : max_file_bytes;
    room_ = std::clamp<std::uint64_t>(most, trace::header_bytes + 3 * trace::chunk_bytes, max_file_bytes) -
            trace::header_bytes;

    describe_file();
    int error = file_.reserve(0, trace::header_bytes);
    if (error == 0)
        error = write_header();
    if (error == 0)
        error = reserve();
    if (error != 0) {
        memory_.let_go();
        return file_.fail(settings.path, describe(error));
    }
    // Claimed at the start, so that records dropped by a full disk or the cap are counted.
    summary.use(claim(trace::ChunkKind::summary));
    return nullptr;
}

/// Bytes that the cap allows. It limits the blocks on disk, so tails that threads gave back are available
/// again.
std::uint32_t Sink::max_chunks() const noexcept {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>((room_ + released_) / trace::chunk_bytes, ~std::uint32_t{0}));
}

void Sink::describe_file() noexcept {
    header_ = reinterpret_cast<trace::FileHeader*>(memory_.header_image());
    header_->magic = trace::file_magic;
    header_->major = trace::version_major;
    header_->minor = trace::version_minor;
    header_->endian = trace::endian_mark;
    header_->header_bytes = trace::header_bytes;
    header_->chunk_size = trace::chunk_bytes;
    header_->counters_offset = trace::counters_offset;
    header_->counters = trace::counter_slots;
    header_->pid = static_cast<std::uint32_t>(getpid());
    header_->clock = clock_kind();
    header_->first = read_clock_pair();
    header_->realtime_ns = realtime_nanoseconds();
    header_->last_ticks.store(header_->first.ticks, std::memory_order_relaxed);
    header_->last_monotonic_ns.store(header_->first.monotonic_ns, std::memory_order_relaxed);
    const trace::SegmentName name = memory_.name();
    std::memcpy(memory_.header_image() + trace::segment_name_offset, &name, sizeof name);
}

std::uint64_t* Sink::counters() const noexcept {
    return reinterpret_cast<std::uint64_t*>(memory_.header_image() + trace::counters_offset);
}

/// Ends the growth of the file. Reported once; the first reason counts.
void Sink::fill(trace::DropReason reason, const char* why) noexcept {
    if (full())
        return;
    // Relaxed, as all uses of full_ and closed_: it publishes only itself. A thread that sees it late claims
    // once more, and sees it under the lock.
    full_.store(reason, std::memory_order_relaxed);
    runtime::say("trace %s is full (%s); what follows is counted, not kept", file_.path(), why);
}

/// The file is not ours any more, so nothing is written to it.
void Sink::lose(FileFate fate) noexcept {
    lost_.store(true, std::memory_order_relaxed);
    if (!full())
        full_.store(trace::DropReason::no_memory, std::memory_order_relaxed);
    if (fate != FileFate::out_of_sight) // then a process that can open the file finds the rest in the segment
        memory_.let_go();
    if (fate == FileFate::cut)
        runtime::say("the trace %s was cut short by somebody; nothing more is recorded", file_.path());
    else
        runtime::say("the trace %s is not where it was written: the file is gone, or out of this process's "
                     "sight; nothing more is recorded",
                     file_.path());
}

/// Whether the file may be written to.
bool Sink::reachable() noexcept {
    if (lost())
        return false;
    const FileFate fate = file_.look();
    if (fate != FileFate::as_left)
        lose(fate);
    return !lost();
}

/// Reserves blocks for more chunks. Returns 0 or an errno value. With the lock held, or without other threads.
int Sink::reserve() noexcept {
    std::uint32_t chunks = std::min(reserved_ == 0 ? first_batch : later_batch, max_chunks() - reserved_);
    int error = 0;
    for (; chunks > 0; chunks /= 4) { // so that the last blocks of a disk are used
        error = file_.reserve(chunk_offset(reserved_), std::uint64_t{chunks} * trace::chunk_bytes);
        if (error == 0)
            break;
    }
    if (error != 0)
        return error;
    reserved_ += chunks;
    memory_.segment()->file_bytes.store(file_.bytes(), std::memory_order_release);
    return 0;
}

/// The same during recording: a failure is reported.
bool Sink::grow() noexcept {
    const trace::DropReason full = full_.load(std::memory_order_relaxed);
    if (full != trace::DropReason::count_ && full != trace::DropReason::size_cap)
        return false;
    if (reserved_ >= max_chunks()) {
        fill(trace::DropReason::size_cap, "size cap reached");
        return false;
    }
    if (!reachable())
        return false;
    if (const int error = reserve()) {
        fill(trace::DropReason::disk_full, describe(error));
        return false;
    }
    return true;
}

std::uint8_t* Sink::claim(trace::ChunkKind kind) noexcept {
    const Guard guard(mutex_);
    // The last chunk under the cap is kept for definitions, without which events are worth nothing.
    if (kind == trace::ChunkKind::event) {
        if (next_ + 1 >= max_chunks())
            fill(trace::DropReason::size_cap, "size cap reached");
        if (full())
            return nullptr;
    }
    if (lost() || (next_ == reserved_ && !grow()))
        return nullptr;
    std::uint8_t* const chunk = memory_.take(next_);
    if (chunk == nullptr)
        return nullptr;
    slots_[memory_.slot_of(chunk)] = {};
    // A reader that sees the number of chunks also sees the owner of the last one.
    header_->chunks.store(++next_, std::memory_order_release);
    return chunk;
}

int Sink::write_header() noexcept {
    return file_.write(0, header_, trace::header_bytes);
}

/// Writes a chunk that no thread changes meanwhile. The records come first: if the process is killed in
/// between, the header does not count records that are missing.
int Sink::write_whole(std::uint32_t slot) noexcept {
    const std::uint8_t* const chunk = memory_.chunk_in(slot);
    if (!has_begun(chunk))
        return 0;
    const auto& header = *reinterpret_cast<const trace::ChunkHeader*>(chunk);
    const std::uint64_t offset = chunk_offset(memory_.owner_of(slot) - 1);
    const std::uint32_t committed = header.committed.load(std::memory_order_acquire);
    Slot& state = slots_[slot];
    int error = 0;
    if (state.written < committed)
        error = file_.write(offset + sizeof header + state.written, chunk + sizeof header + state.written,
                            committed - state.written);
    if (error == 0)
        error = file_.write(offset, &header, sizeof header);
    if (error == 0)
        state = {.written = committed, .begun = true, .finished = state.finished};
    return error;
}

/// Writes what an owner that may be writing meanwhile has committed: that part does not change any more.
int Sink::write_committed(std::uint32_t slot) noexcept {
    const std::uint8_t* const chunk = memory_.chunk_in(slot);
    Slot& state = slots_[slot];
    if (memory_.owner_of(slot) == 0 || !has_begun(chunk))
        return 0;
    const auto& header = *reinterpret_cast<const trace::ChunkHeader*>(chunk);
    const bool counts = header.kind == trace::ChunkKind::summary; // counts change in place
    const std::uint32_t committed = header.committed.load(std::memory_order_acquire);
    const std::uint32_t written = counts ? 0 : state.written;
    if (state.begun && committed == written)
        return 0;
    const std::uint64_t offset = chunk_offset(memory_.owner_of(slot) - 1);
    trace::ChunkHeader open{};
    open.magic = trace::chunk_magic;
    open.kind = header.kind;
    open.thread = header.thread;
    open.sequence = header.sequence;
    open.base_time = header.base_time;
    open.committed.store(committed, std::memory_order_relaxed);
    int error = 0;
    if (written < committed)
        error = file_.write(offset + sizeof open + written, chunk + sizeof open + written, committed - written);
    if (error == 0)
        error = file_.write(offset, &open, sizeof open);
    if (error == 0)
        state = {.written = committed, .begun = true, .finished = state.finished};
    return error;
}

/// Returns whether the file has all. What could not be written stays in memory, for the next time or for a
/// reader.
bool Sink::write_all() noexcept {
    if (!reachable())
        return false;
    bool all = true;
    for (std::uint32_t slot = 0; slot < memory_.slots_used(); ++slot)
        all = (slots_[slot].finished ? put_away(slot) : write_committed(slot) == 0) && all;
    return write_header() == 0 && all;
}

/// Writes a finished chunk and frees its slot.
bool Sink::put_away(std::uint32_t slot) noexcept {
    const int error = write_whole(slot);
    if (error != 0) {
        // Lowered limits are those of this process alone: a reader of the trace finds the chunk in the segment.
        if (error != EFBIG)
            fill(trace::DropReason::disk_full, describe(error));
        return false;
    }
    release_tail(memory_.owner_of(slot) - 1,
                 static_cast<std::uint32_t>(sizeof(trace::ChunkHeader)) + slots_[slot].written);
    slots_[slot] = {};
    memory_.give_back(slot);
    return true;
}

void Sink::finish(std::uint8_t* chunk) noexcept {
    const Guard guard(mutex_);
    const std::uint32_t slot = memory_.slot_of(chunk);
    slots_[slot].finished = true;
    if (reachable())
        put_away(slot);
}

void Sink::keep(std::uint8_t* chunk) noexcept {
    if (!lock_within_a_second(mutex_))
        return; // it is in the segment
    if (reachable()) {
        write_whole(memory_.slot_of(chunk));
        if (closed())
            write_header();
    }
    mutex_.unlock();
}

void Sink::write_out(std::uint64_t now) noexcept {
    if (!mutex_.try_lock())
        return;
    const Quiet quiet;
    if (!lost())
        write_all();
    // Bounds the share also with a slow disk, or many threads.
    const std::uint64_t took = monotonic_nanoseconds() - now;
    next_write_.store(now + (closed() ? 0 : std::max(write_interval, took * write_share)),
                      std::memory_order_relaxed);
    mutex_.unlock();
}

void Sink::close() noexcept {
    if (!lock_within_a_second(mutex_))
        return; // a reader finds everything in the segment
    closed_.store(true, std::memory_order_relaxed);
    next_write_.store(0, std::memory_order_relaxed);
    // What could not be written stays in the segment for a reader, which removes the segment.
    if (write_all() && memory_.let_go()) {
        std::memset(memory_.header_image() + trace::segment_name_offset, 0, sizeof(trace::SegmentName));
        write_header();
    }
    mutex_.unlock();
}

void Sink::release_tail(std::uint64_t chunk, std::uint32_t used) noexcept {
    const std::uint64_t page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const std::uint64_t end = chunk_offset(chunk) + trace::chunk_bytes;
    const std::uint64_t from = (chunk_offset(chunk) + used + page - 1) / page * page;
    if (from < end && file_.release(from, end - from)) // some file systems cannot: then the blocks stay
        released_ += end - from;
}

void Sink::drop(trace::DropReason reason) noexcept {
    if (reason == trace::DropReason::count_)
        reason = trace::DropReason::no_memory;
    header_->dropped[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
}

} // namespace umadvisor::record
