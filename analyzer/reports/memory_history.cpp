#include "analyzer/reports/memory_history.hpp"

#include "analyzer/facts/direction.hpp"
#include "analyzer/facts/own_calls.hpp"
#include "analyzer/tables/failed_calls.hpp"

#include <algorithm>

namespace umadvisor::reports {
namespace {

/// The address at which arrays are assumed to lie; they overlap if there are more than fit.
constexpr std::uint64_t last_array = std::uint64_t{1} << 62, array_alignment = 512;
/// Larger than any memory. Larger numbers of a damaged or hostile trace are cut to this, so that sums stay
/// small.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 56;

} // namespace

/// Memory of another process does not count as this one's.
bool MemoryHistory::is_followed(const trace::Alloc& record) const {
    if (record.captured != 0 || record.bytes == 0 || record.device >= most_devices ||
        facts::is_host_memory(record.memory) || (at_oom_ && any_oom_))
        return false;
    const std::string_view symbol = dictionary_.symbol(record.entry);
    return symbol.find("Ipc") == symbol.npos && symbol.find("External") == symbol.npos &&
           symbol.find("Import") == symbol.npos;
}

void MemoryHistory::step(std::string_view action, const HeldMemory& memory, std::uint64_t start,
                         std::uint64_t free) {
    steps_.push_back({action, memory, start, free});
    if (steps_.size() > limit_) {
        steps_.pop_front();
        ++left_out_;
    }
}

std::uint64_t MemoryHistory::most_free(std::uint64_t device) const {
    const auto known = std::ranges::find(dictionary_.devices, device, &trace::Device::ordinal);
    const auto held = device_bytes_.find(device);
    const std::uint64_t all = known == dictionary_.devices.end() ? 0 : known->memory_bytes;
    return all - std::min(all, held == device_bytes_.end() ? 0 : held->second);
}

void MemoryHistory::release(Held held, const ids::CallSite& by, std::uint64_t start) {
    HeldMemory memory = held->second;
    if (memory.managed == 0)
        device_bytes_[memory.device] -= memory.bytes;
    addresses_.erase(memory.allocation);
    held_.erase(held);
    memory.site = by;
    for (const std::string_view action : {"free_requested", "free_completed", "segment_free"})
        step(action, memory, start);
}

/// A call that frees is recorded when it begins and one that allocates when it began, so of two threads the
/// first can seem to be the later.
void MemoryHistory::make_room(const HeldMemory& memory, std::uint64_t start) {
    if (const auto known = addresses_.find(memory.allocation); known != addresses_.end())
        release(held_.find(known->second), {}, start);
    Held at = held_.lower_bound(memory.address);
    if (at != held_.begin() && std::prev(at)->first + std::prev(at)->second.bytes > memory.address)
        --at;
    while (at != held_.end() && at->first < memory.address + memory.bytes)
        release(at++, {}, start);
}

void MemoryHistory::add(const trace::Alloc& record) {
    if (!is_followed(record))
        return;
    HeldMemory memory{record.allocation,
                      record.address,
                      std::min(record.bytes, most_bytes),
                      record.device,
                      record.stream,
                      ids::CallSite::of(record),
                      record.memory == trace::Memory::managed};
    if (record.status == tables::out_of_memory && facts::is_program_call(record)) {
        any_oom_ = true;
        step("oom", memory, record.start, most_free(record.device));
    }
    if (record.status != 0 || !known(record.allocation))
        return;
    if (memory.address == 0 || memory.address > UINT64_MAX - memory.bytes) { // an array has none
        if (next_array_ > last_array)
            next_array_ = first_array;
        memory.address = next_array_;
        next_array_ += (memory.bytes + array_alignment - 1) / array_alignment * array_alignment;
    }
    make_room(memory, record.start);
    held_.emplace(memory.address, memory);
    addresses_.emplace(memory.allocation, memory.address);
    if (memory.managed == 0)
        device_bytes_[memory.device] += memory.bytes;
    step("segment_alloc", memory, record.start);
    step("alloc", memory, record.start);
}

void MemoryHistory::add(const trace::Free& record) {
    const auto known = addresses_.find(record.allocation);
    if (record.status != 0 || record.captured != 0 || known == addresses_.end() || (at_oom_ && any_oom_))
        return;
    release(held_.find(known->second), ids::CallSite::of(record), record.start);
}

} // namespace umadvisor::reports
