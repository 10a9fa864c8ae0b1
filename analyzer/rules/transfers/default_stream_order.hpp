/// Work in the legacy default stream that stands between work of other streams, by call site.
#pragma once

#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/rules/counter.hpp"
#include "trace/memory_records.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

namespace umadvisor::rules {

struct DefaultStreamTotals {
    std::uint64_t between = 0;  ///< how often it came after work of blocking streams and before more of it
    std::uint64_t streams = 0;  ///< the most of these
    ids::StackId other_stack{}; ///< of work that was kept waiting last
    /// It reaches, or may reach, memory that work of these streams reaches: the order may be needed.
    bool shares = false;
    bool copies = false; ///< it is a copy
};

/// Work on a module's variable may share it with any kernel of the module: launches list managed ones only.
/// Memory: one entry a call site and one a live variable, and of each context one an allocation that was
/// reached since the host waited for all of it, `most_reached` at most. Beyond that, and beyond `most_barriers`
/// call sites in the default stream since then, a site is assumed to share memory.
class DefaultStreamOrder : public Counter {
public:
    static constexpr std::size_t most_reached = 65'536, most_barriers = 256;

    void add(const trace::Alloc& record);
    void add(const trace::Free& record) { variables_.erase(record.allocation); }
    void add(const WorkCall& work) { add(work.call, work.allocations, work.reaches_no_other); }
    /// `reached`: allocations that the call's work reaches; `complete`: it is known to reach no other.
    void add(const facts::Call& call, std::span<const trace::AllocationId> reached, bool complete);

    const std::map<ids::CallSite, DefaultStreamTotals>& sites() const { return sites_; }

private:
    /// What was queued since the host waited for all of it.
    struct Stretch {
        std::set<std::uint32_t> streams;                    ///< blocking ones with work
        reader::FlatMap<bool, trace::AllocationId> reached; ///< allocations, by that work
        bool complete = true;
        /// In the default stream, those that share nothing so far; open: nothing came behind.
        std::set<DefaultStreamTotals*> barriers, open;
        reader::FlatMap<std::vector<DefaultStreamTotals*>, trace::AllocationId> reached_by_barriers;
    };
    static bool has_room(const Stretch& stretch, DefaultStreamTotals& totals);
    void add_barrier(Stretch& stretch, const facts::Call& call, std::span<const trace::AllocationId> reached,
                     bool complete);
    static void add_beside(Stretch& stretch, const facts::Call& call,
                           std::span<const trace::AllocationId> reached, bool complete);

    bool has_variable(std::span<const trace::AllocationId> allocations) const;

    std::map<ids::CallSite, DefaultStreamTotals> sites_;
    std::set<trace::AllocationId>
        variables_;                  ///< `__device__` and `__constant__` ones that are known, by allocation
    std::vector<Stretch> stretches_; ///< by StreamPlace::device
};

} // namespace umadvisor::rules
