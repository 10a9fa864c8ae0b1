/// Files and laps that begin and end, while threads have chunks.
#include "interposer/record/clock.hpp"
#include "interposer/record/sink.hpp"
#include "interposer/record/summary.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <unistd.h>

namespace umadvisor::record {

namespace {
/// One chunk less than can be numbered, since slots hold the number plus one.
constexpr std::uint64_t max_file_bytes = trace::header_bytes + (std::uint64_t{trace::chunk_bytes} << 32) - 1;
} // namespace

const char* Sink::create(const Settings& settings) noexcept {
    {
        const Guard guard(mutex_); // threads may still give chunks of an earlier file back
        if (const char* const why = begin(settings))
            return why;
    }
    // Claimed at the start, so that records dropped by a full disk or the cap are counted.
    if (this == &sink)
        if (std::uint8_t* const unused = summary.use(claim(trace::ChunkKind::summary).memory))
            finish(unused);
    return nullptr;
}

const char* Sink::begin(const Settings& settings) noexcept {
    if (const char* why = file_.create(settings.path, settings.force))
        return why;
    if (!memory_.create(file_.device(), file_.inode()))
        return file_.fail(settings.path, "no memory for the first records");
    // Three chunks are the least that can hold anything: the summary, one of events, one of definitions.
    const std::uint64_t cap = settings.ring_bytes != 0 ? settings.ring_bytes : settings.max_bytes;
    const std::uint64_t most = cap != 0 ? cap : max_file_bytes;
    room_ = std::clamp<std::uint64_t>(most, trace::header_bytes + 3 * trace::chunk_bytes, max_file_bytes) -
            trace::header_bytes;
    next_ = places_ = finished_ = 0;
    used_ = 0;
    ++files_;
    full_ = trace::DropReason::count_;
    lost_ = closed_ = false;
    next_write_ = 0;
    describe_file();
    header_->late = settings.cause != trace::PauseCause::start;
    if (!laps_.begin(settings.ring_bytes, settings.ring_ns, room_ / trace::chunk_bytes + 1, header_->first,
                     monotonic_nanoseconds())) {
        give_up_memory();
        return file_.fail(settings.path, "no memory for a ring");
    }
    if (laps_.any())
        write_first_lap();
    int error = file_.reserve(0, trace::header_bytes);
    if (error == 0)
        error = write_header();
    if (error == 0) // before the first claim, which would report it
        error = file_.reserve(trace::header_bytes, trace::chunk_bytes);
    if (error != 0) {
        give_up_memory();
        return file_.fail(settings.path, describe(error));
    }
    open_ = true;
    begin_part();
    return nullptr;
}

void Sink::give_up_memory() noexcept {
    memory_.let_go();
    memory_.create_private();
}

void Sink::describe_file() noexcept {
    if (header_ == nullptr) // else it is there, and other threads use it
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

bool Sink::sleep() noexcept {
    if (!memory_.create_private())
        return false;
    header_ = reinterpret_cast<trace::FileHeader*>(memory_.header_image());
    return true;
}

/// Threads that find another part than that of their chunk begin a new one.
void Sink::begin_part() noexcept {
    ++part_;
    if (this == &sink)
        detail::taking_page.part.store(part_, std::memory_order_release);
}

void Sink::write_first_lap() noexcept {
    const std::uint64_t first = laps_.first();
    std::memcpy(memory_.header_image() + trace::first_lap_offset, &first, sizeof first);
}

/// Whether `bytes` more fit, at the cost of a ring's oldest laps.
bool Sink::make_room(std::uint64_t bytes) noexcept {
    while (!has_room(bytes) && laps_.first() < laps_.last() && !copying_)
        drop_oldest_lap();
    return has_room(bytes);
}

void Sink::drop_oldest_lap() noexcept {
    used_ -= laps_.drop_first(next_);
    // A reader takes no chunk of the lap any more, before their places get others.
    header_->first = laps_.beginning();
    write_first_lap();
    std::atomic_thread_fence(std::memory_order_release);
    for (std::uint32_t slot = 0; slot < memory_.slots_used(); ++slot)
        if (memory_.owner_of(slot) != 0 && is_stray(slots_[slot])) {
            memory_.disown(slot);
            if (slots_[slot].finished)
                memory_.give_back(slot);
        }
}

void Sink::next_lap() noexcept {
    const Guard guard(mutex_);
    if (!laps_.any())
        return;
    while (laps_.last() - laps_.first() + 1 >= RingLaps::most && !copying_)
        drop_oldest_lap();
    if (laps_.last() - laps_.first() + 1 >= RingLaps::most) // the ring is being copied
        return;
    laps_.next(read_clock_pair(), monotonic_nanoseconds());
    begin_part();
}

/// The memory of the chunks stays where it is: a thread that is in the middle of a record writes it to pages of
/// no file.
bool Sink::end() noexcept {
    const Guard guard(mutex_);
    const bool whole = write_end();
    for (std::uint32_t slot = 0; slot < memory_.slots_used(); ++slot)
        if (slots_[slot].finished && slots_[slot].file == files_ && memory_.owner_of(slot) != 0)
            memory_.give_back(slot); // it could not be written
    file_.close();
    open_ = false;
    laps_.end();
    memory_.create_private();
    ++files_;
    begin_part();
    return whole;
}

/// The header is written last: a copy that is not whole is no trace.
const char* Sink::copy_to(const char* path) noexcept {
    static OutputFile copy; // one copy at a time
    std::uint8_t header[trace::header_bytes];
    std::uint64_t end = 0;
    int from = -1;
    if (const char* const why = copy.create(path, false))
        return why;
    {
        const Guard guard(mutex_);
        if (!reachable() || !write_all() || (from = file_.duplicate()) < 0)
            return copy.fail(path, "the trace that is to be copied cannot be written");
        copying_ = true;
        end = file_.bytes();
        std::memcpy(header, header_, sizeof header);
    }
    std::memset(header + trace::segment_name_offset, 0, sizeof(trace::SegmentName));
    const auto closed = trace::FileState::closed;
    std::memcpy(header + offsetof(trace::FileHeader, state), &closed, sizeof closed);
    int error = copy.copy(from, sizeof header, end);
    if (error == 0)
        error = copy.write(0, header, sizeof header);
    ::close(from);
    {
        const Guard guard(mutex_);
        copying_ = false;
    }
    if (error != 0)
        return copy.fail(path, describe(error));
    copy.close();
    return nullptr;
}

} // namespace umadvisor::record
