/// What the program gives the device between two waits, as patterns that come again.
#pragma once

#include "analyzer/facts/per_thread.hpp"
#include "analyzer/facts/running_launches.hpp"
#include "analyzer/facts/samples.hpp"
#include "analyzer/rules/counter.hpp"
#include "analyzer/rules/transfers/schedule.hpp"
#include "analyzer/tables/launches.hpp"

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace umadvisor::rules {

/// What operations that are alike have in common.
struct WorkAction {
    Engine engine{};
    ids::StackId stack{};
    std::uint64_t entry = 0;
    std::uint64_t bytes = 0; ///< copied or set
    trace::Memory source{}, destination{};
    bool asynchronous = false;
    const tables::Launches::Group* kernel = nullptr; ///< nullptr: a copy or a set
    bool operator==(const WorkAction&) const = default;

    bool is_kernel() const { return kernel != nullptr; }
};

struct WorkTime {
    std::uint64_t count = 0, ticks = 0;          ///< in patterns; of the calls of copies
    std::uint64_t measured = 0, measured_ns = 0; ///< device time of sampled copies
};

/// One operation of a pattern.
struct Work {
    const WorkAction* action = nullptr;
    const WorkTime* time = nullptr;
    std::vector<std::uint32_t> reaches; ///< allocations, in the order of first use in the pattern
};

struct WorkPattern {
    std::vector<Work> work;
    std::uint64_t times = 0; ///< that it came
};

/// Patterns of all that a thread queues in one stream until it waits. A pattern is not kept if it is longer
/// than `most_work`, has no copy, runs beside work of other streams or threads, or has calls that are not known
/// in full. Memory: one entry an action, at most `most_actions`, a pattern, at most `most_patterns`, and a
/// thread, at most `most_threads`: beyond, patterns are not followed, or the threads so far are forgotten.
class WorkPatterns : public Counter {
public:
    static constexpr bool wants_nodes = true; ///< captured calls end a stretch, too
    static constexpr std::size_t most_work = 64, most_patterns = 1024, most_actions = 65'536,
                                 most_threads = 1024;

    /// `samples` must outlive it.
    explicit WorkPatterns(facts::Samples& samples) : samples_(samples) {}
    explicit WorkPatterns(const Begin& begin) : WorkPatterns(begin.samples) {}

    void add(const trace::Copy& copy, std::uint32_t thread);
    void add(const trace::Set& set, std::uint32_t thread);
    void add(const trace::Sync& sync, std::uint32_t thread);
    void add(const trace::Stream& stream, std::uint32_t thread);
    // Work that is not followed here.
    void add(const trace::GraphLaunch& record, std::uint32_t thread) { spoil(record.stream, thread); }
    void add(const trace::HostFunction& record, std::uint32_t thread) { spoil(record.stream, thread); }
    void add(const trace::Prefetch& record, std::uint32_t thread) { spoil(record.stream, thread); }
    void add(const trace::Discard& record, std::uint32_t thread) { spoil(record.stream, thread); }
    // Calls that may wait for the work before them, or after which calls mean another context.
    void add(const trace::Free&, std::uint32_t thread) { interrupt(thread); }
    void add(const trace::Context&, std::uint32_t thread) { interrupt(thread); }
    void add(const trace::Pause&, std::uint32_t thread) { interrupt(thread); }
    void add(const trace::Graph&, std::uint32_t thread) { interrupt(thread); }
    void add(const Launched& launched);

    /// In no order. What they point to lives as long as this.
    std::vector<WorkPattern> patterns() const;

private:
    using Words = std::vector<std::uint32_t>;
    struct WordsHash {
        std::size_t operator()(const Words& words) const;
    };
    /// One operation before its pattern is looked up, which most stretches do not come to.
    struct Given {
        WorkAction action;
        std::uint64_t ticks = 0;
        std::size_t reached = 0; ///< end of its part of the stretch's `reached`
    };
    struct Stretch { ///< from a wait to the next
        std::vector<Given> given;
        std::vector<trace::AllocationId> reached; ///< allocations
        bool copies = false, spoiled = false;
    };
    struct Numbered {
        std::uint32_t number = 0;
        WorkTime time;
    };
    struct ActionHash {
        std::size_t operator()(const WorkAction& action) const;
    };
    using Actions = std::unordered_map<WorkAction, Numbered, ActionHash>;

    void spoil(trace::StreamId stream, std::uint32_t thread);
    void interrupt(std::uint32_t thread);
    Stretch& stretch_of(std::uint32_t thread) {
        Stretch* const known = stretches_.find(thread);
        return known != nullptr ? *known : begin(thread);
    }
    Stretch& begin(std::uint32_t thread);
    void give(Stretch& stretch, std::uint32_t thread, trace::StreamId stream, Given given,
              std::span<const trace::AllocationId> reached);
    void give(Stretch& stretch, const reader::Shape& shape, const tables::Launches::Group* group,
              std::uint32_t thread);
    void busy_with(std::uint32_t thread, trace::StreamId stream);
    void end_stretch(Stretch& stretch);
    Words words_of(const Stretch& stretch);
    Numbered* number(const WorkAction& action);

    facts::Samples& samples_;
    Actions actions_;
    std::vector<const Actions::value_type*> by_number_;
    std::unordered_map<Words, std::uint64_t, WordsHash> patterns_; ///< how often
    facts::PerThread<Stretch> stretches_;
    std::size_t threads_ = 0;            ///< with a stretch
    bool forgotten_ = false;             ///< stretches may begin in the middle
    std::vector<facts::WorkQueue> busy_; ///< queues that the host has not waited for
};

} // namespace umadvisor::rules
