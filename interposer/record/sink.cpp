#include "interposer/record/sink.hpp"

#include "interposer/record/clock.hpp"
#include "interposer/record/confined.hpp"
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

/// So many chunks the file becomes longer at a time; few at first, so that a small program has a small file.
constexpr std::uint32_t first_batch = 16, later_batch = 64;
constexpr std::uint32_t one_page = 4096;    ///< or a part of one
constexpr std::uint32_t most_finished = 64; ///< chunks of threads that have ended, in memory
constexpr std::uint32_t room_steps = 4;     ///< a chunk's room becomes so many times as large

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
        runtime::say("the trace %s was truncated by another process; nothing more is recorded", file_.path());
    else
        runtime::say("the trace %s is not where it was written: the file is gone, or out of this process's "
                     "sight; nothing more is recorded",
                     file_.path());
}

/// Whether the calling thread may write to the file. In a confined one it may not, and nothing else is wrong.
Sink::Access Sink::access() noexcept {
    if (lost() || !open_)
        return Access::none;
    if (is_confined())
        return Access::confined;
    const FileFate fate = file_.look();
    if (fate != FileFate::as_left)
        lose(fate);
    return lost() ? Access::none : Access::whole;
}

/// A file that has reached its cap still has the chunk that is kept for definitions.
bool Sink::may_grow() const noexcept {
    const trace::DropReason full = full_.load(std::memory_order_relaxed);
    return full == trace::DropReason::count_ || full == trace::DropReason::size_cap;
}

/// Lets the file reach to the end of the next chunk, and further, and reserves the first page of each:
/// thousands of short threads need no more, and none of them waits for it.
int Sink::lengthen() noexcept {
    std::uint32_t chunks = next_ < first_batch ? first_batch : later_batch;
    chunks =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>((room_ - used_) / trace::chunk_bytes, 1, chunks));
    int error = 0;
    do
        error = file_.lengthen(chunk_offset(next_ + chunks));
    while (error != 0 && (chunks /= 4) > 0); // so that the last bytes below a limit are used
    places_ = std::max(places_, next_);
    while (error == 0 && places_ < next_ + chunks) {
        error = file_.reserve(chunk_offset(places_), first_room);
        places_ += error == 0 ? 1 : 0;
    }
    memory_.segment()->file_bytes.store(file_.bytes(), std::memory_order_release);
    return places_ > next_ ? 0 : error;
}

/// Makes a place for a chunk in the file, and reserves the blocks of its first bytes. What a confined thread
/// records is found in the segment.
bool Sink::prepare(std::uint32_t chunk, std::uint32_t reserved) noexcept {
    const bool short_of = chunk >= places_;
    if (!short_of && reserved == 0)
        return true;
    if (const Access access = this->access(); access != Access::whole)
        return access == Access::confined;
    int error = short_of ? lengthen() : 0;
    if (error == 0 && reserved != 0)
        error = file_.reserve(chunk_offset(chunk), reserved);
    if (error != 0)
        fill(trace::DropReason::disk_full, describe(error));
    return error == 0;
}

Sink::Claimed Sink::claim(trace::ChunkKind kind, std::uint32_t room, bool of_lap) noexcept {
    const Guard guard(mutex_);
    // The last chunk under the cap is kept for definitions, without which events are worth nothing.
    const bool event = kind == trace::ChunkKind::event;
    if (!open_)
        return {};
    if (laps_.any()) // whose places are all alike
        room = trace::chunk_bytes;
    const bool has_place = make_room(event ? room + trace::chunk_bytes : room);
    if (!has_place && laps_.any()) // the lap that is written has all of it: the next one makes room
        return {};
    if (!has_place || next_ == ~std::uint32_t{0} - 1)
        fill(trace::DropReason::size_cap, "size cap reached");
    if (lost() || (event && full()) || !may_grow() || !has_room(room))
        return {};
    std::uint32_t place = next_;
    const bool again = laps_.take_place(place);
    const auto give_up = [&] {
        if (again)
            laps_.return_place(place);
        return Claimed{};
    };
    const bool reserves = room > first_room;
    if (!prepare(place, reserves ? room : 0))
        return give_up();
    std::uint8_t* chunk = memory_.take(place);
    if (chunk == nullptr && finished_ != 0 && reachable()) {
        put_away_finished();
        chunk = memory_.take(place);
    }
    if (chunk == nullptr)
        return give_up();
    const bool passes = event || kind == trace::ChunkKind::state || of_lap;
    const std::uint32_t lap = passes ? laps_.last() : 0;
    slots_[memory_.slot_of(chunk)] = {
        .written = 0, .room = room, .begun = false, .finished = false, .file = files_, .lap = lap};
    reinterpret_cast<trace::ChunkHeader*>(chunk)->lap = lap;
    if (lap != 0) {
        laps_.give(place);
        laps_.add(lap, room);
    }
    used_ += room;
    if (!again) // a reader that sees the number of chunks also sees the owner of the last one
        header_->chunks.store(++next_, std::memory_order_release);
    return {chunk, part_};
}

