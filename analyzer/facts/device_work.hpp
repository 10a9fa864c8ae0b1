/// What devices were given to do, by the call sites that gave it.
#pragma once

#include "analyzer/facts/call.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace umadvisor::facts {

struct QueuedWork {
    std::uint64_t calls = 0;
    double device_ns = 0; ///< by the clock: no longer than the waits behind them allow
    /// Of the calling threads' own time, what lay between such a call and the next wait; and from there to the
    /// next launch.
    double beside_ns = 0, behind_ns = 0;

    void add(const QueuedWork& other) {
        calls += other.calls;
        device_ns += other.device_ns;
        beside_ns += other.beside_ns;
        behind_ns += other.behind_ns;
    }
};

/// Call it for each call, in the order of a thread, once a clock knows how long its work took. Memory: one
/// entry a group of `facts::Calls`, and up to `most_groups` a thread.
class DeviceWork {
public:
    void settle(const facts::Call& call, double device_ns) {
        if (call.thread >= threads_.size())
            threads_.resize(call.thread + std::size_t{1});
        Thread& thread = threads_[call.thread];
        thread.pass(call.start);
        thread.end = call.start + call.duration;
        if (thread.waited && facts::launches(call))
            end_round(thread);
        if (call.group != 0)
            add(call, device_ns, thread);
        thread.waited |= call.waits != facts::Waits::nothing;
    }
    /// Adds up the groups of each call site. `run_end`: until then the thread of the last call may have done
    /// something. Call once, after the last call and before sites() is asked.
    void finish(double run_end) {
        if (const auto last = std::ranges::max_element(threads_, {}, &Thread::end); last != threads_.end())
            last->pass(run_end);
        std::ranges::for_each(threads_, [this](Thread& thread) { end_round(thread); });
        for (const Group& group : groups_)
            sites_[group.site].add(group.work);
        groups_ = {};
    }
    const std::map<ids::CallSite, QueuedWork>& sites() const { return sites_; }

private:
    struct Group {
        ids::CallSite site; ///< of the last call: a graph is launched from several lines at times
        QueuedWork work;
        std::uint64_t round = 0; ///< the last in which a thread gave it
    };
    /// A thread's launches up to a wait, and what it does until the next launch, are a round.
    struct Thread {
        double end = 0; ///< of the last call
        double beside_ns = 0, behind_ns = 0;
        bool waited = false;
        std::uint64_t round = 0;
        std::vector<std::uint32_t> groups; ///< that it gave in this round

        /// It does its own until `now`.
        void pass(double now) { (waited ? behind_ns : beside_ns) += std::max(0.0, now - end); }
    };
    static constexpr std::size_t most_groups = 4096; ///< of a round

    void add(const facts::Call& call, double device_ns, Thread& thread) {
        if (call.group >= groups_.size())
            groups_.resize(call.group + std::size_t{1});
        Group& group = groups_[call.group];
        group.site = call.site;
        ++group.work.calls;
        group.work.device_ns += device_ns;
        if (thread.groups.empty()) {
            thread.round = ++rounds_;
            thread.beside_ns = 0;
        }
        if (group.round != thread.round && thread.groups.size() < most_groups) {
            group.round = thread.round;
            thread.groups.push_back(call.group);
        }
    }
    void end_round(Thread& thread) {
        for (const std::uint32_t group : thread.groups) {
            groups_[group].work.beside_ns += thread.beside_ns;
            groups_[group].work.behind_ns += thread.behind_ns;
        }
        thread.groups.clear();
        thread.beside_ns = thread.behind_ns = 0;
        thread.waited = false;
    }

    std::vector<Group> groups_;
    std::vector<Thread> threads_;
    std::uint64_t rounds_ = 0;
    std::map<ids::CallSite, QueuedWork> sites_;
};

} // namespace umadvisor::facts
