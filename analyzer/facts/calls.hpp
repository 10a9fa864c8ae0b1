/// From records to calls.
#pragma once

#include "analyzer/facts/call.hpp"
#include "analyzer/facts/contexts.hpp"
#include "analyzer/facts/direction.hpp"
#include "analyzer/facts/peers.hpp"
#include "analyzer/facts/per_thread.hpp"
#include "analyzer/machine/rates.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/reader/thread_cursor.hpp"
#include "analyzer/reader/trace.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace umadvisor::facts {

/// Small numbers for live handles. A number is given out again when its handle was destroyed, so that tables by
/// number do not grow with every handle that a program makes.
class Numbers {
public:
    explicit Numbers(std::uint32_t first = 0) : next_(first) {}
    std::uint32_t of(std::uint64_t handle) {
        const auto [found, fresh] = numbers_.try_emplace(handle, 0);
        if (fresh && free_.empty())
            found->second = next_++;
        else if (fresh) {
            found->second = free_.front();
            free_.pop_front();
        }
        return found->second;
    }
    void destroy(std::uint64_t handle) {
        const auto found = numbers_.find(handle);
        if (found == numbers_.end())
            return;
        free_.push_back(found->second); // the one that was free longest is given out first
        numbers_.erase(found);
    }

private:
    std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
    std::deque<std::uint32_t> free_;
    std::uint32_t next_;
};

/// Follows the events in the order of time. Memory: one entry for each live stream, event and allocation of
/// device memory or of a pool, each context, each version of a graph, each entry point and each kind of work.
class Calls {
public:
    /// Both must outlive it.
    Calls(const reader::Trace& trace, const machine::Rates& rates);

    /// What the event at `cursor` does; nothing: neither host nor device spends time on it that is known.
    std::optional<Call> next(const reader::ThreadCursor& cursor);
    /// Of the device that a call's work goes to; 0 where the context is not known.
    std::uint64_t ordinal(const StreamPlace& place) const {
        return place.device < ordinals_.size() ? ordinals_[place.device] : 0;
    }
    /// The ordinal of the device that a stream is on.
    std::uint64_t device_of(const StreamPlace& stream) const { return ordinals_[stream.device]; }

private:
    template <class Record>
    Call begin(const Record& record, std::uint32_t thread);

    std::optional<Call> of(const trace::LaunchShape& record, const reader::ThreadCursor& cursor);
    std::optional<Call> of(const trace::Launch& record, const reader::ThreadCursor& cursor);
    std::optional<Call> of(const trace::Copy& record, const reader::ThreadCursor& cursor);
    std::optional<Call> of(const trace::Set& record, const reader::ThreadCursor& cursor);
    std::optional<Call> of(const trace::Sync& record, const reader::ThreadCursor& cursor);
    std::optional<Call> of(const trace::Event& record, const reader::ThreadCursor& cursor);
    std::optional<Call> of(const trace::Stream& record, const reader::ThreadCursor& cursor);
    std::optional<Call> of(const trace::Alloc& record, const reader::ThreadCursor& cursor);
    std::optional<Call> of(const trace::Free& record, const reader::ThreadCursor& cursor);
    std::optional<Call> of(const trace::Prefetch& record, const reader::ThreadCursor& cursor);
    std::optional<Call> of(const trace::GraphLaunch& record, const reader::ThreadCursor& cursor);
    std::optional<Call> of(const trace::HostFunction& record, const reader::ThreadCursor& cursor);
    std::optional<Call> of(const trace::Context& record, const reader::ThreadCursor& cursor);
    std::optional<Call> of(const trace::Peer& record, const reader::ThreadCursor& cursor);
    template <class Record>
    std::optional<Call> of(const Record& record, const reader::ThreadCursor& cursor);

    void query(Call& call, const trace::Sync& record);
    /// All launches of one shape have these numbers.
    struct Kernel {
        std::uint32_t group = 0; ///< 0: not known yet
        std::uint32_t kin = 0;
        bool wide = false;
    };
    /// The stream's place in the clock, for work that this thread queues there.
    struct Placed {
        trace::StreamId stream{};
        std::uint32_t thread = UINT32_MAX; ///< UINT32_MAX: of none
        StreamPlace place;
    };

    const Kernel& kernel(const reader::Shape& shape, std::uint32_t thread);
    std::uint32_t group(std::uint64_t key);
    void queue_unknown(Call& call, trace::StreamId stream, std::uint32_t group);
    StreamPlace place(trace::StreamId stream, std::uint32_t thread);
    StreamPlace find_place(trace::StreamId stream, std::uint32_t thread);
    double length(std::uint64_t ticks) const { return static_cast<double>(ticks) * ns_per_tick_; }
    double at(std::uint64_t ticks) const {
        return (static_cast<double>(ticks) - static_cast<double>(first_)) * ns_per_tick_;
    }
    double least(const Call& call);
    double rate_on_devices(const trace::Copy& record) const;
    std::uint64_t graph_of(std::uint64_t version);
    std::uint64_t work_of(std::uint64_t version) const;

    const reader::Trace& trace_;
    const machine::Rates& rates_;
    double ns_per_tick_;
    std::uint64_t first_;
    Contexts contexts_;
    Peers peers_;
    std::unordered_set<trace::StreamId> not_blocking_; ///< streams
    std::unordered_set<trace::AllocationId> pooled_;   ///< live allocations of pools
    Numbers streams_, events_{1};
    std::unordered_map<std::uint64_t, std::uint32_t> devices_; ///< contexts
    std::vector<std::uint64_t> ordinals_;                      ///< of the devices, by context
    std::unordered_map<std::uint64_t, std::uint64_t> graphs_;  ///< by version: the first one
    std::array<Placed, 64> placed_;                            ///< found lately
    PerThread<std::vector<Kernel>> kernels_;                   ///< by shape
    reader::FlatMap<std::uint32_t> groups_;
    reader::FlatMap<double> least_; ///< by entry
    double launch_ns_;              ///< of a launch call that was not measured
};

} // namespace umadvisor::facts