bool Sink::extend(std::uint8_t* chunk) noexcept {
    const Guard guard(mutex_);
    const std::uint32_t slot = memory_.slot_of(chunk);
    std::uint32_t& room = slots_[slot].room;
    if (room == trace::chunk_bytes || is_stray(slots_[slot])) // its file may have ended a moment ago
        return false;
    const std::uint32_t more = std::min(room * room_steps, trace::chunk_bytes);
    if (!has_room(more - room + trace::chunk_bytes))
        fill(trace::DropReason::size_cap, "size cap reached");
    if (full() || !prepare(memory_.owner_of(slot) - 1, more))
        return false;
    used_ += more - room;
    if (slots_[slot].lap != 0)
        laps_.add(slots_[slot].lap, more - room);
    room = more;
    return true;
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
    if (!state.begun && sizeof header + committed <= one_page) {
        error =
            file_.write(offset, &header, sizeof header + committed); // what lies in one page is copied whole
    } else {
        if (state.written < committed)
            error = file_.write(offset + sizeof header + state.written, chunk + sizeof header + state.written,
                                committed - state.written);
        if (error == 0)
            error = file_.write(offset, &header, sizeof header);
    }
    if (error == 0) {
        state.written = committed;
        state.begun = true;
    }
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
    open.lap = header.lap;
    open.committed.store(committed, std::memory_order_relaxed);
    int error = 0;
    if (written < committed)
        error = file_.write(offset + sizeof open + written, chunk + sizeof open + written, committed - written);
    if (error == 0)
        error = file_.write(offset, &open, sizeof open);
    if (error == 0) {
        state.written = committed;
        state.begun = true;
    }
    return error;
}

/// Returns whether the file has all. What could not be written stays in memory, for the next time or for a
/// reader.
bool Sink::write_all() noexcept {
    if (!reachable())
        return false;
    bool all = true;
    for (std::uint32_t slot = 0; slot < memory_.slots_used(); ++slot)
        if (!is_stray(slots_[slot]))
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
    slots_[slot] = {};
    memory_.give_back(slot);
    return true;
}

/// What could not be written waits for write_all().
void Sink::put_away_finished() noexcept {
    finished_ = 0;
    for (std::uint32_t slot = 0; slot < memory_.slots_used(); ++slot)
        if (slots_[slot].finished && !is_stray(slots_[slot]))
            put_away(slot);
}

void Sink::finish(std::uint8_t* chunk) noexcept {
    const Guard guard(mutex_);
    Slot& slot = slots_[memory_.slot_of(chunk)];
    if (is_stray(slot))
        return memory_.give_back(memory_.slot_of(chunk));
    slot.finished = true;
    const bool brief = slot.room < trace::chunk_bytes;
    if (++finished_ < most_finished && brief && !closed())
        return;
    if (reachable())
        put_away_finished();
}

void Sink::keep(std::uint8_t* chunk) noexcept {
    if (!lock_within_a_second(mutex_))
        return; // it is in the segment
    if (!is_stray(slots_[memory_.slot_of(chunk)]) && reachable()) {
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
    write_end();
    mutex_.unlock();
}

/// What could not be written stays in the segment for a reader, which removes the segment.
bool Sink::write_end() noexcept {
    closed_.store(true, std::memory_order_relaxed);
    next_write_.store(0, std::memory_order_relaxed);
    if (!write_all() || !memory_.let_go())
        return false;
    std::memset(memory_.header_image() + trace::segment_name_offset, 0, sizeof(trace::SegmentName));
    return write_header() == 0;
}

void Sink::drop(trace::DropReason reason) noexcept {
    if (reason == trace::DropReason::count_)
        reason = laps_.any() ? trace::DropReason::size_cap : trace::DropReason::no_memory;
    header_->dropped[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
}

} // namespace umadvisor::record
