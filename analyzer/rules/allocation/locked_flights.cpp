#include "analyzer/rules/allocation/locked_flights.hpp"

#include "analyzer/facts/direction.hpp"
#include "analyzer/rules/hazards.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace umadvisor::rules {
namespace {

/// One thread neither writes nor reads more bytes in a second.
constexpr double most_touched_per_second = 20e9;

} // namespace

FlightTotals& FlightTotals::operator+=(const FlightTotals& other) {
    most_buffers += other.most_buffers;
    most_bytes += other.most_bytes;
    copies += other.copies;
    beside_work += other.beside_work;
    renewed += other.renewed;
    kept += other.kept;
    return *this;
}

/// The hazards' counter gets each record after this one does.
LockedFlights::LockedFlights(const Begin& begin, Counters& counters)
    : order_(counters.get<Hazards>(begin).order()) {}

void LockedFlights::add(const trace::Alloc& record) {
    if (record.status != 0 || !facts::is_page_locked(record.memory) || live_.contains(record.allocation))
        return;
    Site& site = made_at_[ids::CallSite::of(record)];
    site.totals = &sites_[ids::CallSite::of(record)];
    live_[record.allocation] = {.site = &site, .bytes = record.bytes};
}

void LockedFlights::add(const trace::Free& record) {
    Memory* const memory = live_.find(record.allocation);
    if (record.status != 0 || memory == nullptr)
        return;
    memory->site->totals->buffers -= memory->flights != 0;
    memory->site->totals->bytes -= in_flight(*memory);
    live_.erase(record.allocation);
}

void LockedFlights::end(const Flight& flight) {
    --flying_;
    Memory* const memory = live_.find(flight.allocation);
    if (memory == nullptr) // it was freed meanwhile
        return;
    FlightTotals& totals = *memory->site->totals;
    totals.bytes -= in_flight(*memory);
    memory->flying_bytes -= flight.bytes;
    totals.bytes += in_flight(*memory);
    totals.buffers -= --memory->flights == 0;
}

/// Work of one stream is waited for in its order.
void LockedFlights::land() {
    for (auto& [stream, flights] : flights_)
        for (; !flights.empty() && order_.is_awaited(flights.front().moment); flights.pop_front())
            end(flights.front());
}

void LockedFlights::count_content(Memory& memory, const trace::Copy& copy, bool up) {
    FlightTotals& totals = *memory.site->totals;
    const std::uint64_t hash = up ? copy.content.part_hash : 0;
    if (!up)
        totals.renewed += memory.downloaded;
    else if (memory.downloaded || (hash != 0 && hash == memory.upload_hash))
        ++totals.kept;
    else if (hash != 0 && memory.upload_hash != 0)
        ++totals.renewed;
    memory.upload_hash = hash;
    memory.downloaded = !up;
}

void LockedFlights::fly(const trace::Copy& copy, trace::AllocationId allocation, bool up,
                        const facts::Call& call) {
    Memory* const memory = live_.find(allocation);
    if (memory == nullptr)
        return;
    Site& site = *memory->site;
    FlightTotals& totals = *site.totals;
    const double own_ns = threads_[call.thread].own_ns;
    const double touch_ns = static_cast<double>(copy.bytes) / most_touched_per_second * 1e9;
    totals.beside_work += totals.copies != 0 && site.thread == call.thread && own_ns - site.own_ns >= touch_ns;
    ++totals.copies;
    site.thread = call.thread;
    site.own_ns = own_ns;
    count_content(*memory, copy, up);

    totals.bytes -= in_flight(*memory);
    memory->flying_bytes += copy.bytes;
    totals.bytes += in_flight(*memory);
    totals.buffers += memory->flights++ == 0;
    totals.most_bytes = std::max(totals.most_bytes, totals.bytes);
    totals.most_buffers = std::max(totals.most_buffers, totals.buffers);
    flights_[call.stream.number].push_back(
        {{call.stream.number, order_.last(call.stream).number + 1}, allocation, copy.bytes});
    lost_ |= ++flying_ > most_flights;
}

void LockedFlights::add(const WorkCall& made) {
    const facts::Call& call = made.call;
    Thread& thread = threads_[call.thread];
    thread.own_ns += std::max(0.0, call.start - thread.end);
    thread.end = std::max(thread.end, call.start + call.duration);
    const auto* const copy = std::get_if<trace::Copy>(&made.cursor.event());
    if (copy == nullptr || call.queues != facts::Queues::work || copy->status != 0 || unknown())
        return;
    land();
    fly(*copy, copy->source_allocation, true, call);
    fly(*copy, copy->destination_allocation, false, call);
}

} // namespace umadvisor::rules
