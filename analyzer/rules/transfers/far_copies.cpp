#include "analyzer/rules/transfers/far_copies.hpp"

#include "analyzer/facts/direction.hpp"
#include "analyzer/tables/narrow_rows.hpp"

namespace umadvisor::rules {
namespace {

bool is_of_device(trace::Memory memory) {
    return memory == trace::Memory::device || memory == trace::Memory::array;
}

/// Bytes by nanoseconds, cross-multiplied; of nothing the rate is 0.
bool is_quicker(const TimedCopies& a, const TimedCopies& b) {
    return b.count == 0 || static_cast<double>(a.bytes) * static_cast<double>(b.ns) >
                               static_cast<double>(b.bytes) * static_cast<double>(a.ns);
}

} // namespace

FarCopies::FarCopies(const reader::Trace& trace) : trace_(trace) {
    for (const trace::Device& device : trace.dictionary.devices)
        if (device.node != 0)
            nodes_[device.ordinal] = device.node;
}

void FarCopies::add(const trace::Alloc& record) {
    if (record.status != 0)
        return;
    if (facts::is_page_locked(record.memory) && record.node != 0) {
        places_[record.allocation] = {record.node, {record.stack, record.entry}};
    } else if (is_of_device(record.memory)) {
        if (const auto found = nodes_.find(record.device); found != nodes_.end())
            places_[record.allocation] = {found->second, {}};
    }
}

FarTotals* FarCopies::totals_of(const trace::Copy& copy, facts::Direction direction) {
    const bool up = facts::is_page_locked(copy.source_memory) && is_of_device(copy.destination_memory);
    const bool down = is_of_device(copy.source_memory) && facts::is_page_locked(copy.destination_memory);
    if (!up && !down)
        return nullptr;
    const Place* const host = places_.find(up ? copy.source_allocation : copy.destination_allocation);
    const Place* const device = places_.find(up ? copy.destination_allocation : copy.source_allocation);
    if (host == nullptr || device == nullptr)
        return nullptr;
    if (host->node == device->node)
        return copy.bytes >= tables::link_copy_bytes ? &near_[direction] : nullptr;
    return &sites_[{.copy = {copy.stack, copy.entry, copy.host_range, copy.source_memory,
                             copy.destination_memory, copy.asynchronous != 0, copy.batch != 0, false},
                    .device_node = device->node,
                    .host_node = host->node,
                    .allocation = host->allocation}];
}

void FarCopies::add(const trace::Copy& copy) {
    if (places_.empty() || copy.bytes < least_far_bytes || copy.status != 0 || copy.captured != 0 ||
        copy.origin != trace::Origin::program || tables::has_narrow_rows(copy))
        return;
    const facts::Direction direction = facts::direction_of(copy, trace_.dictionary.symbol(copy.entry));
    FarTotals* const totals = totals_of(copy, direction);
    if (totals == nullptr)
        return;
    totals->direction = direction;
    ++totals->count;
    totals->bytes += copy.bytes;
    if (copy.asynchronous == 0 && copy.batch == 0) {
        const TimedCopies call{1, copy.bytes, trace_.time.length(copy.duration)};
        if (is_quicker(call, totals->quickest))
            totals->quickest = call;
    }
    if (copy.sample != 0)
        awaited_.add(copy.sample, {totals, copy.bytes});
}

void FarCopies::measure(std::uint64_t sample, std::uint64_t nanoseconds) {
    const std::optional<Sampled> known = awaited_.take(sample);
    if (!known)
        return;
    TimedCopies& sampled = known->totals->sampled;
    ++sampled.count;
    sampled.bytes += known->bytes;
    sampled.ns += nanoseconds;
}

FarTotals FarCopies::near(facts::Direction direction) const {
    const auto found = near_.find(direction);
    return found == near_.end() ? FarTotals{} : found->second;
}

} // namespace umadvisor::rules
