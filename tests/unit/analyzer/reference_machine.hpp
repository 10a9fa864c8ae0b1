/// A host and a device whose times are known exactly. They run a program with or without a change, and the
/// clock, which sees the unchanged run alone, has to say what the change brings.
#pragma once

#include "analyzer/timeline/clock.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace reference {

using umadvisor::facts::Call;
using umadvisor::facts::Engine;
using umadvisor::facts::Queues;
using umadvisor::facts::StreamPlace;
using umadvisor::facts::Waits;
using umadvisor::timeline::Accuracy;
using umadvisor::timeline::Assumed;
using umadvisor::timeline::Change;
using umadvisor::timeline::Clock;
using umadvisor::timeline::Edit;
using umadvisor::timeline::Gain;

inline constexpr double us = 1000, ms = 1'000'000;
/// From a launch to the return of a wait for it, without the kernel.
inline constexpr double latency = 4.5 * us;
enum Site : std::uint64_t { launches = 1, waits, uploads, downloads, records, joins, frees, others };

/// Streams: 0 is the legacy default stream, those from 100 on are non-blocking, from 500 on of a second device,
/// the others blocking. All times are nanoseconds. A call whose site is left out is not made, and so is its
/// work.
class Machine {
public:
    explicit Machine(Clock* clock) : clock_(clock) {}

    double now = 0;
    std::vector<Site> left_out;
    std::vector<Site> apart; ///< their work gets a non-blocking stream of its own
    double wake = latency * 0.4, told = latency * 0.6;
    std::size_t queue_length = 1022;
    bool quick_launches = false; ///< none is told to take longer, though it waits for room in a full queue
    bool wide = false;           ///< every kernel fills the device
    std::uint32_t thread = 0;    ///< that makes the calls; another waits for it without a call
    bool tells_late = false;     ///< what was measured, with tell_all() only

    void work(double ns) { now += ns; }                ///< of the host's own
    double end() const { return std::max(now, all_); } ///< of all that host and device do

    // Work that the host does not wait for, unless the stream's queue is full. `measured`: what is said of it;
    // `kind`: of the work, 0: by its length. A kind is of a kernel: each site has work of its own for it.
    void launch(double ns, std::uint32_t stream = 0, double measured = 0, Site site = launches,
                std::uint64_t kind = 0);
    /// The launches of one `graph` do not overlap, on whatever streams they are.
    void launch_graph(std::uint64_t graph, double ns, std::uint32_t stream, double measured = 0);
    /// One at a time: a thread of the driver's runs them all.
    void call_host(double ns, std::uint32_t stream);
    /// Of page-locked memory. The call takes `call_ns`.
    void copy_behind(Site site, Engine engine, std::uint64_t bytes, double ns, std::uint32_t stream,
                     double call_ns = us);
    /// From pageable memory: the call takes `staging_ns`, and the device is done soon after it.
    void upload_staged(Site site, std::uint64_t bytes, double staging_ns, std::uint32_t stream);

    /// The host waits for the copy itself.
    void copy(Site site, Engine engine, std::uint64_t bytes, double ns, std::uint32_t stream = 0);
    void wait(std::uint32_t stream = 0, Site site = waits);
    void wait_for_device(Site site = waits);
    void wait_for_event(std::uint32_t event, Site site = waits);
    /// Which has passed: the call itself takes `ns`.
    void wait_for_passed(double ns, std::uint32_t event, Site site = waits);
    void free(double own_ns);
    void free_in_order(double own_ns); ///< of a stream: without a wait

    void record(std::uint32_t event, std::uint32_t stream);
    void join(std::uint32_t stream, std::uint32_t event);

    /// One call or piece of work of a thread. The threads run side by side, until all are done.
    struct Step {
        std::function<void(Machine&)> act;
        std::uint32_t after = 0; ///< begins when this was posted, which no call shows; 0: at once
    };
    void run(const std::vector<std::vector<Step>>& threads);
    void post(std::uint32_t flag) { posts_[flag] = now; }
    void tell_all();

    /// The clock is not shown the calls of this site, though they are made.
    Site unseen{};

private:
    static StreamPlace place(std::uint32_t stream) {
        return {stream, stream < 500 ? 0U : 1U, stream == 0, stream < 100};
    }
    bool is_left_out(Site site) const;
    Call begin(Site site, double least) const;
    Call begin_work(Site site, std::uint32_t stream, std::uint64_t group);
    double queue(const Call& call, double from, double ns);
    double end_of(std::uint32_t stream);
    void launch(Call call, double ns, double measured);
    void end(Call& call, double at);
    void tell();

    Clock* clock_;
    std::map<std::uint32_t, double> ends_, events_, posts_;
    std::map<std::uint32_t, std::vector<double>> queued_; ///< the ends of all launches, by stream
    std::map<std::uint64_t, double> graphs_;
    double engines_[umadvisor::facts::engines] = {};
    double blocking_ = 0, all_ = 0, host_server_ = 0;
    std::map<std::uint64_t, std::uint32_t> groups_;
    std::uint64_t sample_ = 0;
    std::vector<std::pair<std::uint64_t, double>> measured_;
};

using Program = std::function<void(Machine&)>;
/// The device's time is told of so many launches of a kind.
inline constexpr int measured_runs = 8;
/// What is told of the time of the i-th.
inline double told(int i, double ns) {
    return i < measured_runs ? ns : 0;
}
/// What a launch takes.
inline constexpr double launch_call = 2 * us;

/// `act` is told which round it is.
inline Program rounds(int count, const std::function<void(Machine&, int)>& act) {
    return [count, act](Machine& machine) {
        for (int i = 0; i < count; ++i)
            act(machine, i);
    };
}

Change gone(Site site);
Change asynchronous(Site site);
Change shorter(Site site, double less_ns);
Change own_stream(Site site);

/// How long the program takes.
double time_of(const Program& program, const std::vector<Site>& left_out = {});
/// What the clock says of each edit, and of itself, when it has seen the unchanged run. Before the edits are
/// replayed, another clock has seen all of it.
std::vector<Gain> gains(const Program& program, const std::vector<Edit>& edits);
double predicted(const Program& program, const Edit& edit);
Accuracy accuracy(const Program& program, Site unseen = {}, bool hidden = false);

/// The edit of `before` brings what `after` shows, within `tolerance` nanoseconds.
inline void check_edit(const Program& before, const Program& after, const Edit& edit, double tolerance) {
    const double truth = time_of(before) - time_of(after), said = predicted(before, edit);
    BOOST_TEST(std::abs(said - truth) <= tolerance, "predicted " << said / us << " us, really " << truth / us
                                                                 << ", may be off by " << tolerance / us);
}

/// The same of leaving the calls of these sites out.
inline void check_gone(const Program& program, const std::vector<Site>& sites, double tolerance) {
    Edit edit;
    for (const Site site : sites)
        edit.changes.push_back(gone(site));
    const Program without = [&](Machine& machine) {
        machine.left_out = sites;
        program(machine);
    };
    check_edit(program, without, edit, tolerance);
}

/// The same of giving the work of these sites a stream of its own.
inline void check_apart(const Program& program, const std::vector<Site>& sites, double tolerance) {
    Edit edit;
    for (const Site site : sites)
        edit.changes.push_back(own_stream(site));
    const Program apart = [&](Machine& machine) {
        machine.apart = sites;
        program(machine);
    };
    check_edit(program, apart, edit, tolerance);
}

} // namespace reference
