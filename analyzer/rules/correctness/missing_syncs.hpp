/// Managed memory that the host read while kernels that write it had not been waited for.
#pragma once

#include "analyzer/facts/running_launches.hpp"
#include "analyzer/facts/written_parameters.hpp"
#include "analyzer/ids/allocation_site.hpp"
#include "analyzer/rules/counter.hpp"
#include "trace/copy_records.hpp"
#include "trace/event_records.hpp"
#include "trace/managed_records.hpp"
#include "trace/memory_records.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace umadvisor::rules {

/// Of the allocations of one site.
struct MissingSync {
    std::uint64_t reads = 0;   ///< host faults
    std::uint64_t windows = 0; ///< between waits, with such reads
    std::uint64_t bytes = 0;   ///< of one allocation
    facts::KernelSite kernel;  ///< launched before the first of the reads
    facts::KernelSite last; ///< that may write the memory and was launched before the wait that came too late
    std::map<std::uint64_t, std::uint64_t> codes; ///< reads, by the frame of the host's instruction
};

/// A read counts if it came behind the launch, and the program launched again or ended its work on the memory
/// without any wait behind the read. A free that is not in the order of a stream waits for the device; it
/// counts if kernels may reach the memory again, and not where a program frees all that it has. Where a wait
/// follows, host and kernel may meet on purpose: they exchange flags while the kernel runs. For the same reason
/// reads do not count behind those of an allocation that is no larger than a page, nor does anything in a
/// program with host functions, managed variables or several threads that touch managed memory. Events of
/// managed memory may come some milliseconds late. Memory: live managed allocations, the 64
/// freed last, eight windows with 64 reads for each, and sites.
class MissingSyncs : public Counter {
public:
    explicit MissingSyncs(const Begin& begin)
        : dictionary_(begin.dictionary), allocated_(begin.live), written_(begin.dictionary) {}

    void add(const trace::Alloc& record);
    void add(const trace::Free& record);
    void add(const Launched& launched);
    void add(const trace::Sync& record);
    void add(const trace::Copy& record);
    void add(const trace::Set& record);
    void add(const trace::Prefetch& record) { close_all(record.start, true); }
    void add(const trace::Event& record);
    void add(const trace::Pause& record) { close_all(record.start, true); }
    void add(const trace::HostFunction&) { on_purpose_ = true; }
    void add(const trace::Ipc&) { on_purpose_ = true; }
    void add(const trace::ManagedEvent& record);
    void finish() override;

    using Sites = std::map<ids::AllocationSite, MissingSync>;
    const Sites& sites() const { return sites_; }

private:
    struct Read {
        std::uint64_t time = 0, code = 0, faults = 0;
        bool behind_flag = false; ///< a small read was recorded before it, from inside the window
    };
    /// From a launch up to the next wait.
    struct Window {
        std::uint64_t begin = 0, last_launch = 0, end = UINT64_MAX; ///< ticks
        facts::KernelSite kernel, last;                             ///< the first and the last that may write
        bool waited = false; ///< it ended in a wait; of a free of other memory that shows later
        std::vector<Read> reads{};
    };
    struct Memory {
        ids::AllocationSite site;
        std::uint64_t address = 0, bytes = 0, from = 0, until = UINT64_MAX;
        std::set<trace::StreamId> streams{}; ///< of launches
        std::deque<Window> windows{};

        bool holds(std::uint64_t place, std::uint64_t time) const;
    };
    static void close(Memory& memory, std::uint64_t time, bool waited);
    void close_all(std::uint64_t time, bool waited);
    void retire(trace::AllocationId allocation, std::uint64_t time);
    void judge(const Memory& memory, const Window& window);
    void judge(const Memory& memory);
    Memory* find(std::uint64_t address, std::uint64_t time);

    const reader::Dictionary& dictionary_;
    const facts::LiveMemory& allocated_;
    facts::WrittenParameters written_;
    std::unordered_map<trace::AllocationId, Memory> live_;    ///< by allocation
    std::map<std::uint64_t, trace::AllocationId> by_address_; ///< of those
    std::set<trace::AllocationId> open_; ///< of those, with a window that no wait has closed
    std::deque<Memory> freed_;
    std::deque<std::uint64_t> small_reads_; ///< times; the latest ones, since some are recorded late
    std::uint64_t thread_ = 0;              ///< that touches managed memory
    bool on_purpose_ = false;
    std::uint64_t unknown_launch_ = 0; ///< ticks: of the last that may reach any memory
    bool joined_ = false;              ///< streams wait for each other
    Sites sites_;
};

} // namespace umadvisor::rules
