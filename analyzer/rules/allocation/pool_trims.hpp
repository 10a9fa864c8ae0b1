/// Memory that a pool of stream-ordered allocation gives back to the system and maps anew, round after round.
#pragma once

#include "analyzer/facts/cached_map.hpp"
#include "analyzer/facts/call.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "trace/memory_records.hpp"

#include <cstdint>
#include <map>
#include <set>

namespace umadvisor::rules {

struct PoolTrimTotals {
    std::uint64_t allocations = 0, ticks = 0;               ///< all that are ordered in streams
    std::uint64_t anew = 0, anew_bytes = 0, anew_ticks = 0; ///< of these, after the pool gave back as much
    std::uint64_t returns = 0;    ///< synchronisations that memory of this site was given back at
    std::uint64_t free_waits = 0; ///< of these, such as had nothing to wait for
    double free_wait_ns = 0;      ///< that those took
    double trim_ticks = 0;        ///< in calls that the program trims pools by
    std::uint64_t trims = 0;
    std::uint64_t last_stack = 0; ///< of the call that gave memory back last
};

/// A pool whose release threshold is zero, as it is at first, gives what is free back at the next
/// synchronisation. One whose threshold was raised does so only where the program trims it. Pools that are the
/// default or current one of a device count as one. Memory: one entry a site, a live allocation and a pool.
class PoolTrims {
public:
    explicit PoolTrims(const reader::Dictionary& dictionary) : dictionary_(dictionary) {}

    void add(const trace::Alloc& record);
    void add(const trace::Free& record);
    void add(const trace::Pool& record);
    /// Each call as the clock has it; `waits`: it is a synchronisation.
    void add(const facts::Call& call, bool waits);

    const std::map<ids::CallSite, PoolTrimTotals>& sites() const { return sites_.map(); }

private:
    struct Pool {
        bool keeps = false;         ///< its release threshold is not zero
        std::uint64_t returned = 0; ///< bytes that went back to the system and have not come again
        std::map<ids::CallSite, std::uint64_t>
            freed;                    ///< bytes since the last synchronisation, by allocating site
        std::uint64_t free_bytes = 0; ///< all of `freed`

        /// Hands out what was freed since the last synchronisation. False: it is not as much.
        bool take(std::uint64_t bytes);
    };
    struct Live {
        ids::CallSite site;
        std::uint64_t bytes = 0, pool = 0;
    };

    std::uint64_t known(std::uint64_t pool) const { return usual_.contains(pool) ? 0 : pool; }
    template <class Share>
    void give_back(Pool& pool, std::uint64_t stack, const Share& share);

    const reader::Dictionary& dictionary_;
    facts::CachedMap<std::map<ids::CallSite, PoolTrimTotals>> sites_;
    std::map<std::uint64_t, Pool> pools_; ///< 0: those of `usual_`, and what names none
    std::set<std::uint64_t> usual_;       ///< handles of default and current pools
    std::set<std::uint32_t> busy_;        ///< streams with work since the first pool that nobody has waited for
    bool busy_before_ = false;            ///< work from before it may still run
    reader::FlatMap<Live> live_;
};

} // namespace umadvisor::rules
