#include "analyzer/reports/sqlite/sql_memory.hpp"

#include "analyzer/facts/direction.hpp"
#include "analyzer/reader/plain.hpp"
#include "analyzer/reader/saturated.hpp"
#include "analyzer/reader/shown_name.hpp"

#include <array>
#include <string_view>

namespace umadvisor::reports {
namespace {

template <std::size_t N>
std::string_view word(const std::array<std::string_view, N>& words, std::uint64_t number) {
    return words[number < N ? number : 0];
}

std::string_view cause_of(const trace::ManagedEvent& record) {
    return word(std::to_array<std::string_view>(
                    {"unknown", "user", "coherence", "prefetch", "eviction", "access_counters"}),
                record.cause);
}

std::string_view access_of(const trace::ManagedEvent& record) {
    return word(std::to_array<std::string_view>({"unknown", "read", "write", "atomic", "prefetch"}),
                record.cause);
}

/// -1: the host.
std::int64_t device_of(std::uint64_t processor) {
    return static_cast<std::int64_t>(processor) - 1;
}

} // namespace

SqlMemory::SqlMemory(Database& database, const advice::Report& report, std::int64_t run)
    : trace_(report.trace),
      run_(run),
      rows_(database, "allocations", 18),
      moves_(database, "moves", 9),
      faults_(database, "faults", 10) {}

void SqlMemory::tell(const Allocation& allocation) {
    const trace::Alloc& made = allocation.made;
    stacks_.insert(ids::StackId::of(made));
    stacks_.insert(allocation.free_stack);
    entries_.insert(made.entry);
    const Nullable freed = allocation.freed == 0 ? Nullable() : Nullable(trace_.time.at(allocation.freed));
    rows_.row(run_, made.allocation, made.entry, made.stack, trace::name(made.memory),
              reader::plain(reader::shown_name(trace_.dictionary.string(made.symbol))), made.address,
              made.bytes, made.device, trace_.time.at(made.start), freed, allocation.free_stack,
              allocation.copied_to_device, allocation.copied_to_host, allocation.moved_to_device,
              allocation.moved_to_host, allocation.host_faults, allocation.device_faults);
}

/// Its row is written, and nothing can be counted for it any more.
void SqlMemory::forget(trace::AllocationId id) {
    const auto known = known_.find(id);
    if (known == known_.end())
        return;
    tell(known->second);
    if (const auto managed = managed_.find(known->second.made.address);
        managed != managed_.end() && managed->second == id)
        managed_.erase(managed);
    known_.erase(known);
}

void SqlMemory::add(const trace::Alloc& record) {
    if (record.status != 0 || record.captured != 0 || !known(record.allocation))
        return;
    forget(record.allocation);
    known_[record.allocation].made = record;
    if (record.memory == trace::Memory::managed)
        managed_[record.address] = record.allocation;
    ++totals_.allocations;
    reader::add_saturated(totals_.allocated_bytes, record.bytes);
}

void SqlMemory::add(const trace::Free& record) {
    const auto known = known_.find(record.allocation);
    if (record.status != 0 || record.captured != 0 || known == known_.end() || known->second.freed != 0)
        return;
    known->second.freed = std::max<std::uint64_t>(1, record.start);
    known->second.free_stack = ids::StackId::of(record);
    freed_.push_back(record.allocation);
    if (freed_.size() <= most_freed)
        return;
    // The number may have been given out again since.
    if (const auto oldest = known_.find(freed_.front()); oldest != known_.end() && oldest->second.freed != 0)
        forget(freed_.front());
    freed_.pop_front();
}

void SqlMemory::add(const trace::Copy& record) {
    const bool from_host = facts::is_host_memory(record.source_memory),
               to_host = facts::is_host_memory(record.destination_memory);
    if (record.status != 0 || record.captured != 0 || from_host == to_host)
        return;
    const auto known = known_.find(from_host ? record.destination_allocation : record.source_allocation);
    if (known != known_.end())
        reader::add_saturated(from_host ? known->second.copied_to_device : known->second.copied_to_host,
                              record.bytes);
}

SqlMemory::Allocation* SqlMemory::at(std::uint64_t address) {
    auto managed = managed_.upper_bound(address);
    if (managed == managed_.begin())
        return nullptr;
    const auto known = known_.find((--managed)->second);
    if (known == known_.end() || address - known->second.made.address >= known->second.made.bytes)
        return nullptr;
    return &known->second;
}

Nullable SqlMemory::number_of(const Allocation* allocation) {
    return allocation == nullptr ? Nullable() : Nullable(number(allocation->made.allocation));
}

void SqlMemory::move(const trace::ManagedEvent& record, Allocation* allocation) {
    moves_.row(run_, trace_.time.at(record.start), trace_.time.length(record.duration), number_of(allocation),
               record.address, record.bytes, device_of(record.from), device_of(record.to), cause_of(record));
    if (allocation == nullptr)
        return;
    if (record.to == 0 && record.from != 0)
        reader::add_saturated(allocation->moved_to_host, record.bytes);
    else if (record.from == 0 && record.to != 0)
        reader::add_saturated(allocation->moved_to_device, record.bytes);
}

void SqlMemory::fault(const trace::ManagedEvent& record, Allocation* allocation) {
    const bool of_host = record.kind == trace::ManagedEventKind::host_fault;
    const std::uint64_t count = reader::saturated_sum(record.count, 1);
    stacks_.insert(ids::StackId(record.code));
    faults_.row(run_, trace_.time.at(record.start), of_host ? -1 : device_of(record.to), number_of(allocation),
                record.address, record.bytes, access_of(record), count, record.thread, record.code);
    if (allocation != nullptr)
        reader::add_saturated(of_host ? allocation->host_faults : allocation->device_faults, count);
}

void SqlMemory::add(const trace::ManagedEvent& record) {
    using Kind = trace::ManagedEventKind;
    if (record.kind == Kind::migration)
        move(record, at(record.address));
    else if (record.kind == Kind::host_fault || record.kind == Kind::device_fault)
        fault(record, at(record.address));
}

void SqlMemory::finish(const std::function<void(ids::StackId)>& stack,
                       const std::function<void(std::uint64_t)>& entry) {
    for (const auto& [id, allocation] : known_)
        tell(allocation);
    known_.clear();
    for (const ids::StackId each : stacks_)
        stack(each);
    for (const std::uint64_t each : entries_)
        entry(each);
}

} // namespace umadvisor::reports
