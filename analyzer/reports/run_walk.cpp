#include "analyzer/reports/run_walk.hpp"

#include "analyzer/facts/calls.hpp"
#include "analyzer/reader/event_stream.hpp"
#include "analyzer/reader/saturated.hpp"
#include "analyzer/timeline/clock.hpp"

#include <algorithm>
#include <deque>
#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

namespace umadvisor::reports {
namespace {

/// A duration that the clock calls measured is off by no more.
constexpr double doubt_of_measured = 0.01;

/// Bounds the times of a damaged trace, so that differences of two stay differences.
std::int64_t within_reason(std::int64_t ns) {
    constexpr std::int64_t most = std::int64_t{1} << 61; // 73 years
    return std::clamp(ns, -most, most);
}

/// Calls that the clock has not settled yet; their places are used again.
class WaitingCalls {
public:
    WalkedCall& make() {
        if (free_.empty())
            return calls_.emplace_back();
        WalkedCall* const call = free_.back();
        free_.pop_back();
        *call = {};
        return *call;
    }
    void give_back(WalkedCall& call) { free_.push_back(&call); }

private:
    std::deque<WalkedCall> calls_;
    std::vector<WalkedCall*> free_;
};

class Walk {
public:
    Walk(advice::Report& report, RunObserver& observer)
        : trace_(report.trace),
          observer_(observer),
          facts_(report.trace, report.profile.rates()),
          clock_([this](const timeline::Settled& settled) { settle(settled); }),
          ns_per_tick_(static_cast<double>(trace_.time.length(1'000'000)) / 1e6) {
        clock_.know(report.profile.clock());
    }

    void run() {
        const reader::Completeness counted = trace_.file.completeness(); // by who read it first
        reader::EventStream events(trace_.file);
        while (const reader::ThreadCursor* const cursor = events.next())
            std::visit([&](const auto& record) { add(record, *cursor); }, cursor->event());
        clock_.finish();
        trace_.file.completeness() = counted;
    }

private:
    template <class Record>
    void add(const Record& record, const reader::ThreadCursor& cursor);
    template <class Record>
    void describe(WalkedCall& call, const Record& record, const reader::ThreadCursor& cursor);
    void settle(const timeline::Settled& settled);
    /// The clock's time as the trace's own scale has it, which is exact over long runs.
    std::int64_t exact(double ns) const {
        const double first = static_cast<double>(trace_.file.header().first.ticks);
        return ns_per_tick_ > 0 ? within_reason(trace_.time.at(reader::saturated(first + ns / ns_per_tick_)))
                                : 0;
    }

    reader::Trace& trace_;
    RunObserver& observer_;
    facts::Calls facts_;
    timeline::Clock clock_;
    double ns_per_tick_;
    facts::Contexts contexts_;
    WaitingCalls waiting_;
};

WorkKind work_of(const trace::Launch&) {
    return WorkKind::kernel;
}
WorkKind work_of(const trace::Copy&) {
    return WorkKind::copy;
}
WorkKind work_of(const trace::Set&) {
    return WorkKind::set;
}
WorkKind work_of(const trace::Prefetch&) {
    return WorkKind::prefetch;
}
WorkKind work_of(const trace::GraphLaunch&) {
    return WorkKind::graph;
}
WorkKind work_of(const trace::HostFunction&) {
    return WorkKind::host_function;
}
template <class Record>
WorkKind work_of(const Record&) {
    return WorkKind::none;
}

template <class Record>
void Walk::describe(WalkedCall& call, const Record& record, const reader::ThreadCursor& cursor) {
    call.thread = cursor.thread();
    call.start_ns = within_reason(trace_.time.at(record.start));
    call.status = record.status;
    if constexpr (requires { record.origin; }) // an allocation of this origin is a call of the program
        call.by_umadvisor = record.origin == trace::Origin::umadvisor && !std::is_same_v<Record, trace::Alloc>;
    if constexpr (requires { record.batch; })
        call.part = record.batch > 1;
    if constexpr (requires { record.bytes; })
        call.bytes = record.bytes;
    if constexpr (requires { record.stream; })
        call.stream = record.stream;
    if constexpr (std::is_same_v<Record, trace::Launch>) {
        if (const reader::Shape* const shape = cursor.shape()) {
            call.stream = shape->stream;
            call.function = shape->function;
            std::copy_n(shape->grid, 3, call.grid.begin());
            std::copy_n(shape->block, 3, call.block.begin());
            call.shared_bytes = shape->shared_bytes;
        }
        call.measured = record.duration != 0;
    }
    if constexpr (std::is_same_v<Record, trace::Copy>) {
        call.copies = true;
        call.direction = facts::direction_of(record, trace_.dictionary.symbol(record.entry));
        call.source = record.source_memory;
        call.destination = record.destination_memory;
        call.source_allocation = record.source_allocation;
        call.destination_allocation = record.destination_allocation;
        call.asynchronous = record.asynchronous != 0;
        call.staged = record.staged != 0;
    }
    if constexpr (std::is_same_v<Record, trace::Set> || std::is_same_v<Record, trace::Prefetch> ||
                  std::is_same_v<Record, trace::Alloc>)
        call.destination_allocation = record.allocation;
}

template <class Record>
void Walk::add(const Record& record, const reader::ThreadCursor& cursor) {
    if constexpr (requires { contexts_.add(record, cursor.thread()); })
        contexts_.add(record, cursor.thread());
    if constexpr (std::is_same_v<Record, trace::DeviceTime>)
        clock_.measured(
            record.sample,
            static_cast<double>(record.nanoseconds - std::min(record.nanoseconds, record.floor_nanoseconds)));
    observer_.event(cursor);
    std::optional<facts::Call> fact = facts_.next(cursor);
    if (!fact)
        return;
    if constexpr (requires {
                      record.status;
                      record.start;
                      record.duration;
                  }) {
        WalkedCall& call = waiting_.make();
        describe(call, record, cursor);
        call.entry = fact->site.entry;
        call.stack = fact->site.stack;
        call.duration_ns =
            call.measured ? trace_.time.length(record.duration) : reader::saturated(fact->duration);
        if (fact->queues == facts::Queues::work) {
            call.work = work_of(record);
            call.place = contexts_.of(cursor.thread(), call.stream);
        }
        fact->note = &call;
    }
    clock_.add(*fact);
}

void Walk::settle(const timeline::Settled& settled) {
    if (settled.call.note == nullptr)
        return;
    WalkedCall& call = *static_cast<WalkedCall*>(settled.call.note);
    call.waited_ns = std::min(call.duration_ns, reader::saturated(settled.waited_ns));
    if (call.work != WorkKind::none) {
        // Where that explains a wait, the clock lets measured work take longer or shorter than it did.
        call.work_measured = settled.call.doubt <= doubt_of_measured;
        const double ns = call.work_measured ? settled.call.expected_ns : settled.device_ns;
        call.work_ns = reader::saturated(ns);
        call.work_end_ns = std::max(call.start_ns, exact(settled.work_end_ns));
        call.work_start_ns = std::clamp(exact(settled.work_end_ns - ns), call.start_ns, call.work_end_ns);
    }
    observer_.call(call);
    waiting_.give_back(call);
}

} // namespace

std::int64_t WalkedCall::end_ns() const {
    const std::uint64_t room = static_cast<std::uint64_t>(INT64_MAX - std::max<std::int64_t>(start_ns, 0));
    return start_ns + static_cast<std::int64_t>(std::min(duration_ns, room));
}

void walk(advice::Report& report, RunObserver& observer) {
    Walk(report, observer).run();
}

} // namespace umadvisor::reports
