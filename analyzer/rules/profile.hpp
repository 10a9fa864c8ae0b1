/// Everything reports and findings are made from: one pass over the events of a trace.
#pragma once

#include "analyzer/facts/cached_map.hpp"
#include "analyzer/facts/device_work.hpp"
#include "analyzer/facts/recorded_time.hpp"
#include "analyzer/machine/memory_mode.hpp"
#include "analyzer/machine/recorded_rates.hpp"
#include "analyzer/managed/managed_activity.hpp"
#include "analyzer/reader/trace.hpp"
#include "analyzer/rules/counter.hpp"
#include "analyzer/tables/action_gains.hpp"
#include "analyzer/tables/actions.hpp"
#include "analyzer/tables/allocations.hpp"
#include "analyzer/tables/copies.hpp"
#include "analyzer/tables/default_context.hpp"
#include "analyzer/tables/exported_sites.hpp"
#include "analyzer/tables/failed_calls.hpp"
#include "analyzer/tables/graphs.hpp"
#include "analyzer/tables/launches.hpp"
#include "analyzer/tables/lifetimes.hpp"
#include "analyzer/tables/narrow_rows.hpp"
#include "analyzer/tables/noticed_allocations.hpp"
#include "analyzer/tables/spinning_waits.hpp"
#include "analyzer/tables/staging_sites.hpp"
#include "analyzer/tables/waits.hpp"
#include "analyzer/timeline/edit.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace umadvisor::facts {
struct Call;
}
namespace umadvisor::timeline {
class Clock;
}

namespace umadvisor::facts {
struct CallTimes;
}

namespace umadvisor::tables {
class NamedRanges;
class Statistics;
} // namespace umadvisor::tables

namespace umadvisor::rules {

struct CallTotals {
    std::uint64_t count = 0, failed = 0;
    facts::CallTime time;
    std::uint64_t dropped = 0; ///< of `count`: the full trace kept no record of them, only their number
};

struct CountedEntry {
    std::string_view symbol;
    std::uint64_t count = 0;
    bool moves_memory = false;
};

/// Memory is bounded by live allocations, distinct stacks, kernels and call sites, not by the number of events.
/// Refers to the trace it was made from.
class Profile {
public:
    /// Reads all events of `trace`, which must outlive the profile; `statistics`, if any, sees them, too.
    /// `rates`: what moving memory costs, in place of what the trace carries.
    explicit Profile(reader::Trace& trace, tables::Statistics* statistics = nullptr,
                     const std::optional<machine::Rates>& rates = {})
        : Profile(trace, statistics, rates ? *rates : machine::recorded_rates(trace.dictionary),
                  static_cast<double>(trace.time.length(1'000'000)) / 1e6) {}
    ~Profile();

    const reader::Trace& trace() const { return trace_; }
    const reader::Dictionary& dictionary() const { return trace_.dictionary; }
    const machine::Rates& rates() const { return rates_; }
    bool knows_host() const { return machine::tell_of_host(rates_, dictionary()); }
    const tables::Actions& actions() const { return actions_; }
    const tables::ActionGains& action_gains() const { return action_gains_; }
    const tables::Copies& copies() const { return copies_; }
    const tables::Launches& launches() const { return launches_; }
    const tables::Graphs& graphs() const { return graphs_; }
    const tables::Allocations& allocations() const { return allocations_; }
    const managed::ManagedActivity& managed() const { return managed_; }
    const tables::Waits& waits() const { return waits_; }
    const tables::SpinningWaits& spinning_waits() const { return spinning_waits_; }
    const tables::DefaultContext& default_context() const { return default_context_; }
    const tables::NarrowRows& narrow_rows() const { return narrow_rows_; }
    const tables::FailedCalls& failed_calls() const { return failed_calls_; }
    /// What the counter of this type counted, which some rule has.
    template <class Counts>
    const Counts& counted() const {
        return counters_.get<Counts>();
    }
    const tables::Lifetimes& lifetimes() const { return lifetimes_; }
    const tables::ExportedSites& exported_sites() const { return exported_sites_; }
    const tables::StagingSites& staging_sites() const { return staging_sites_; }
    /// Whose pending calls the clock settled at the end of the run.
    const tables::NamedRanges& ranges() const { return *ranges_; }
    const tables::NoticedAllocations& noticed_allocations() const { return noticed_allocations_; }
    const std::map<std::uint64_t, CallTotals>& calls() const { return calls_.map(); } ///< by entry
    /// Whether calls of this entry made contexts: their time is the start of CUDA, which net_ns() leaves out.
    bool makes_contexts(std::uint64_t entry) const { return context_entries_.contains(entry); }
    std::vector<CountedEntry> counted() const; ///< called, but not recorded one by one; most often called first

    std::string program() const;            ///< its file name, or its script's; "unknown program"
    std::string command_line() const;       ///< arguments separated by spaces
    std::string device() const;             ///< names of the devices; "unknown device"
    std::string devices_with_modes() const; ///< "2 x NVIDIA H200, discrete"
    machine::MemoryMode memory_mode(const trace::Device& device) const;
    /// Whether all work and memory of the run were of device 0.
    bool uses_first_device_only() const {
        return trace_.dictionary.devices.size() == 1 || default_context_.only_used();
    }
    /// Whether the program was built by a toolkit before CUDA 13, in which prefetches and advice take the
    /// number of a device.
    bool uses_old_toolkit() const;
    bool uses_runtime() const { return !trace_.dictionary.runtimes.empty(); }
    /// Name of a call in reports: the runtime's where the program uses the runtime.
    std::string call_name(std::uint64_t entry) const;

