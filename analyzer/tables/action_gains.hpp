/// What umadvisor's actions gained: the program's own time with them against that without, in the same run.
#pragma once

#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/thread_cursor.hpp"
#include "analyzer/tables/actions.hpp"
#include "analyzer/tables/call_gains.hpp"
#include "analyzer/tables/pool_gains.hpp"
#include "trace/copy_records.hpp"
#include "trace/event_records.hpp"
#include "trace/graph_records.hpp"
#include "trace/managed_records.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace umadvisor::tables {

struct ActionGain {
    double ticks = 0;                    ///< below zero: the program was slower with it
    std::uint64_t with = 0, without = 0; ///< rounds or copies that were compared
    bool brief = false;                  ///< rounds of less than a millisecond: no gain is reported
    bool alike = false;                  ///< they took equally long, as far as they vary by themselves
};

/// Follows the events in the order of time.
///
/// A round of a launch site goes from one launch there to the next that comes after a wait: calls, waits, page
/// faults of either side, and what actions take, are all in it.
/// Prefetches: rounds that --act prefetch has left alone (trace::Comparison) against those around them.
/// Relief: the rounds before the advice against those after it.
/// Copies: those that the driver made against those that an action made, of one call site and like length.
/// Calls that an action answered: those of the call site that the driver answered (call_gains.hpp).
/// Pools: allocations before their threshold was raised against those after it (pool_gains.hpp).
/// Where a run has nothing without the action, no gain is reported: what bytes cost on the machine says little
/// about what a program would have waited for.
///
/// Memory: some 20 rounds for each launch site and thread of a program that is acted on, and 64 copies for each
/// call site whose copies an action makes.
class ActionGains {
public:
    ActionGains(const reader::Dictionary& dictionary, double ns_per_tick);

    void add(const trace::Prefetch& record, std::uint32_t thread);
    void add(const trace::Advise& record, std::uint32_t thread);
    void add(const trace::Comparison& record, std::uint32_t thread);
    void add(const trace::Copy& record, std::uint32_t thread);
    void add(const trace::Alloc& record, std::uint32_t thread);
    void add(const trace::Free& record, std::uint32_t thread);
    void add(const trace::Pool& record, std::uint32_t thread);
    void add(const trace::Sync& record, std::uint32_t thread);
    void add(const trace::GraphLaunch& record, std::uint32_t thread);
    /// `shape`: nullptr where it is lost.
    void launch(const trace::Launch& record, const reader::Shape* shape, std::uint32_t thread);
    /// Call once, after the last.
    void finish();

    /// The actions of which a gain is known.
    const std::map<ActionSite, ActionGain>& sites() const { return sites_; }

private:
    struct Round {
        double total = 0, host = 0; ///< ticks; host: outside of calls, but for prefetches to the host
    };
    using Rounds = std::vector<Round>;
    struct Compared {
        Round without;
        Rounds around;
        std::size_t to_come = 0; ///< rounds after it that belong to these
    };
    enum class Relief : std::uint8_t { none, given, taken_back };
    /// A launch site of one thread.
    struct Site {
        bool open = false;
        bool left = false;    ///< alone, to compare
        bool spoiled = false; ///< the round that is open: part of it was left alone
        Rounds alone;         ///< those since it began
        std::uint64_t begun = 0, waits = 0, calls = 0, prefetches = 0;
        std::uint64_t rounds = 0;
        std::uint64_t acted = 0;      ///< rounds with prefetches
        std::deque<Round> last;       ///< rounds that count
        std::deque<Round> last_acted; ///< of these, with prefetches
        std::vector<Compared> compared;
        std::map<ActionSite, std::uint64_t> places; ///< bytes that prefetches in such rounds moved
        Relief relief{};
        ActionKind given{};
        Rounds before, after;
        std::uint64_t relieved = 0; ///< rounds
    };
    struct Done {
        ActionSite site;
        std::uint64_t start = 0, bytes = 0;
    };
    struct Thread {
        std::uint64_t waits = 0, prefetches = 0;
        std::uint64_t calls = 0;                      ///< ticks
        std::unordered_map<ids::StackId, Site> sites; ///< by stack
        std::vector<ids::StackId> compared;           ///< stacks of those with comparisons
        std::deque<Done> done;                        ///< the last prefetches
    };
    struct Acted {
        std::uint64_t count = 0;
        double ticks = 0, bytes = 0;
    };
    /// Copies of one call site, direction and length to a power of two.
    struct Copies {
        std::vector<double> paces; ///< ticks a byte, of those that the driver made
        std::uint64_t driver = 0;
        std::map<ActionKind, Acted> acted;
    };

    Site& reach(ids::StackId stack, Thread& thread, std::uint64_t time);
    static Round round_until(const Site& site, const Thread& thread, std::uint64_t time);
    static void close(Site& site, const Thread& thread, std::uint64_t time);
    static Round usual(const Rounds& alone);
    static void remember(Site& site, const Round& round, bool acted);
    void tell_compared(const Thread& thread);
    void tell_relief(ids::StackId stack, const Site& site);
    void tell_copies();

    const reader::Dictionary& dictionary_;
    bool acts_ = false;
    std::uint32_t brief_; ///< ticks
    std::map<std::uint32_t, Thread> threads_;
    std::map<std::tuple<ids::StackId, facts::Direction, int>, Copies> copies_;
    CallGains calls_;
    PoolGains pools_;
    std::map<ActionSite, ActionGain> sites_;
};

} // namespace umadvisor::tables
