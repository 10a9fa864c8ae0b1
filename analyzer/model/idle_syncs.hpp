/// Synchronisations when nothing had been queued since one that covered them, by where they were called.
#pragma once

#include "analyzer/model/contexts.hpp"
#include "analyzer/model/waits.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

namespace umadvisor::model {

struct IdleSyncTotals {
    std::uint64_t count = 0, redundant = 0;
    std::uint64_t redundant_ticks = 0;
    std::uint64_t covered_by = 0; ///< stack of the synchronisation before the last redundant one
};

/// Follows the events in the order of time. In doubt a synchronisation is not redundant: whatever is queued on
/// any stream of any context by any thread ends what the ones before have covered. Memory: one entry a call
/// site, one a thread, and one an object that was waited for with nothing queued in between.
class IdleSyncs {
public:
    explicit IdleSyncs(double ns_per_tick) : ns_per_tick_(ns_per_tick) {}

    void observe(std::uint32_t thread, const reader::Event& event);

    const std::map<CallSite, IdleSyncTotals>& sites() const { return sites_; }

private:
    struct Cover {
        std::uint64_t end = 0, stack = 0; ///< of the synchronisation
    };
    using Object = std::tuple<trace::SyncKind, std::uint64_t, std::uint64_t>; ///< handle, context or thread

    void work(std::uint32_t thread, std::uint64_t end);
    void synchronize(std::uint32_t thread, const trace::Sync& record);
    void follow(const trace::Context& record);
    bool others_may_be_queueing(std::uint32_t thread, std::uint64_t at) const;
    const Cover* cover_of(const trace::Sync& record, std::uint64_t context, const Object& object) const;

    double ns_per_tick_;
    Contexts contexts_;
    std::set<std::uint64_t> known_contexts_;
    bool undecided_ = false; ///< green contexts or events of other processes: what covers what is not known
    std::unordered_map<std::uint64_t, Cover> whole_; ///< contexts that were waited for and nothing queued since
    std::map<Object, Cover> objects_;                ///< the same of streams and events
    std::uint32_t last_thread_ = 0;
    std::uint64_t last_end_ = 0, others_end_ = 0; ///< of the calls that queued work
    std::map<CallSite, IdleSyncTotals> sites_;
};

} // namespace umadvisor::model
