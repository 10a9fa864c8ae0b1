/// Scalars that the host reads back in a loop: each waits for the kernels before it.
#pragma once

#include "analyzer/facts/per_thread.hpp"
#include "analyzer/ids/call_site.hpp"
#include "analyzer/rules/counter.hpp"
#include "analyzer/tables/launches.hpp"

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace umadvisor::rules {

inline constexpr std::uint64_t scalar_bytes = 64; ///< at most

struct ScalarTotals {
    std::uint64_t count = 0;
    std::uint64_t rounds = 0; ///< of `count`, those with kernels alone since the one before
    std::uint64_t round_ticks = 0, blocked_ticks = 0; ///< of the rounds, and in the calls that end them
    ids::CallSite wait; ///< the synchronisation behind an asynchronous copy; none: the copy waits itself
    std::unordered_map<const tables::Launches::Group*, std::uint64_t> kernels; ///< that the rounds launched
};

/// Rounds in which the host waits for anything else do not count, nor do those with work whose time on the
/// device is not known. Memory: one entry a call site and kernel, and a bounded list a thread.
class ScalarDownloads : public Counter {
public:
    static constexpr bool wants_nodes = true; ///< what a capture is given ends a round, too

    void add(const trace::Copy& record, std::uint32_t thread);
    void add(const trace::Sync& record, std::uint32_t thread);
    void add(const trace::Set& record, std::uint32_t thread);
    void add(const trace::GraphLaunch&, std::uint32_t thread) { threads_[thread].known = false; }
    void add(const trace::HostFunction&, std::uint32_t thread) { threads_[thread].known = false; }
    void add(const trace::Prefetch&, std::uint32_t thread) { threads_[thread].known = false; }
    void add(const trace::Free&, std::uint32_t thread) { restart(threads_[thread], 0); }
    void add(const trace::Pause&, std::uint32_t thread) { restart(threads_[thread], 0); }
    void add(const trace::Context&, std::uint32_t thread) { restart(threads_[thread], 0); }
    void add(const Launched& launched) {
        if (launched.is_node())
            return;
        Thread& state = threads_[launched.thread];
        if (state.last_end != 0) // else it is of no round
            launch(launched.group, state);
    }

    using Sites = std::unordered_map<ids::CallSite, ScalarTotals>;
    const Sites& sites() const { return sites_; }
    /// Whether this call mostly reads scalars back in a loop.
    bool tells_of(const ids::CallSite& site) const;

private:
    struct Thread {
        std::uint64_t last_end = 0; ///< of the scalar before; 0: something else was waited for since
        std::vector<std::pair<const tables::Launches::Group*, std::uint64_t>> kernels;
        bool known = true;  ///< the kernels are all that was queued
        ids::CallSite copy; ///< an asynchronous scalar that the host has not waited for
        std::uint64_t copy_ticks = 0;
    };
    void download(Thread& thread, const trace::Copy& copy);
    void end_round(Thread& thread, const ids::CallSite& site, std::uint64_t blocked, std::uint64_t end,
                   const ids::CallSite& wait);
    static void restart(Thread& thread, std::uint64_t end);
    static void launch(const tables::Launches::Group* group, Thread& thread);

    facts::PerThread<Thread> threads_;
    Sites sites_;
};

} // namespace umadvisor::rules
