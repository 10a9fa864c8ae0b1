/// What each event of a trace adds to a profile.
#include "analyzer/facts/direction.hpp"
#include "analyzer/facts/own_calls.hpp"
#include "analyzer/facts/waiting.hpp"
#include "analyzer/rules/clocks.hpp"
#include "analyzer/rules/profile.hpp"
#include "analyzer/tables/named_ranges.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <type_traits>
#include <variant>

namespace umadvisor::rules {
namespace {

using trace::Memory;

/// Hands a record to the observers that have an add() for its type; without any it costs nothing.
template <class Record, class... Observers>
void offer(const Record& record, std::uint32_t thread, Observers&... observers) {
    const auto offer_to = [&](auto& observer) {
        if constexpr (requires { observer.add(record, thread); })
            observer.add(record, thread);
        else if constexpr (requires { observer.add(record); })
            observer.add(record);
    };
    (offer_to(observers), ...);
}

/// True: it became a node of a graph and did not run.
template <class Record>
bool is_node(const Record& record) {
    constexpr bool stays_itself =
        std::is_same_v<Record, trace::LaunchShape> || std::is_same_v<Record, trace::GraphLaunch>;
    if constexpr (!stays_itself && requires { record.captured; })
        return record.captured != 0;
    else
        return false;
}

/// Which allocations work reaches.
struct Reach {
    std::span<const trace::AllocationId> parameters; ///< of a kernel
    std::array<trace::AllocationId, 2> ends{};       ///< of a copy or set
    std::size_t count = 0;
    bool complete = false; ///< it reaches no other

    std::span<const trace::AllocationId> allocations() const {
        return count == 0 ? parameters : std::span(ends).first(count);
    }
    void add(trace::AllocationId allocation, Memory memory) {
        if (known(allocation))
            ends[count++] = allocation;
        complete &= known(allocation) || facts::is_host_memory(memory);
    }
};

Reach reach_of(const reader::ThreadCursor& cursor) {
    Reach reach;
    if (std::holds_alternative<trace::Launch>(cursor.event())) {
        if (const reader::Shape* const shape = cursor.shape()) {
            reach.parameters = shape->touched;
            // Without any it can only work on `__device__` variables, which no launch lists.
            reach.complete = shape->scanned && shape->untold == 0 && !shape->touched.empty();
        }
    } else if (const auto* const copy = std::get_if<trace::Copy>(&cursor.event())) {
        reach.complete = true;
        reach.add(copy->source_allocation, copy->source_memory);
        reach.add(copy->destination_allocation, copy->destination_memory);
    } else if (const auto* const set = std::get_if<trace::Set>(&cursor.event())) {
        reach.complete = true;
        reach.add(set->allocation, set->memory);
    }
    return reach;
}

/// What umadvisor makes of a staged copy is no fault of the program: it takes no longer than by the driver.
void add_copy(tables::Copies& copies, const trace::Copy& record, const reader::Timescale& time,
              facts::Call& call) {
    tables::CopyTotals* const totals = copies.add(record);
    if (totals == nullptr || record.staged == 0) {
        call.note = totals;
        return;
    }
    const std::uint64_t ticks = record.duration - std::min(record.duration, record.wait_duration);
    totals->settle(call, call.expected_ns, std::min(static_cast<double>(time.length(ticks)), call.expected_ns));
}

} // namespace

template <class Record>
void Profile::describe_failure(const Record& record, tables::FailedTotals& first) {
    if constexpr (std::is_same_v<Record, trace::Copy>) {
        const auto is_null = [](std::uint64_t address, trace::Memory memory) { // an array has no address
            return address == 0 && memory == trace::Memory::unknown;
        };
        first.from_null = is_null(record.source, record.source_memory);
        first.to_null = is_null(record.destination, record.destination_memory);
    }
    if constexpr (std::is_same_v<Record, trace::Alloc>) {
        first.bytes = record.bytes;
        first.of_host = facts::is_host_memory(record.memory);
    }
    if (record.status != tables::out_of_memory &&
        !(first.of_host && record.status == tables::system_call_failed))
        return;
    constexpr std::size_t most_looks = 16; // each keeps one entry a site of allocations
    if (failed_calls_.sites().size() <= most_looks)
        first.holdings = allocations_.holdings(first.of_host);
    if (first.holdings && !first.of_host)
        first.idle = lifetimes_.idle(record.start);
}

template <class Record>
void Profile::count_call(const ids::CallSite& site, const Record& record, std::uint32_t thread) {
    if (site.stack.outside())
        return;
    CallTotals& totals = calls_[site.entry];
    ++totals.count;
    if (record.status != 0) {
        ++totals.failed;
        if (tables::FailedTotals* const first = failed_calls_.add(site, record.status, record.start, thread))
            describe_failure(record, *first);
    }
    if constexpr (std::is_same_v<Record, trace::Launch>)
        totals.time.add(record.duration, record.stands_for);
    else // measured, be it zero
        totals.time += {.measured = 1, .ticks = record.duration};
}

template <class Record>
void Profile::count(const Record& record, std::uint32_t thread) {
    ++records_;
    if constexpr (std::is_same_v<Record, trace::Residency>)
        ++residency_samples_;
    if constexpr (std::is_same_v<Record, trace::Pause>)
        last_ticks_ = std::max(last_ticks_, record.start);
    if constexpr (requires { record.start + record.duration; })
        last_ticks_ = std::max(last_ticks_, record.start + record.duration);
    if constexpr (requires {
                      record.entry;
                      record.stack;
                      record.status;
                  }) {
        if (facts::is_program_call(record))
            count_call(ids::CallSite::of(record), record, thread);
    }
    if constexpr (requires { record.captured; } && !std::is_same_v<Record, trace::LaunchShape>)
        captured_ += record.captured != 0;
}

void Profile::observe(const reader::ThreadCursor& cursor) {
    std::optional<facts::Call> call = clocks_->facts.next(cursor);
    if (const auto* const launch = std::get_if<trace::Launch>(&cursor.event())) // most are: a branch suffices
        observe(*launch, cursor.shape(), cursor.index(), call ? &*call : nullptr);
    else
        observe_other(cursor, call ? &*call : nullptr);
    if (call) {
        call->range = ranges_->enter(call->thread);
        if (call->queues == facts::Queues::work)
            default_context_.work(clocks_->facts.ordinal(call->stream));
        const Reach reach = reach_of(cursor);
        clocks_->add(*call);
        counters_.add(WorkCall{*call, cursor, reach.allocations(), reach.complete}, cursor.index(), false);
    }
    if (const auto* const freed = std::get_if<trace::Free>(&cursor.event()))
        live_.remove(*freed);
}

void Profile::observe_other(const reader::ThreadCursor& cursor, facts::Call* call) {
    std::visit(
        [&](const auto& record) {
            if (!cursor.of_state())
                count(record, cursor.index());
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(record)>, trace::Alloc>) {
                live_.add(record);
                if (facts::is_program_call(record) && !cursor.of_state())
                    failed_calls_.tried(record, cursor.index());
            }
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(record)>, trace::HostFunction>)
                failed_calls_.queued(record); // a node of a graph, too
            offer(record, cursor.index(), lifetimes_);
            const bool node = is_node(record);
            counters_.add(record, cursor.index(), node);
            if (node)
                return;
            offer(record, cursor.index(), default_context_, waits_, spinning_waits_, managed_, recorded_,
                  allocations_, failed_calls_, actions_, action_gains_, narrow_rows_, graphs_, exported_sites_,
                  staging_sites_, noticed_allocations_);
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(record)>, trace::Copy>)
                add_copy(copies_, record, trace_.time, *call);
            else if constexpr (requires { add(record, cursor); })
                add(record, cursor);
        },
        cursor.event());
}

