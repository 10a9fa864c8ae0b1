/// What a program makes and gives up again and again, by where it makes it: device and managed memory,
/// page-locked host memory, executable graphs, mapped ranges, streams and events.
#pragma once

#include "analyzer/facts/cached_map.hpp"
#include "analyzer/facts/waiting.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/rules/counter.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

namespace umadvisor::rules {

enum class Made : std::uint8_t { device, managed, pinned, registered, graph, mapping, stream, event };

struct ChurnSite : ids::CallSite {
    Made made{};
    std::uint64_t shape = 0; ///< of graphs: only one of the same shape can serve again
    auto operator<=>(const ChurnSite&) const = default;
};

struct ChurnTotals {
    std::uint64_t pairs = 0, bytes = 0; ///< made and given up again; of graphs `bytes` are nodes
    std::uint64_t alloc_ticks = 0, lifetime_ticks = 0;
    /// Further calls of each pair, which a kept allocation needs only once: advice, access rights.
    std::uint64_t upkeep_calls = 0, upkeep_ticks = 0;
    std::uint64_t live = 0, peak_live = 0;
    std::uint64_t live_bytes = 0, peak_bytes = 0;
    std::uint64_t idle_frees = 0, idle_ticks = 0; ///< with nothing queued since the last synchronisation
    std::uint64_t busy_frees = 0, busy_ticks = 0; ///< those may wait for what was queued
    std::uint64_t quickest_busy = 0;
    std::uint64_t first = 0, last = 0; ///< ticks: the first was made, and the end of the last was over
    /// Of the pairs whose memory was the largest: that memory could replace all others.
    std::uint64_t largest_bytes = 0, largest_pairs = 0, largest_alloc_ticks = 0, largest_free_ticks = 0;
    ids::StackId free_stack{};
    std::uint64_t free_entry = 0;  ///< of the last
    std::uint64_t uses = 0;        ///< of graphs: launches
    std::uint64_t built_ticks = 0; ///< of graphs: from the beginning of captures to their ends
    std::uint64_t alike = 0;       ///< of graphs: pairs whose nodes do what those of the pair before did
    std::uint64_t content = 0;

    std::uint64_t free_ticks() const { return idle_ticks + busy_ticks; }
    /// Of free_ticks(), what the frees cost by themselves.
    double own_free_ticks() const;
    /// What the calls of one round cost if their memory has the largest size and is kept.
    double kept_ticks() const;
    /// What one allocation costs that holds all that lived at once: the driver works in blocks of 2 MiB, and a
    /// smaller allocation takes one as well.
    double slab_ticks() const;
};

/// Leaves stream-ordered calls out. Memory: one entry a site, of graphs a site and shape, one a live thing.
class Churn : public Counter {
public:
    static constexpr bool wants_nodes = true; ///< the host makes these calls, too

    explicit Churn(const Begin& begin) : dictionary_(begin.dictionary) {}

    void add(const trace::Alloc& record);
    void add(const trace::Free& record);
    void add(const trace::Advise& record);
    void add(const trace::Graph& record);
    void add(const trace::VirtualMemory& record);
    void add(const trace::Stream& record);
    void add(const trace::Event& record);
    void add(const trace::Copy& record) { queued_ |= record.asynchronous != 0; }
    void add(const trace::Sync& record) { queued_ &= record.status != 0 || !facts::waits_for_work(record); }
    void add(const Launched&) { queued_ = true; }
    void add(const trace::GraphLaunch& record);
    void add(const trace::Set&) { queued_ = true; }
    void add(const trace::HostFunction&) { queued_ = true; }
    void add(const trace::Prefetch&) { queued_ = true; }

    const std::map<ChurnSite, ChurnTotals>& sites() const { return sites_.map(); }

private:
    struct Live {
        ChurnTotals* totals = nullptr;
        std::uint64_t start = 0, duration = 0, bytes = 0;
        std::uint64_t upkeep_calls = 0, upkeep_ticks = 0;
        std::uint64_t uses = 0, built_ticks = 0, content = 0;
        std::uint64_t version = 0; ///< of a graph
    };
    struct Handle {
        std::uint64_t ticks = 0; ///< of cuMemCreate, until a mapping has them
        std::uint64_t mapped = 0;
        ChurnTotals* totals = nullptr;
    };
    using LiveByKey = reader::FlatMap<Live>;

    Live begin(const ChurnSite& site, std::uint64_t start, std::uint64_t duration, std::uint64_t bytes);
    static void forget(const Live& live);
    /// `call` gave it up, in so many ticks.
    template <class Record>
    void end(const Live& live, const Record& call, std::uint64_t ticks);
    template <class Record>
    void end(LiveByKey& alive, std::uint64_t key, const Record& call);
    template <class Record>
    void make(LiveByKey& alive, std::uint64_t key, Made made, const Record& call);
    void instantiate(const trace::Graph& record);
    void map(const trace::VirtualMemory& record);
    void set_access(const trace::VirtualMemory& record);
    void unmap(const trace::VirtualMemory& record);
    void release(const trace::VirtualMemory& record);

    const reader::Dictionary& dictionary_;
    facts::CachedMap<std::map<ChurnSite, ChurnTotals>> sites_;
    LiveByKey memory_, graphs_, streams_, events_;             ///< by allocation or handle
    reader::FlatMap<std::uint64_t> execs_;                     ///< by version of a graph
    std::map<std::uint64_t, Live> mappings_;                   ///< by address
    std::unordered_map<std::uint64_t, Handle> handles_;        ///< of mapped memory
    std::unordered_map<trace::StreamId, std::uint64_t> begun_; ///< captures
    std::unordered_map<std::uint64_t, std::uint64_t> built_;   ///< the same, by graph
    bool queued_ = true;                                       ///< something may be in flight
};

} // namespace umadvisor::rules
