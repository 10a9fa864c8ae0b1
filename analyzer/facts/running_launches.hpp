/// Which launches may have been running at a moment: from the launch on, until the program has waited for them.
#pragma once

#include "analyzer/ids/stack_id.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "trace/event_records.hpp"

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

namespace umadvisor::facts {

/// A kernel as launched from one place.
struct KernelSite {
    std::uint64_t function = 0;
    ids::StackId stack{};
    std::uint64_t entry = 0;
    auto operator<=>(const KernelSite&) const = default;
};

/// Work in one of these runs in the order in which it was given.
struct WorkQueue {
    std::uint64_t context = 0;
    trace::StreamId stream{};
    std::uint32_t thread = 0; ///< of per-thread default streams, else 0
    auto operator<=>(const WorkQueue&) const = default;
};

/// Work that a synchronisation has waited for.
struct Waited {
    bool whole_context = false;
    WorkQueue queue;                  ///< of it the context alone, with `whole_context`
    std::uint64_t given = UINT64_MAX; ///< what was launched up to then, ticks
    std::uint64_t end = 0;            ///< when the wait was over
};

/// Launches that may reach the same memory. Those of one site and stream share an entry until the program waits
/// for them. Memory: `most` entries; beyond it the one that was done first is forgotten.
class RunningLaunches {
public:
    static constexpr std::size_t most = 32;

    void launch(const KernelSite& site, const WorkQueue& queue, std::uint64_t device, std::uint64_t start);
    /// False: the program has waited for all launches.
    bool wait(const Waited& waited);
    /// Adds to `sites` those that may have been running on `device` then, each once.
    void running_at(std::uint64_t time, std::uint64_t device, std::vector<KernelSite>& sites) const;
    /// Adds the launches that the program has not waited for.
    void outstanding(std::vector<KernelSite>& sites) const;

private:
    struct Entry {
        KernelSite site;
        WorkQueue queue;
        std::uint64_t device = 0;
        std::uint64_t first = 0, last = 0; ///< launches, ticks
        std::uint64_t until = UINT64_MAX;  ///< waited for; UINT64_MAX: not yet
    };
    std::vector<Entry> entries_;
};

/// What each event of the program stands for. Memory: the events that live, at most 65,536.
class RecordedEvents {
public:
    void record(std::uint64_t event, const WorkQueue& queue, std::uint64_t time);
    void destroy(std::uint64_t event) { events_.erase(event); }
    /// What a wait for the event has waited for, but for `end`. False: not known.
    bool find(std::uint64_t event, Waited& waited) const;

private:
    static constexpr std::size_t most = 65'536;
    struct Recorded {
        WorkQueue queue;
        std::uint64_t time = 0;
    };
    reader::FlatMap<Recorded> events_;
};

} // namespace umadvisor::facts
