#include "interposer/record/ring_laps.hpp"

#include "interposer/base/pages.hpp"

#include <cstring>
#include <utility>

namespace umadvisor::record {

namespace {
constexpr std::uint64_t never = ~std::uint64_t{0};
} // namespace

bool RingLaps::begin(std::uint64_t bytes, std::uint64_t nanoseconds, std::uint64_t places,
                     trace::ClockPair time, std::uint64_t now) noexcept {
    first_ = last_ = 0;
    free_count_ = 0;
    due_ = never;
    full_ = false;
    any_ = bytes != 0 || nanoseconds != 0;
    if (!any())
        return true;
    if (lap_of_ == nullptr) {
        auto* const tables = static_cast<std::uint32_t*>(base::map_pages(2 * places * sizeof *lap_of_));
        if (tables == nullptr)
            return false;
        lap_of_ = tables;
        free_ = tables + places;
    } else {
        std::memset(lap_of_, 0, places * sizeof *lap_of_); // of an earlier ring, which was as long
    }
    lap_ns_ = nanoseconds / (most - 1); // so that all but the lap that is written are as long as was asked for
    lap_bytes_ = bytes / most;
    first_ = 1;
    next(time, now);
    return true;
}

void RingLaps::next(trace::ClockPair time, std::uint64_t now) noexcept {
    of(++last_) = {time, 0};
    due_.store(lap_ns_ != 0 ? now + lap_ns_ : never, std::memory_order_relaxed);
    full_.store(false, std::memory_order_relaxed);
}

void RingLaps::add(std::uint32_t lap, std::uint64_t bytes) noexcept {
    of(lap).bytes += bytes;
    if (lap == last_ && lap_bytes_ != 0 && of(lap).bytes >= lap_bytes_)
        full_.store(true, std::memory_order_relaxed);
}

std::uint64_t RingLaps::drop_first(std::uint32_t places) noexcept {
    for (std::uint32_t place = 0; place < places; ++place)
        if (lap_of_[place] == first_) {
            lap_of_[place] = 0;
            free_[free_count_++] = place;
        }
    return std::exchange(of(first_++).bytes, 0);
}

} // namespace umadvisor::record
