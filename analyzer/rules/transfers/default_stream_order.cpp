#include "analyzer/rules/transfers/default_stream_order.hpp"

#include <algorithm>

namespace umadvisor::rules {

void DefaultStreamOrder::add(const trace::Alloc& record) {
    if (record.status == 0 && record.symbol != 0 && record.memory != trace::Memory::managed)
        variables_.insert(record.allocation);
}

bool DefaultStreamOrder::has_variable(std::span<const trace::AllocationId> allocations) const {
    return !variables_.empty() && std::ranges::any_of(allocations, [this](trace::AllocationId allocation) {
        return variables_.contains(allocation);
    });
}

void DefaultStreamOrder::add(const facts::Call& call, std::span<const trace::AllocationId> reached,
                             bool complete) {
    const bool works = call.queues == facts::Queues::work;
    if (!works && call.waits == facts::Waits::nothing)
        return;
    if (call.stream.device >= stretches_.size())
        stretches_.resize(call.stream.device + 1);
    Stretch& stretch = stretches_[call.stream.device];
    complete = complete && !has_variable(reached);
    const bool waits_for_all =
        (call.waits == facts::Waits::device && call.surely_waits) ||
        (call.stream.legacy && (call.waits == facts::Waits::itself || call.waits == facts::Waits::stream));
    if (waits_for_all) {
        if (!stretch.streams.empty())
            stretch = {};
    } else if (works && call.stream.legacy) {
        if (!stretch.streams.empty()) // else there is nothing to wait for
            add_barrier(stretch, call, reached, complete);
    } else if (works && call.stream.blocking) {
        add_beside(stretch, call, reached, complete);
    }
}

bool DefaultStreamOrder::has_room(const Stretch& stretch, DefaultStreamTotals& totals) {
    return stretch.reached_by_barriers.size() < most_reached &&
           (stretch.barriers.size() < most_barriers || stretch.barriers.contains(&totals));
}

void DefaultStreamOrder::add_barrier(Stretch& stretch, const facts::Call& call,
                                     std::span<const trace::AllocationId> reached, bool complete) {
    DefaultStreamTotals& totals = sites_[call.site];
    totals.copies |= call.engine != facts::Engine::none;
    totals.shares |= (call.staged && call.engine == facts::Engine::up) || !complete || !stretch.complete ||
                     !has_room(stretch, totals) ||
                     std::ranges::any_of(reached, [&stretch](trace::AllocationId allocation) {
                         return stretch.reached.contains(allocation);
                     });
    if (totals.shares) // whatever comes behind it
        return;
    stretch.barriers.insert(&totals);
    stretch.open.insert(&totals);
    for (const trace::AllocationId allocation : reached) {
        std::vector<DefaultStreamTotals*>& by = stretch.reached_by_barriers[allocation];
        if (std::ranges::find(by, &totals) == by.end())
            by.push_back(&totals);
    }
}

void DefaultStreamOrder::add_beside(Stretch& stretch, const facts::Call& call,
                                    std::span<const trace::AllocationId> reached, bool complete) {
    stretch.streams.insert(call.stream.number);
    stretch.complete &= complete && stretch.reached.size() < most_reached;
    if (stretch.complete)
        for (const trace::AllocationId allocation : reached)
            stretch.reached[allocation] = true;
    if (stretch.barriers.empty())
        return;
    if (!complete) {
        for (DefaultStreamTotals* const barrier : stretch.barriers)
            barrier->shares = true;
        stretch.barriers.clear();
        stretch.open.clear();
        stretch.reached_by_barriers.clear();
        return;
    }
    for (const trace::AllocationId allocation : reached)
        if (const auto* const by = stretch.reached_by_barriers.find(allocation))
            for (DefaultStreamTotals* const barrier : *by)
                barrier->shares = true;
    for (DefaultStreamTotals* const barrier : stretch.open) {
        ++barrier->between;
        barrier->streams = std::max<std::uint64_t>(barrier->streams, stretch.streams.size());
        barrier->other_stack = call.site.stack;
    }
    stretch.open.clear();
}

} // namespace umadvisor::rules
