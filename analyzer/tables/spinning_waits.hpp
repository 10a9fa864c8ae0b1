/// Long waits in which a thread asks for the end again and again instead of sleeping.
#pragma once

#include "analyzer/facts/waiting.hpp"
#include "trace/event_records.hpp"
#include "trace/memory_records.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

namespace umadvisor::tables {

/// Counts synchronisations that take at least 10 ms: what a thread needs to wake up is far less than these.
/// Memory: one entry for each device, context and event that blocks.
class SpinningWaits {
public:
    explicit SpinningWaits(double ns_per_tick) : least_ticks_(10e6 / ns_per_tick) {}

    void add(const trace::Context& record) {
        using enum trace::ContextAction;
        if (record.status != 0 || (record.action != create && record.action != retain_primary &&
                                   record.action != create_green && record.action != set_flags))
            return;
        // Later waits alone are of other flags, but programs set them before the first.
        const bool primary =
            record.action == retain_primary || (record.action == set_flags && record.context == 0);
        sleeps_[primary ? record.device : record.context] =
            record.flags_known == 0 || (record.flags & schedule_mask) == blocking;
    }
    void add(const trace::Event& record) {
        if (record.action == trace::EventAction::create && (record.flags & blocking_event) != 0)
            blocking_events_.insert(record.event);
        else if (record.action == trace::EventAction::create)
            blocking_events_.erase(record.event);
    }
    void add(const trace::Sync& record) {
        const bool asleep = record.kind == trace::SyncKind::event && blocking_events_.contains(record.object);
        if (record.status != 0 || asleep || !facts::waits_for_work(record) ||
            static_cast<double>(record.duration) < least_ticks_)
            return;
        ++count_;
        ticks_ += record.duration;
    }

    /// The flags of all contexts are known, and none of them lets a waiting thread sleep.
    bool known() const {
        return !sleeps_.empty() &&
               std::ranges::none_of(sleeps_, [](const auto& context) { return context.second; });
    }
    std::uint64_t count() const { return count_; }
    std::uint64_t ticks() const { return ticks_; }

private:
    /// CUctx_flags and CUevent_flags of cuda.h.
    static constexpr std::uint64_t schedule_mask = 7, blocking = 4, blocking_event = 1;

    double least_ticks_;
    std::map<std::uint64_t, bool> sleeps_; ///< by device or context: a waiting thread does, or it is not known
    std::set<std::uint64_t> blocking_events_;
    std::uint64_t count_ = 0, ticks_ = 0;
};

} // namespace umadvisor::tables
