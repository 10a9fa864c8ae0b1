/// The sink of a process that has several recordings, and of a ring: what begins and ends while threads have
/// chunks.
#include "interposer/record/clock.hpp"
#include "interposer/record/file_copy.hpp"
#include "interposer/record/sink.hpp"

#include <atomic>
#include <cstring>

namespace umadvisor::record {

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
    memory_.create_private();
    ++files_;
    begin_part();
    return whole;
}

const char* Sink::copy_to(const char* path) noexcept {
    FileCopy copy;
    {
        const Guard guard(mutex_);
        if (!reachable() || !write_all())
            return "the trace cannot be written";
        copying_ = true;
        copy.from = file_.duplicate();
        copy.bytes = file_.bytes();
        std::memcpy(copy.header, header_, sizeof copy.header);
    }
    std::memset(copy.header + trace::segment_name_offset, 0, sizeof(trace::SegmentName));
    const auto closed = trace::FileState::closed;
    std::memcpy(copy.header + offsetof(trace::FileHeader, state), &closed, sizeof closed);
    const char* const why = copy.write(path);
    const Guard guard(mutex_);
    copying_ = false;
    return why;
}

} // namespace umadvisor::record
