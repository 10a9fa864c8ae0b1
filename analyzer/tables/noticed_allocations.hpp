/// The allocations that the recorder's notices name.
#pragma once

#include "analyzer/ids/stack_id.hpp"
#include "trace/definitions.hpp"
#include "trace/event_records.hpp"

#include <cstdint>
#include <map>
#include <span>

namespace umadvisor::tables {

struct NoticedAllocation {
    std::uint64_t entry = 0, bytes = 0;
    ids::StackId stack{}; ///< of the call that made it
};

/// Memory: one entry an allocation that a notice names.
class NoticedAllocations {
public:
    explicit NoticedAllocations(std::span<const trace::Notice> notices);

    void add(const trace::Alloc& record);

    /// By the allocation's id; one whose record is lost has nothing but zeros.
    const std::map<trace::AllocationId, NoticedAllocation>& all() const { return all_; }

private:
    std::map<trace::AllocationId, NoticedAllocation> all_;
};

} // namespace umadvisor::tables
