/// On which side a managed allocation was, when, and what for: worked out from what was seen of its use, never
/// from what a call should have done.
#pragma once

#include "analyzer/managed/unseen_rounds.hpp"
#include "analyzer/managed/use_step.hpp"

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace umadvisor::managed {

/// Bytes that the driver moves at the least, where there is as much: for neighbours of what is wanted, too.
inline constexpr std::uint64_t granule = 64 * 1024;

/// A time in which what is used of the allocation is on one side.
struct Stay {
    bool on_device = false;
    bool populated = false;                      ///< nothing came: it was used here first
    std::uint64_t begin = 0, end = 0;            ///< ticks; end 0: it was still there at the end
    std::uint64_t by_fault = 0, by_prefetch = 0; ///< bytes that came

    // On the device.
    std::uint64_t launches = 0;      ///< of the stream with the most
    std::uint64_t pulls = 0;         ///< looks that found more of it gone from the host by faults
    std::uint64_t device_faults = 0; ///< in the meantime; others' among them
    bool unmeasured = false;         ///< no look measured how much faults brought: `by_fault` is the least
    std::uint64_t late_bytes = 0;    ///< prefetched after a launch had begun to pull them over
    bool looked_at = false;          ///< since its launches were waited for
    facts::KernelSite kernel{}, last_kernel{}; ///< launched first, and last

    // On the host.
    std::uint64_t ready = 0;           ///< ticks: the program had waited for what was brought; 0: never
    std::uint64_t remote_launches = 0; ///< that reached it here; of the stream with the most
    std::uint64_t faults = 0, write_faults = 0;
    std::uint64_t first_fault = 0, last_fault = 0;  ///< ticks
    std::uint64_t lowest = UINT64_MAX, highest = 0; ///< offsets of faulting pages
    std::uint64_t code = 0;                         ///< frame: of the first fault
    std::uint64_t content = 0;                      ///< as looked at before it left; 0: not known
    std::uint64_t lone_line = 0; ///< that changed since the last look at it; FORMAT.md, Residency
    trace::Regularity
        regularity{}; ///< of what it held when all of it was here; irregular: no kernel could have made it

    ids::StackId prefetch_stack{}; ///< of the call that brought it

    std::uint64_t arrived() const { return by_fault + by_prefetch; }
};

/// Prefetches of what was there already.
struct RedundantPrefetches {
    std::uint64_t calls = 0, bytes = 0;
    std::uint64_t first = UINT64_MAX, last = 0; ///< their span
    ids::StackId stack{};
};

/// Steps of all allocations that wait for others which may come late.
struct StepBudget {
    std::size_t most = 262'144, used = 0;
};

/// Takes steps roughly in the order of time: a short program's events are reported when it is over. Memory: up
/// to `most_unsettled` steps, a few when the budget is spent, and twice `most_kept` stays; of a longer history
/// the middle is left out.
class Stays {
public:
    static constexpr std::size_t most_unsettled = 4096, fewest_unsettled = 32, most_kept = 48;

    Stays(std::uint64_t bytes, StepBudget& budget) : bytes_(bytes), budget_(budget) {}
    ~Stays() { budget_.used -= unsettled_.size(); }
    Stays(const Stays&) = delete;
    Stays& operator=(const Stays&) = delete;

    void add(const UseStep& step);
    /// Call once, at the end.
    void finish();

    std::uint64_t bytes() const { return bytes_; }
    const std::deque<Stay>& list() const { return stays_; }
    std::uint64_t left_out() const { return left_out_; }
    /// Bytes that came to that side in all stays, and an estimate for the rounds without a look.
    std::uint64_t arrived(bool on_device) const;
    const RedundantPrefetches& redundant() const { return redundant_; }
    /// Bytes that came to the host though no host code asked for them.
    std::uint64_t evicted() const { return evicted_; }

private:
    /// Launches by stream; what is beyond a few streams counts to the last of them.
    class QueueCounts {
    public:
        void add(const facts::WorkQueue& queue, std::uint64_t count);
        void add(const QueueCounts& other);
        std::uint64_t most() const;
        bool empty() const { return counts_.empty(); }
        void clear() { counts_.clear(); }

    private:
        std::vector<std::pair<facts::WorkQueue, std::uint64_t>> counts_;
    };

    void settle(std::size_t count);
    void take(const UseStep& step);
    void launch(const UseStep& step);
    void prefetch_to_device(const UseStep& step);
    void prefetch_to_host(const UseStep& step);
    void host_fault(const UseStep& step);
    void look_before_launch(const UseStep& step);
    void look_after_wait(const UseStep& step);
    void totals(const UseStep& step);
    void arrive(const UseStep& step);

    Stay& begin(bool on_device, std::uint64_t time);
    Stay& follow_launches(std::uint64_t by_fault);
    void follow_running_launches();
    void measure_by_return();
    void measure_by_totals(Stay& stay, const UseStep& step) const;
    void came_back(std::uint64_t bytes);
    void pulled_more(const UseStep& step);
    void confirm_there(const UseStep& step);
    void note_look();
    void arrived_by_faults(std::uint64_t left_on_host);
    bool covers(const UseStep& step) const;
    void cover(const UseStep& step);
    bool here() const { return !stays_.empty(); }
    Stay& now() { return stays_.back(); }

    std::uint64_t bytes_;
    StepBudget& budget_;
    std::vector<UseStep> unsettled_;
    std::deque<Stay> stays_;
    std::uint64_t left_out_ = 0, evicted_ = 0;
    std::uint64_t left_out_arrived_[2] = {}; ///< by `on_device`
    RedundantPrefetches redundant_;
    UnseenRounds unseen_;

    std::uint64_t on_host_ = 0;       ///< as last seen
    bool looked_ = false;             ///< ever
    std::uint64_t before_launch_ = 0; ///< the same, before what is on the device was launched on
    bool seen_there_ = false;         ///< a look has confirmed where the present stay is
    bool launched_since_totals_ = false;
    bool prefetched_ = false;    ///< to the device, during the present stay
    bool faults_before_ = false; ///< of the totals that come next, some may be of the stay before
    std::uint64_t last_wait_ = 0;
    bool waited_ = true;   ///< for all launches so far
    QueueCounts launches_; ///< of the present stay
    QueueCounts pending_;  ///< while it is on the host: they may have pulled it over
    std::uint64_t pending_time_ = 0;
    facts::KernelSite pending_kernel_, pending_last_kernel_;
    std::uint64_t pending_faults_ = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>>
        covered_; ///< prefetched in the present stay: [first, end)
};

} // namespace umadvisor::managed