    std::uint64_t nanoseconds(std::uint64_t ticks) const { return trace_.time.length(ticks); }
    std::uint64_t estimated_nanoseconds(double ticks) const { return trace_.time.estimate(ticks); }
    std::uint64_t nanoseconds(const facts::CallTime& time) const {
        return estimated_nanoseconds(time.total_ticks(time));
    }
    std::uint64_t duration_ns() const; ///< from the first to the last moment the trace knows of
    std::uint64_t recorded_ns() const; ///< of duration_ns, what lay in no pause
    /// Where only some ranges are looked at, what lay inside; nothing: all of the run is.
    struct Inside {
        std::uint64_t times = 0; ///< that a thread entered
        std::uint64_t ticks = 0; ///< while one was inside
    };
    const std::optional<Inside>& inside() const { return inside_; }
    /// Of recorded_ns(), or of the time inside, what did not go into making contexts: no change of a program
    /// saves that.
    std::uint64_t net_ns() const;
    /// Of the host thread that was in calls longest, contexts that they made left out, as net_ns() leaves them
    /// out.
    facts::CallTimes host_times() const;
    /// What devices were given to do, by call site.
    const std::map<ids::CallSite, facts::QueuedWork>& device_work() const;
    /// The device's time for so many calls of each site, by the mean of the site.
    double device_ns(const std::map<ids::CallSite, std::uint64_t>& calls) const;
    /// That has seen the whole run.
    const timeline::Clock& clock() const;
    /// How well a replay of the run predicts waits that it is not shown.
    const timeline::Accuracy& replay_accuracy() const { return accuracy_; }
    /// By what share of net_ns() it is off. 0 where there is no wait to compare.
    double replay_error() const;
    bool paused() const { return recorded_.pauses() != 0; }
    std::uint64_t records() const { return records_; }
    std::uint64_t dropped() const;
    std::uint64_t captured() const { return captured_; } ///< calls that became nodes of graphs
    std::uint64_t residency_samples() const { return residency_samples_; }
    /// What recording cost the program: slow paths as measured, and a price for each record.
    std::uint64_t own_ns() const;

private:
    Profile(reader::Trace& trace, tables::Statistics* statistics, machine::Rates rates, double ns_per_tick);

    void observe(const reader::ThreadCursor& cursor);
    void observe_other(const reader::ThreadCursor& cursor, facts::Call* call);
    void observe(const trace::Launch& record, const reader::Shape* shape, std::uint32_t thread,
                 facts::Call* call);
    template <class Record>
    void count(const Record& record, std::uint32_t thread);
    template <class Record>
    void count_call(const ids::CallSite& site, const Record& record, std::uint32_t thread);
    template <class Record>
    void describe_failure(const Record& record, tables::FailedTotals& first);
    void add(const trace::LaunchShape& record, const reader::ThreadCursor& cursor);
    void add(const trace::GraphLaunch& record, const reader::ThreadCursor& cursor);
    void add(const trace::Sync& record, const reader::ThreadCursor& cursor);
    void add(const trace::Range& record, const reader::ThreadCursor& cursor);
    void add(const trace::Pause& record, const reader::ThreadCursor& cursor);
    void add(const trace::ManagedEvent& record, const reader::ThreadCursor& cursor);
    void add(const trace::DeviceTime& record, const reader::ThreadCursor& cursor);
    void add(const trace::Context& record, const reader::ThreadCursor& cursor);
    void replay_graphs();

    const reader::Trace& trace_;
    machine::Rates rates_;
    std::unique_ptr<tables::NamedRanges> ranges_;
    struct Clocks;
    std::unique_ptr<Clocks> clocks_;
    facts::LiveMemory live_; // what follows asks these two
    facts::Samples samples_;
    timeline::Accuracy accuracy_;
    facts::RecordedTime recorded_;
    std::uint64_t context_ticks_ = 0; ///< of calls that make contexts
    std::set<std::uint64_t> context_entries_;
    std::optional<Inside> inside_;
    tables::Actions actions_;
    tables::ActionGains action_gains_;
    tables::Copies copies_;
    tables::Launches launches_;
    tables::Graphs graphs_;
    tables::Allocations allocations_;
    managed::ManagedActivity managed_;
    tables::Waits waits_;
    tables::SpinningWaits spinning_waits_;
    tables::DefaultContext default_context_;
    tables::NarrowRows narrow_rows_;
    tables::FailedCalls failed_calls_;
    tables::Lifetimes lifetimes_;
    tables::ExportedSites exported_sites_;
    tables::StagingSites staging_sites_;
    tables::NoticedAllocations noticed_allocations_;
    facts::CachedMap<std::map<std::uint64_t, CallTotals>> calls_;
    Counters counters_;
    std::uint64_t captured_ = 0;
    std::uint64_t records_ = 0, residency_samples_ = 0, last_ticks_ = 0;
};

} // namespace umadvisor::rules
