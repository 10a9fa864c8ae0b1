/// Synchronisations when nothing had been queued since one that covered them, by where they were called.
#pragma once

#include "analyzer/facts/cached_map.hpp"
#include "analyzer/facts/contexts.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/saturated.hpp"
#include "analyzer/rules/counter.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <type_traits>
#include <vector>

namespace umadvisor::rules {

/// Records of events that queue no work: synchronisations before them still cover all work.
template <class Record>
struct QueuesNothing
    : std::disjunction<std::is_same<Record, trace::LaunchShape>, std::is_same<Record, trace::DeviceTime>,
                       std::is_same<Record, trace::Residency>, std::is_same<Record, trace::Clock>,
                       std::is_same<Record, trace::Range>, std::is_same<Record, trace::Peer>,
                       std::is_same<Record, trace::Advise>, std::is_same<Record, trace::ManagedEvent>,
                       std::is_same<Record, trace::ManagedCounters>, std::is_same<Record, trace::ManagedDetail>,
                       std::is_same<Record, trace::Content>, std::is_same<Record, trace::Comparison>> {};

struct IdleSyncTotals {
    std::uint64_t count = 0, redundant = 0;
    std::uint64_t redundant_ticks = 0;
    ids::StackId covered_by{}; ///< stack of the synchronisation before the last redundant one
};

/// Follows the events in the order of time. In doubt a synchronisation is not redundant: whatever is queued on
/// any stream of any context by any thread ends what the ones before have covered. Memory: one entry a call
/// site, and for a bounded number of objects that were waited for with nothing queued in between.
class IdleSyncs : public Counter {
public:
    static constexpr bool wants_nodes = true; ///< in doubt they are work

    explicit IdleSyncs(const Begin& begin);

    void add(const trace::Sync& record, std::uint32_t thread);
    void add(const trace::Context& record, std::uint32_t thread);
    void add(const trace::Ipc& record, std::uint32_t thread);
    void add(const trace::Stream& record, std::uint32_t thread);
    void add(const trace::Event& record, std::uint32_t thread);
    void add(const trace::Copy& record, std::uint32_t thread);
    void add(const Launched& launched) { work(launched.record, launched.thread); }
    /// All others but those that queue nothing; what is not known here is work.
    template <class Record>
    requires(!QueuesNothing<Record>::value && requires(const Record& record) {
        record.start;
    }) void add(const Record& record, std::uint32_t thread) {
        work(record, thread);
    }

    const std::map<ids::CallSite, IdleSyncTotals>& sites() const { return sites_.map(); }

private:
    struct Object {
        trace::SyncKind kind{};
        std::uint64_t handle = 0, of = 0; ///< context or thread
        bool operator==(const Object&) const = default;
    };
    struct Cover {
        Object object;
        std::uint64_t end = 0;
        ids::StackId stack{}; ///< of the synchronisation
    };

    template <class Record>
    void work(const Record& record, std::uint32_t thread) {
        std::uint64_t end = record.start;
        if constexpr (requires { record.duration; })
            reader::add_saturated(end, record.duration != 0 ? record.duration : unmeasured_ticks_);
        work(thread, end);
    }
    void work(std::uint32_t thread, std::uint64_t end) {
        covers_.clear();
        if (thread != last_thread_) {
            others_end_ = std::max(others_end_, last_end_);
            last_thread_ = thread;
        }
        last_end_ = std::max(last_end_, end);
    }
    bool others_may_be_queueing(std::uint32_t thread, std::uint64_t at) const;
    const Cover* find(const Object& object, std::uint64_t before) const;
    void remember(const Cover& cover);
    const Cover* cover_of(const trace::Sync& record, std::uint64_t context, const Object& object) const;

    double ns_per_tick_;
    std::uint64_t unmeasured_ticks_; ///< assumed duration of a call that was not measured
    facts::Contexts contexts_;
    std::set<std::uint64_t> known_contexts_;
    bool undecided_ = false;    ///< green contexts or events of other processes: what covers what is not known
    std::vector<Cover> covers_; ///< what was waited for and nothing queued since
    std::uint32_t last_thread_ = 0;
    std::uint64_t last_end_ = 0, others_end_ = 0; ///< of the calls that queued work
    facts::CachedMap<std::map<ids::CallSite, IdleSyncTotals>> sites_;
};

} // namespace umadvisor::rules