void Profile::observe(const trace::Launch& record, const reader::Shape* shape, std::uint32_t thread,
                      facts::Call* call) {
    count(record, thread);
    action_gains_.launch(record, shape, thread);
    lifetimes_.launch(record, shape);
    if (shape != nullptr)
        count_call(ids::CallSite::of(*shape), record, thread);
    const bool node = shape != nullptr && shape->captured;
    tables::Launches::Group* const group = node ? nullptr : launches_.add(thread, record, shape);
    counters_.add(Launched{record, shape, group, thread}, thread, node);
    if (node) {
        ++captured_;
        return;
    }
    if (call != nullptr && call->kin != 0 &&
        group != nullptr) // a failed launch has no kin, and nothing settles for it
        call->note = &group->second;
    if (shape == nullptr)
        return;
    allocations_.launch(record, *shape);
    if (record.status == 0)
        managed_.launch(*shape, record.start, thread);
}

void Profile::add(const trace::LaunchShape&, const reader::ThreadCursor& cursor) {
    launches_.define(cursor.index(), *cursor.defined());
}

void Profile::add(const trace::Range& record, const reader::ThreadCursor& cursor) {
    ranges_->add(record, cursor.index(), cursor.time());
}

void Profile::add(const trace::Pause&, const reader::ThreadCursor&) {
    ranges_->pause();
}

void Profile::add(const trace::ManagedEvent& record, const reader::ThreadCursor&) {
    ranges_->add(record);
}

void Profile::add(const trace::GraphLaunch& record, const reader::ThreadCursor& cursor) {
    if (record.captured != 0 || record.status != 0)
        return;
    launches_.graph_launched(cursor.index());
    for (const tables::GraphTouch& touch : graphs_.touches(record.version)) {
        allocations_.reach(touch.allocation, touch.group);
        managed_.reach(touch.allocation, {touch.group.function, ids::StackId::of(record), record.entry}, record,
                       cursor.index());
    }
}

void Profile::add(const trace::Sync& record, const reader::ThreadCursor& cursor) {
    if (facts::waits_for_work(record))
        launches_.synchronized(cursor.index(), record.duration);
}

void Profile::add(const trace::Context& record, const reader::ThreadCursor&) {
    const bool makes =
        record.action == trace::ContextAction::create || record.action == trace::ContextAction::retain_primary;
    if (makes && !ids::StackId::of(record).outside()) {
        context_ticks_ += record.duration;
        context_entries_.insert(record.entry);
    }
}

void Profile::add(const trace::DeviceTime& record, const reader::ThreadCursor&) {
    const std::uint64_t ns = record.nanoseconds - std::min(record.nanoseconds, record.floor_nanoseconds);
    clocks_->measured(record.sample, static_cast<double>(ns));
    samples_.measured(record.sample, ns);
}

} // namespace umadvisor::rules
