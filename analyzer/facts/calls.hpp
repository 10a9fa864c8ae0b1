/// From records to calls.
#pragma once

#include "analyzer/facts/call.hpp"
#include "analyzer/machine/rates.hpp"
#include "analyzer/model/contexts.hpp"
#include "analyzer/model/direction.hpp"
#include "analyzer/reader/flat_map.hpp"
#include "analyzer/reader/thread_cursor.hpp"
#include "analyzer/reader/trace.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace umadvisor::facts {

/// Follows the events in the order of time. Memory: one entry for each live stream and event, each context and
/// each entry point.
class Calls {
public:
    /// Both must outlive it.
    Calls(const reader::Trace& trace, const machine::Rates& rates);

    /// What the event at `cursor` does; nothing: neither host nor device spends time on it that is known.
    std::optional<Call> next(const reader::ThreadCursor& cursor);

private:
    template <class Record>
    Call begin(const Record& record, std::uint32_t thread);
    Call with_stream(Call call, std::uint64_t stream);

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
    template <class Record>
    std::optional<Call> of(const Record& record, const reader::ThreadCursor& cursor);

    StreamPlace place(std::uint64_t stream, std::uint32_t thread);
    std::uint32_t event(std::uint64_t handle);
    double length(std::uint64_t ticks) const { return static_cast<double>(ticks) * ns_per_tick_; }
    double at(std::uint64_t ticks) const {
        return (static_cast<double>(ticks) - static_cast<double>(first_)) * ns_per_tick_;
    }
    double least(const Call& call);

    const reader::Trace& trace_;
    const machine::Rates& rates_;
    double ns_per_tick_;
    std::uint64_t first_;
    model::Contexts contexts_;
    std::unordered_set<std::uint64_t> not_blocking_;                    ///< streams
    std::unordered_map<std::uint64_t, std::uint32_t> streams_, events_; ///< numbers
    std::uint32_t next_stream_ = 0, next_event_ = 1;
    std::unordered_map<std::uint64_t, std::uint32_t> devices_; ///< contexts
    reader::FlatMap<double> least_;                            ///< by entry
    double launch_ns_;                                         ///< of a launch call that was not measured
};

} // namespace umadvisor::facts
