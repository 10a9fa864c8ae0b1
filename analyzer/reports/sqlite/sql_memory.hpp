/// Allocations and managed memory as rows of a database.
#pragma once

#include "analyzer/advice/report.hpp"
#include "analyzer/reports/sqlite/database.hpp"
#include "trace/copy_records.hpp"
#include "trace/managed_records.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace umadvisor::reports {

/// Follows the events in the order of time; those of managed memory may come some milliseconds late, so that
/// what was freed is kept for a while.
class SqlMemory {
public:
    SqlMemory(Database& database, const advice::Report& report, std::int64_t run);

    void add(const trace::Alloc& record);
    void add(const trace::Free& record);
    void add(const trace::Copy& record);
    void add(const trace::ManagedEvent& record);
    /// Call once, after the last. Calls the functions for each stack and entry point that its rows name.
    void finish(const std::function<void(ids::StackId)>& stack,
                const std::function<void(std::uint64_t)>& entry);

    struct Totals {
        std::uint64_t allocations = 0, allocated_bytes = 0;
    };
    const Totals& totals() const { return totals_; }

private:
    struct Allocation {
        trace::Alloc made;
        std::uint64_t freed = 0;
        ids::StackId free_stack{}; ///< freed: ticks; 0: not yet
        std::uint64_t copied_to_device = 0, copied_to_host = 0, moved_to_device = 0, moved_to_host = 0,
                      host_faults = 0, device_faults = 0;
    };
    static constexpr std::size_t most_freed = 4096;

    Allocation* at(std::uint64_t address);
    static Nullable number_of(const Allocation* allocation);
    void tell(const Allocation& allocation);
    void forget(trace::AllocationId allocation);
    void move(const trace::ManagedEvent& record, Allocation* allocation);
    void fault(const trace::ManagedEvent& record, Allocation* allocation);

    const reader::Trace& trace_;
    std::int64_t run_;
    Insert rows_, moves_, faults_;
    std::unordered_map<trace::AllocationId, Allocation> known_;
    std::map<std::uint64_t, trace::AllocationId> managed_; ///< allocations by address
    std::deque<trace::AllocationId> freed_;
    std::unordered_set<ids::StackId> stacks_; ///< that rows name
    std::unordered_set<std::uint64_t> entries_;
    Totals totals_;
};

} // namespace umadvisor::reports
