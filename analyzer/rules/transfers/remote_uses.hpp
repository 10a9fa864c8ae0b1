/// Page-locked memory that kernels and memory sets reach across the link again and again, while the host lets
/// it be.
#pragma once

#include "analyzer/facts/written_parameters.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/rules/counter.hpp"
#include "analyzer/tables/launches.hpp"
#include "trace/copy_records.hpp"
#include "trace/graph_records.hpp"
#include "trace/lifecycle_records.hpp"

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <vector>

namespace umadvisor::rules {

/// Of one line, which allocated, registered or mapped it.
struct RemoteMemory {
    ids::CallSite call;
    bool mapped = false; ///< pieces of an address range, made on a NUMA node of the host
    auto operator<=>(const RemoteMemory&) const = default;
};

/// What copies instead of such memory would take: a span is kept on the device from its first use to its last.
struct RemoteSpans {
    std::uint64_t count = 0;
    std::uint64_t largest = 0;               ///< bytes
    std::uint64_t uploads = 0, up_bytes = 0; ///< before a span, unless a memory set begins it
    std::uint64_t downloads = 0, down_bytes = 0;
    std::uint64_t waits = 0; ///< within spans that may be written: the host may look at a part
};

/// Launches of a kernel and shape at one place in the program, or memory sets there.
struct RemoteWork {
    ids::CallSite call;
    tables::LaunchGroup group; ///< a memory set has no function
    bool is_set() const { return group.function == 0; }
    auto operator<=>(const RemoteWork&) const = default;
};

/// Sums over uses.
struct RemoteReach {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;        ///< of the memory of one line
    std::uint64_t remote_bytes = 0; ///< of all such memory that the same work reaches
    /// If the work uses all of them, at least this many cross the link in one direction.
    std::uint64_t one_way_bytes = 0;
    std::uint64_t local_bytes = 0; ///< of device memory that the same work reaches
    std::uint64_t writes = 0;      ///< of `count`, surely
    void add(const RemoteReach& other);
};

struct RemoteTotals {
    tables::LaunchTotals launches;             ///< that reach such memory: their number and device times alone
    std::map<RemoteMemory, RemoteReach> again; ///< of spans with two uses or more
};

/// A span ends where the host had the time to change or to read half of the memory: between a wait, or a query
/// that found work done, and the next use. It also ends where a copy writes the memory or reads what kernels
/// may have written, and where work that no call shows may use it. Memory: one entry a live allocation, one a
/// line and one a place and kernel that reaches it.
class RemoteUses : public Counter {
public:
    /// What is smaller holds flags, counters and results, which belong on the host.
    static constexpr std::uint64_t least_bytes = 1024 * 1024;

    explicit RemoteUses(const Begin& begin)
        : ns_per_tick_(begin.ns_per_tick),
          dictionary_(begin.dictionary),
          allocated_(begin.live),
          samples_(begin.samples),
          written_(begin.dictionary) {}

    void add(const trace::Alloc& record);
    void add(const trace::Free& record);
    void add(const trace::Copy& record);
    void add(const trace::Set& record);
    void add(const trace::Sync& record);
    void add(const trace::Stream& record);
    void add(const trace::LaunchShape&) { ++generation_; }
    void add(const trace::HostFunction&) { close_all(); }
    void add(const trace::GraphLaunch&) { close_all(); }
    void add(const trace::Pause&) { close_all(); }
    void add(const Launched& launched) {
        if (!live_.empty() && launched.shape != nullptr && launched.record.status == 0)
            reach_all(launched.record, *launched.shape);
    }
    void finish() override { close_all(); }

    const std::map<RemoteWork, RemoteTotals>& work() const { return work_; }
    const std::map<RemoteMemory, RemoteSpans>& memory() const { return memory_; }

private:
    using Work = std::map<RemoteWork, RemoteTotals>::value_type;
    using Site = std::map<RemoteMemory, RemoteSpans>::value_type;
    struct Use {
        Work* work = nullptr;
        RemoteReach reach;
    };
    struct Span {
        std::vector<Use> uses;
        std::uint64_t count = 0, bytes = 0;
        std::uint64_t last = 0;     ///< use, ticks
        std::uint64_t wait_end = 0; ///< of the first wait since, ticks; 0: none yet
        std::uint64_t waits = 0;
        bool by_kernel = false, set_first = false, may_write = false;
    };
    struct Live {
        Site* memory = nullptr;
        trace::AllocationId allocation{};
        std::uint64_t address = 0, bytes = 0;
        Span span{};
        bool awaited = false; ///< it stands in awaited_
    };
    struct Reached {
        trace::AllocationId allocation{};
        RemoteReach reach;
        bool may_write = false;
    };
    /// What launches of a shape reach, as long as no allocation comes or goes.
    struct Recent {
        const reader::Shape* shape = nullptr;
        std::uint64_t generation = 0;
        Work* work = nullptr;
        std::vector<Reached> reached{};
        bool flags = false;
    };
    static constexpr std::size_t most_uses = 64;

    void reach_all(const trace::Launch& record, const reader::Shape& shape);
    void look(Recent& recent, const reader::Shape& shape);
    std::uint64_t bytes_from(const Live& live) const;
    void use(Live& live, Work& work, const RemoteReach& reach, std::uint64_t start);
    bool host_had_time(std::uint64_t ticks, std::uint64_t bytes) const;
    void wait(std::uint64_t end);
    void close(Live& live);
    void close_all();
    template <class Act>
    void with_neighbours(trace::AllocationId allocation, const Act& act);

    double ns_per_tick_;
    const reader::Dictionary& dictionary_;
    const facts::LiveMemory& allocated_;
    facts::Samples& samples_;
    facts::WrittenParameters written_;
    std::map<RemoteWork, RemoteTotals> work_;
    std::map<RemoteMemory, RemoteSpans> memory_;
    reader::FlatMap<Live, trace::AllocationId> live_;
    std::map<std::uint64_t, trace::AllocationId> mapped_; ///< allocations of live_, by their addresses
    bool flagged_ = false;                     ///< kernels may set a flag for the host when they are done
    std::vector<trace::AllocationId> awaited_; ///< allocations whose last use the host has not waited for
    std::array<Recent, 256> recent_{};
    std::uint64_t generation_ = 1; ///< goes up with each allocation, free and new shape
};

} // namespace umadvisor::rules
