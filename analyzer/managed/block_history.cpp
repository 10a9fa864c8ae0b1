#include "analyzer/managed/block_history.hpp"

#include "analyzer/managed/managed_tally.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace umadvisor::managed {
namespace {

using reader::add_saturated;

constexpr unsigned driver_shift = 21, greatest_shift = 63;
constexpr std::uint64_t most_blocks_of_event = 1024; ///< the driver's own events are about one

void note_event(BlockActivity& block, const trace::ManagedEvent& event, std::uint64_t bytes,
                std::uint64_t faults) {
    using Kind = trace::ManagedEventKind;
    block.first_ticks = std::min(block.first_ticks, event.start);
    block.last_ticks = std::max(block.last_ticks, event.start);
    switch (event.kind) {
    case Kind::host_fault:
        add_saturated(block.host_faults, faults);
        block.host_code = event.code;
        break;
    case Kind::device_fault:
        add_saturated(block.device_faults, faults);
        break;
    case Kind::migration:
        if (direction_of(event) == MoveDirection::to_host) {
            add_saturated(block.bytes_to_host, bytes);
            block.round_trips += std::exchange(block.away, false) ? 1 : 0;
            block.place = BlockPlace::host;
        } else {
            if (direction_of(event) == MoveDirection::to_device)
                add_saturated(block.bytes_to_device, bytes);
            block.away = true;
            block.place = BlockPlace::device;
        }
        break;
    case Kind::read_duplicate:
        block.place = BlockPlace::both;
        break;
    case Kind::read_duplicate_end:
        block.place = event.to == 0 ? BlockPlace::host : BlockPlace::device;
        break;
    default:
        break;
    }
}

} // namespace

std::string_view name(BlockPlace place) {
    constexpr std::array<std::string_view, 4> names{"unknown", "host", "device", "both"};
    return names[static_cast<std::size_t>(place)];
}

std::uint64_t BlockActivity::traffic() const {
    return reader::saturated_sum(bytes_to_device, bytes_to_host);
}

void BlockActivity::add(const BlockActivity& other) {
    add_saturated(bytes_to_device, other.bytes_to_device);
    add_saturated(bytes_to_host, other.bytes_to_host);
    add_saturated(device_faults, other.device_faults);
    add_saturated(host_faults, other.host_faults);
    add_saturated(round_trips, other.round_trips);
    if (other.last_ticks >= last_ticks && other.host_code != 0)
        host_code = other.host_code;
    if (place == BlockPlace::unknown)
        place = other.place;
    else if (other.place != BlockPlace::unknown && other.place != place)
        place = BlockPlace::both;
    away = away || other.away;
    first_ticks = std::min(first_ticks, other.first_ticks);
    last_ticks = std::max(last_ticks, other.last_ticks);
}

void BlockHistory::coarsen() {
    if (shift_ == driver_shift)
        ++budget_.coarser;
    ++shift_;
    const std::uint64_t before = blocks_.size();
    std::map<std::uint64_t, BlockActivity> larger;
    for (const auto& [number, block] : blocks_)
        larger[number >> 1].add(block);
    blocks_ = std::move(larger);
    budget_.used -= before - blocks_.size();
}

BlockActivity& BlockHistory::at(std::uint64_t offset) {
    for (;;) {
        const auto found = blocks_.find(offset >> shift_);
        if (found != blocks_.end())
            return found->second;
        if (budget_.used < budget_.most || blocks_.empty() || shift_ == greatest_shift)
            break;
        coarsen();
    }
    ++budget_.used;
    return blocks_[offset >> shift_];
}

const BlockActivity& BlockHistory::add(const trace::ManagedEvent& event, std::uint64_t first,
                                       std::uint64_t last) {
    while ((last >> shift_) - (first >> shift_) >= most_blocks_of_event)
        coarsen();
    std::uint64_t faults = faults_of(event); // of neighbouring pages: in one block, but for a few
    for (std::uint64_t offset = first;;) {
        BlockActivity& block = at(offset);
        const std::uint64_t end = std::min(last, offset | (block_bytes() - 1));
        note_event(block, event, end - offset + 1, std::exchange(faults, 0));
        if (end == last)
            return at(first);
        offset = end + 1;
    }
}

} // namespace umadvisor::managed
