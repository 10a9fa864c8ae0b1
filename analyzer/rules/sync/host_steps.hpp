/// The host's steps between a download and the device's next work.
#pragma once

#include "analyzer/facts/direction.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/rules/counter.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace umadvisor::rules {

/// The downloads of one call site.
struct HostStepTotals {
    std::uint64_t downloads = 0, bytes = 0;
    std::uint64_t steps = 0;            ///< downloads after which the host worked while the device waited
    std::uint64_t host_ticks = 0;       ///< of the steps
    std::uint64_t call_ticks = 0;       ///< of the downloads and the waits for them
    std::set<std::uint64_t> places;     ///< on the host, to which they led; a bounded number
    std::uint64_t elsewhere = 0;        ///< those that led to none of the places before
    std::uint64_t looked = 0, same = 0; ///< with hashes of two in a row, and the same bytes again
    std::uint64_t last_hash = 0;
    ids::StackId next_stack{}; ///< of the call that ended the last step
};

/// Follows the events in the order of time. It counts programs in which one thread alone queues work, since of
/// other programs the trace does not show when the device was idle. A step counts if the round before it
/// launched kernels, but not those of many steps at once, and if the host sent little in that round compared
/// with what came down. Rounds count for nothing in which kernels reach memory of the host or managed memory,
/// or whose work is not known. Memory: one entry a call site.
class HostSteps : public Counter {
public:
    static constexpr std::size_t most_places = 16;

    explicit HostSteps(const Begin& begin) : live_(begin.live), ns_per_tick_(begin.ns_per_tick) {}

    void add(const trace::Copy& record, std::uint32_t thread);
    void add(const trace::Sync& record, std::uint32_t thread);
    void add(const trace::Set& record, std::uint32_t thread) {
        if (record.status == 0)
            queue(thread, ids::StackId::of(record), record.start);
    }
    void add(const trace::GraphLaunch& record, std::uint32_t thread) { queue_unknown(record, thread); }
    void add(const trace::HostFunction& record, std::uint32_t thread) { queue_unknown(record, thread); }
    void add(const trace::Prefetch& record, std::uint32_t thread) { queue_unknown(record, thread); }
    void add(const trace::Alloc& record) { passed_ += record.duration; }
    void add(const trace::Free& record) { passed_ += record.duration; }
    void add(const trace::Content& record) { passed_ += record.content.look_duration; }
    void add(const trace::Pause&) {
        open_ = asked_ = nullptr;
        round_.unknown = true;
    }
    void add(const Launched& launched);

    const std::map<ids::CallSite, HostStepTotals>& sites() const { return sites_; }

private:
    /// The work that was queued since the last step.
    struct Round {
        std::uint64_t launches = 0, sent = 0;
        bool unknown = false;
    };

    template <class Record>
    void queue_unknown(const Record& record, std::uint32_t thread) {
        if (record.status != 0)
            return;
        queue(thread, ids::StackId::of(record), record.start);
        round_.unknown = true;
    }
    void queue(std::uint32_t thread, ids::StackId stack, std::uint64_t start);
    void begin_step(HostStepTotals& totals, std::uint64_t end);

    const facts::LiveMemory& live_;
    double ns_per_tick_;
    std::map<ids::CallSite, HostStepTotals> sites_;
    std::optional<std::uint32_t> thread_; ///< that queues work
    bool many_threads_ = false;           ///< nothing more is counted
    Round round_;
    HostStepTotals* asked_ = nullptr; ///< of an asynchronous download that the host has not waited for
    HostStepTotals* open_ = nullptr;  ///< of the download after which a step may have begun
    bool counts_ = false;             ///< that download ends a round of the kind described above
    std::uint64_t step_start_ = 0, passed_ = 0;
};

} // namespace umadvisor::rules
