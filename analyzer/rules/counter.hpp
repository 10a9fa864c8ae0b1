/// How rules get the records of a trace.
#pragma once

#include "analyzer/facts/call.hpp"
#include "analyzer/facts/live_memory.hpp"
#include "analyzer/facts/samples.hpp"
#include "analyzer/reader/thread_cursor.hpp"
#include "analyzer/reader/trace.hpp"
#include "analyzer/rules/rule.hpp"
#include "analyzer/tables/launches.hpp"

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

namespace umadvisor::rules {

/// What a counter is made from. All of it outlives the counter.
struct Begin {
    const reader::Trace& trace;
    const reader::Dictionary& dictionary; ///< the trace's
    const facts::LiveMemory& live; ///< the live memory at each record: before a free, after an allocation
    facts::Samples& samples;       ///< where device times of launches and copies are awaited
    double ns_per_tick = 0;
};

/// A launch, with what its shape says.
struct Launched {
    const trace::Launch& record;
    const reader::Shape* shape; ///< null: it was lost
    /// Where it was added up, which outlives the counters. Null: it was lost, or became a node of a graph.
    const tables::Launches::Group* group;
    std::uint32_t thread; ///< counted from 0 without gaps

    bool is_node() const { return shape != nullptr && shape->captured; }
};

/// A call that queues work or waits for work, with what is known of it.
struct WorkCall {
    const facts::Call& call;
    const reader::ThreadCursor& cursor;               ///< its record
    std::span<const trace::AllocationId> allocations; ///< that its work reaches
    bool reaches_no_other;
};

/// Base class of what a rule counts. A counter gets a record if it has `add(const trace::X&)` or
/// `add(const trace::X&, std::uint32_t thread)`, and launches and calls if it has an `add()` for Launched or
/// WorkCall. They come in the order of time, on one thread. Calls that became nodes of a graph did not run and
/// are left out, unless the counter has `static constexpr bool wants_nodes = true`.
class Counter {
public:
    virtual ~Counter() = default;
    /// Called after the last record.
    virtual void finish() {}
};

namespace detail {

template <class Thing>
struct Listener {
    Counter* counter;
    void (*hear)(Counter& counter, const Thing& thing, std::uint32_t thread);
};

template <class Events>
struct ListenersOf;
template <class... Records>
struct ListenersOf<std::variant<Records...>> {
    using Lists = std::tuple<std::vector<Listener<Records>>..., std::vector<Listener<Launched>>,
                             std::vector<Listener<WorkCall>>>;
};

} // namespace detail

template <class Counts>
std::unique_ptr<Counter> count(const Begin& begin, Counters& counters);

/// The counters of all rules, and which of them want a record. Which those are is resolved when a rule is
/// compiled, so a record that none wants costs a look at an empty list.
class Counters {
public:
    explicit Counters(const Begin& begin);

    /// A counter that several rules share is made once. A counter that asks for another when it is made gets
    /// each record before the other does.
    template <class Counts>
    const Counts& get(const Begin& begin) {
        return static_cast<const Counts&>(get(begin, &count<Counts>));
    }
    /// To be called after all counters were made.
    template <class Counts>
    const Counts& get() const {
        return static_cast<const Counts&>(*made_.at(&count<Counts>));
    }

    /// Hands `thing` to the counters that want it. `node`: the call became a node of a graph.
    template <class Thing>
    void add(const Thing& thing, std::uint32_t thread, bool node) const {
        for (const auto& [counter, hear] :
             std::get<std::vector<detail::Listener<Thing>>>(node ? of_nodes_ : all_))
            hear(*counter, thing, thread);
    }
    void finish() const;

    /// From now on `counter` gets what it has an `add()` for.
    template <class Counts>
    void connect(Counts& counter) {
        static_assert(
            !requires(const trace::Launch& record) { counter.add(record); },
            "a launch comes as Launched, with its shape");
        static_assert(
            !requires(const trace::DeviceTime& record) { counter.add(record); },
            "a device's time is awaited where its call is counted (facts::Samples)");
        bool nodes = false;
        if constexpr (requires { Counts::wants_nodes; })
            nodes = Counts::wants_nodes;
        std::apply([&](auto&... lists) { (connect(counter, lists), ...); }, all_);
        if (nodes)
            std::apply([&](auto&... lists) { (connect(counter, lists), ...); }, of_nodes_);
    }

private:
    using Lists = detail::ListenersOf<reader::Event>::Lists;

    const Counter& get(const Begin& begin, MakeCounter* make);
    template <class Counts, class Thing>
    static void connect(Counts& counter, std::vector<detail::Listener<Thing>>& listeners) {
        void (*hear)(Counter&, const Thing&, std::uint32_t) = nullptr;
        if constexpr (requires(const Thing& thing) { counter.add(thing, std::uint32_t{}); })
            hear = [](Counter& counts, const Thing& thing, std::uint32_t thread) {
                static_cast<Counts&>(counts).add(thing, thread);
            };
        else if constexpr (requires(const Thing& thing) { counter.add(thing); })
            hear = [](Counter& counts, const Thing& thing, std::uint32_t) {
                static_cast<Counts&>(counts).add(thing);
            };
        if (hear != nullptr)
            listeners.insert(listeners.begin(), {&counter, hear});
    }

    Lists all_, of_nodes_;
    std::map<MakeCounter*, std::unique_ptr<Counter>> made_;
};

/// Makes the counter of a rule: `.counter = &count<Counts>`.
template <class Counts>
std::unique_ptr<Counter> count(const Begin& begin, Counters& counters) {
    std::unique_ptr<Counts> made;
    if constexpr (std::is_constructible_v<Counts, const Begin&, Counters&>)
        made = std::make_unique<Counts>(begin, counters);
    else if constexpr (std::is_constructible_v<Counts, const Begin&>)
        made = std::make_unique<Counts>(begin);
    else
        made = std::make_unique<Counts>();
    counters.connect(*made);
    return made;
}

} // namespace umadvisor::rules
