#include "analyzer/rules/allocation/growing_memory.hpp"

#include "analyzer/reader/saturated.hpp"

#include <algorithm>

namespace umadvisor::rules {

std::uint64_t Growth::peak_bytes(std::uint64_t device) const {
    const auto found = live_.find(device);
    return found == live_.end() ? 0 : found->second.peak_bytes;
}

void Growth::add(const trace::Alloc& record) {
    // A stream-ordered pool keeps what is given back: its allocations tell nothing of the device's memory.
    if (record.status != 0 || record.captured != 0 || record.part != 0 || record.symbol != 0 ||
        record.origin != trace::Origin::program || record.memory != trace::Memory::device ||
        dictionary_.is_stream_ordered(record.entry) || dictionary_.python_frames.empty())
        return;
    Live& live = live_[record.device];
    reader::add_saturated(live.bytes, record.bytes);
    live.peak_bytes = std::max(live.peak_bytes, live.bytes);
    Place& place = places_[record.allocation];
    place = {.device = record.device, .bytes = record.bytes};
    const GrowthSite site{record.stack, record.entry, record.device};
    if (!dictionary_.is_python(record.stack) || (sites_.size() == most_sites && !sites_.contains(site)))
        return;
    GrowthTotals& totals = sites_[site];
    totals.complete &= totals.pieces.size() < most_pieces;
    if (!totals.complete)
        return;
    place.totals = &totals;
    place.piece = totals.pieces.size();
    totals.pieces.push_back({launches_, record.start, record.bytes});
}

/// What goes with its context was not freed by the program.
void Growth::add(const trace::Free& record) {
    if (record.status != 0 || record.captured != 0 || record.part != 0)
        return;
    const Place* const place = places_.find(record.allocation);
    if (place == nullptr)
        return;
    Live& live = live_[place->device];
    live.bytes -= std::min(live.bytes, place->bytes);
    if (place->totals != nullptr) {
        reader::add_saturated(place->totals->freed_bytes, place->bytes);
        place->totals->pieces[place->piece].bytes = 0;
    }
    places_.erase(record.allocation);
}

} // namespace umadvisor::rules
