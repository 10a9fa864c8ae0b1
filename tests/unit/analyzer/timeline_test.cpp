/// The clock against runs whose times are known exactly: a reference machine makes the calls of a program with
/// or without a change, and the clock, which sees the unchanged run alone, has to say what the change brings.
#include "analyzer/timeline/clock.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

BOOST_AUTO_TEST_SUITE(analyzer_timeline)

using namespace umadvisor;
using facts::Call;
using facts::Engine;
using facts::Queues;
using facts::Waits;
using timeline::Change;
using timeline::Clock;
using timeline::Edit;

namespace {

constexpr double us = 1000, ms = 1'000'000;
constexpr double latency = 4.5 * us;
enum Site : std::uint64_t { launches = 1, waits, uploads, downloads, records, joins, frees, others };

/// A host thread and a device that do what the program under test asks for, with times that are given.
class Machine {
public:
    explicit Machine(Clock* clock) : clock_(clock) {}

    double now = 0;
    std::uint64_t left_out = 0; ///< the site whose calls are not made
    double wake = latency * 0.4, told = latency * 0.6;

    void work(double ns) { now += ns; } ///< of the host's own
    std::uint32_t thread = 0;           ///< that makes the calls; another waits for it without a call

    /// `kind`: of the work; 0: by its length.
    void launch(double ns, std::uint32_t stream = 0, double measured = 0, Site site = launches,
                std::uint64_t kind = 0) {
        if (left_out == site)
            return;
        Call call = begin(site, 2 * us);
        call.stream = place(stream);
        call.queues = Queues::work;
        call.group = (kind != 0 ? kind : static_cast<std::uint64_t>(ns)) * 2 + 1;
        call.expected_ns = 3 * us;
        call.doubt = 10;
        if (measured != 0)
            call.sample = ++sample_;
        queue(stream, now + told, ns);
        end(call, now + 2 * us);
        if (measured != 0)
            measured_.push_back({call.sample, measured});
    }
    void wait(std::uint32_t stream = 0, Site site = waits) {
        if (left_out == site)
            return;
        Call call = begin(site, us);
        call.stream = place(stream);
        call.waits = Waits::stream;
        const double until = stream == 0 ? std::max({ends_[0], blocking_}) : ends_[stream];
        end(call, std::max(now + us, until + wake));
        tell();
    }
    /// Blocks until it is done.
    void copy(Site site, Engine engine, std::uint64_t bytes, double ns, std::uint32_t stream = 0) {
        if (left_out == site)
            return;
        Call call = begin(site, us);
        call.stream = place(stream);
        call.queues = Queues::work;
        call.waits = Waits::itself;
        call.engine = engine;
        call.bytes = bytes;
        call.expected_ns = 5 * us + static_cast<double>(bytes) / 20.0;
        call.doubt = 0.5;
        call.group = bytes * 8 + site * 2 + 1;
        const double done = queue(stream, now, ns);
        end(call, done);
        tell();
    }
    /// Which has passed: the call itself takes `ns`.
    void wait_for_event(double ns, std::uint32_t event, Site site = waits) {
        Call call = begin(site, us);
        call.event = event;
        call.waits = Waits::event;
        end(call, now + ns);
    }
    void record(std::uint32_t event, std::uint32_t stream) {
        Call call = begin(records, us);
        call.stream = place(stream);
        call.event = event;
        call.queues = Queues::record;
        events_[event] = ends_[stream];
        end(call, now + us);
    }
    void join(std::uint32_t stream, std::uint32_t event) {
        Call call = begin(joins, us);
        call.stream = place(stream);
        call.event = event;
        call.queues = Queues::join;
        ends_[stream] = std::max(ends_[stream], events_[event]);
        end(call, now + us);
    }
    void free(double own_ns) {
        if (left_out == frees)
            return;
        Call call = begin(frees, own_ns);
        call.waits = Waits::device;
        call.surely_waits = false;
        end(call, std::max(now, all_) + own_ns);
        tell();
    }

private:
    facts::StreamPlace place(std::uint32_t stream) const { return {stream, 0, stream == 0, stream < 100}; }
    Call begin(Site site, double least) const {
        Call call;
        call.site = {static_cast<std::uint64_t>(site), 1};
        call.start = now;
        call.thread = thread;
        call.least_ns = least;
        return call;
    }
    double queue(std::uint32_t stream, double from, double ns) {
        double start = std::max(from, ends_[stream]);
        if (stream == 0)
            start = std::max(start, blocking_);
        else if (stream < 100)
            start = std::max(start, ends_[0]);
        const double done = start + ns;
        ends_[stream] = done;
        if (stream != 0 && stream < 100)
            blocking_ = std::max(blocking_, done);
        all_ = std::max(all_, done);
        return done;
    }
    void end(Call& call, double at) {
        call.duration = at - now;
        now = at;
        if (clock_ != nullptr)
            clock_->add(call);
    }
    void tell() {
        for (const auto& [sample, ns] : measured_)
            if (clock_ != nullptr)
                clock_->measured(sample, ns);
        measured_.clear();
    }

    Clock* clock_;
    std::map<std::uint32_t, double> ends_, events_;
    double blocking_ = 0, all_ = 0;
    std::uint64_t sample_ = 0;
    std::vector<std::pair<std::uint64_t, double>> measured_;
};

using Program = std::function<void(Machine&)>;

Change gone(Site site) {
    Change change;
    change.site = {static_cast<std::uint64_t>(site), 1};
    change.what = Change::What::gone;
    return change;
}

/// What the clock says that `edit` brings.
double predicted(const Program& program, const Edit& edit) {
    Clock clock({}, {edit});
    Machine machine(&clock);
    program(machine);
    clock.finish();
    return clock.gains().at(0).saved_ns;
}

/// What leaving the calls of `site` out does bring.
double real(const Program& program, Site site) {
    Machine whole(nullptr), without(nullptr);
    program(whole);
    without.left_out = site;
    program(without);
    return whole.now - without.now;
}

void check_gone(const Program& program, Site site, double tolerance) {
    const double truth = real(program, site);
    BOOST_TEST_CONTEXT("site " << site)
    BOOST_TEST(std::abs(predicted(program, {{gone(site)}}) - truth) <= tolerance,
               "predicted " << predicted(program, {{gone(site)}}) << " ns, really " << truth);
}

} // namespace

BOOST_AUTO_TEST_CASE(without_a_change_nothing_is_saved) {
    const Program program = [](Machine& machine) {
        for (int i = 0; i < 100; ++i) {
            machine.copy(uploads, Engine::up, 1 << 20, 90 * us);
            machine.launch(3 * ms + i * us, 0, i < 8 ? 3 * ms + i * us : 0);
            machine.work(100 * us);
            machine.copy(downloads, Engine::down, 4096, 8 * us);
            machine.launch(20 * us, 1);
            machine.wait(1);
            machine.free(30 * us);
        }
    };
    BOOST_TEST(std::abs(predicted(program, {})) < 1);
}

BOOST_AUTO_TEST_CASE(waits_that_overlap_with_the_hosts_work) {
    for (const double host : {200 * us, ms, 3 * ms}) // shorter than the kernel, as long, longer
        check_gone(
            [host](Machine& machine) {
                for (int i = 0; i < 200; ++i) {
                    machine.launch(ms, 0, i < 8 ? ms : 0);
                    machine.wait();
                    machine.work(host);
                }
                machine.wait(0, others);
            },
            waits, 20 * us);
}

BOOST_AUTO_TEST_CASE(one_of_two_waits_for_the_same_work_saves_nothing) {
    const Program program = [](Machine& machine) {
        for (int i = 0; i < 50; ++i) {
            machine.launch(ms, 0, i < 8 ? ms : 0);
            machine.wait();
            machine.wait(0, others);
            machine.work(2 * ms);
        }
        machine.wait(0, downloads);
    };
    check_gone(program, waits, 60 * us);
    // Both do.
    BOOST_TEST(predicted(program, {{gone(waits), gone(others)}}) > 45 * ms);
}

BOOST_AUTO_TEST_CASE(a_short_kernel_and_a_wait_again_and_again) {
    check_gone(
        [](Machine& machine) {
            for (int i = 0; i < 900; ++i) {
                machine.launch(5 * us, 0, i < 8 ? 5 * us : 0);
                machine.wait();
            }
            machine.wait(0, others);
        },
        waits, 500 * us);
}

BOOST_AUTO_TEST_CASE(a_kernel_is_not_sold_as_a_copy) {
    Clock clock([](const timeline::Settled& settled) {
        if (settled.call.site.stack == downloads) {
            BOOST_TEST(settled.own_ns() < 20 * us);
            BOOST_TEST(settled.waited_ns > 290 * ms);
        }
    });
    Machine machine(&clock);
    for (int i = 0; i < 3; ++i) {
        machine.launch(300 * ms + i * ms, 0, 300 * ms + i * ms);
        machine.copy(downloads, Engine::down, 4096, 8 * us);
    }
    clock.finish();
}

BOOST_AUTO_TEST_CASE(fresh_pages_are_not_sold_as_a_kernel) {
    double own = 0;
    Clock clock([&own](const timeline::Settled& settled) {
        if (settled.call.site.stack == downloads)
            own += settled.own_ns();
    });
    Machine machine(&clock);
    for (int i = 0; i < 5; ++i) {
        machine.launch(5 * ms, 0, 5 * ms);
        machine.copy(downloads, Engine::down, 256 << 20, 200 * ms); // 1.3 GB/s
    }
    clock.finish();
    BOOST_TEST(std::abs(own - 1000 * ms) < 30 * ms);
}

BOOST_AUTO_TEST_CASE(a_shorter_copy_saves_its_own_time_only) {
    const double each = 70 * us;
    Change shorter;
    shorter.site = {downloads, 1};
    shorter.what = Change::What::shorter;
    shorter.less_ns = each;
    const Program program = [](Machine& machine) {
        for (int i = 0; i < 20; ++i) {
            machine.launch(10 * ms, 0, i < 8 ? 10 * ms : 0);
            machine.copy(downloads, Engine::down, 1 << 20, 100 * us);
        }
    };
    // Where the kernel was not measured itself, the two share what is not known.
    const double saved = predicted(program, {{shorter}});
    BOOST_TEST(std::abs(saved - 20 * each) < 4 * each);
    // What the remedy costs is taken off, where it does not pass while the kernel runs.
    Change dear = shorter;
    dear.added_ns = 500 * us;
    BOOST_TEST(std::abs(predicted(program, {{dear}}) - saved) < us);
    const Program copies = [](Machine& machine) {
        for (int i = 0; i < 20; ++i)
            machine.copy(downloads, Engine::down, 1 << 20, 100 * us);
    };
    BOOST_TEST(std::abs(predicted(copies, {{dear}}) - (predicted(copies, {{shorter}}) - 500 * us)) < us);
}

BOOST_AUTO_TEST_CASE(a_shorter_call_that_queues_nothing_saves_host_time) {
    Change shorter;
    shorter.site = {frees, 1};
    shorter.what = Change::What::shorter;
    shorter.less_ns = 40 * us;
    const auto program = [](double kernel) {
        return [kernel](Machine& machine) {
            for (int i = 0; i < 100; ++i) {
                machine.free(50 * us);
                machine.launch(kernel, 0, i < 8 ? kernel : 0);
            }
            machine.wait(0, others);
        };
    };
    BOOST_TEST(std::abs(predicted(program(us), {{shorter}}) - 100 * 40 * us) < 50 * us);
}

BOOST_AUTO_TEST_CASE(threads_that_take_turns_wait_for_each_other) {
    // As one that trains and one that computes gradients do: no call shows that the one waits.
    check_gone(
        [](Machine& machine) {
            for (int i = 0; i < 100; ++i) {
                machine.thread = 0;
                machine.copy(uploads, Engine::up, 1 << 20, 100 * us);
                machine.thread = 1;
                machine.launch(50 * us, 0, i < 8 ? 50 * us : 0);
                machine.wait();
                machine.work(20 * us);
            }
        },
        uploads, 200 * us);
}

BOOST_AUTO_TEST_CASE(a_wait_for_an_event_that_has_passed_takes_its_own_time) {
    // It takes some microseconds though nothing runs; host time that is saved before it is saved.
    Change shorter;
    shorter.site = {frees, 1};
    shorter.what = Change::What::shorter;
    shorter.less_ns = 40 * us;
    const Program program = [](Machine& machine) {
        machine.launch(10 * us, 0, 10 * us);
        machine.wait();
        for (int i = 0; i < 100; ++i) {
            machine.work(30 * us);
            machine.free(50 * us);
            machine.record(1, 0);
            machine.wait_for_event(5 * us, 1);
        }
    };
    BOOST_TEST(std::abs(predicted(program, {{shorter}}) - 100 * 40 * us) < 100 * us);
}

BOOST_AUTO_TEST_CASE(the_share_of_an_edit_that_counts) {
    Change shorter;
    shorter.site = {uploads, 1};
    shorter.what = Change::What::shorter;
    shorter.less_ns_per_byte = 50 * us / (1 << 20);
    const auto gain_of = [&shorter](double host) {
        Clock clock({}, {{{shorter}}});
        Machine machine(&clock);
        for (int i = 0; i < 100; ++i) {
            machine.copy(uploads, Engine::up, 1 << 20, 100 * us);
            machine.work(host);
        }
        clock.finish();
        return clock.gains().at(0);
    };
    const timeline::Gain gain = gain_of(30 * us);
    BOOST_TEST(std::abs(gain.edited_ns - 100 * 50 * us) < us);
    BOOST_TEST(gain.critical_share() > 0.99);
    BOOST_TEST((timeline::Gain{.saved_ns = -5, .edited_ns = 10, .added_ns = 0}.critical_share()) == 0);
    BOOST_TEST((timeline::Gain{.saved_ns = 4, .edited_ns = 10, .added_ns = 1}.critical_share()) == 0.5);
}

BOOST_AUTO_TEST_CASE(kernels_in_the_default_stream_keep_blocking_streams_in_line) {
    // Without the short one in between, the two others run side by side.
    check_gone(
        [](Machine& machine) {
            for (int i = 0; i < 100; ++i) {
                machine.launch(ms, 1, i < 8 ? ms : 0);
                machine.launch(500 * us, 0, i < 8 ? 500 * us : 0, others);
                machine.launch(2 * ms, 2, i < 8 ? 2 * ms : 0);
                machine.wait(2);
            }
        },
        others, 2 * ms);
}

BOOST_AUTO_TEST_CASE(events_order_streams) {
    check_gone(
        [](Machine& machine) {
            for (int i = 0; i < 100; ++i) {
                machine.launch(ms, 101, i < 8 ? ms : 0);
                machine.record(1, 101);
                machine.join(102, 1);
                machine.launch(2 * ms, 102, i < 8 ? 2 * ms : 0);
                machine.wait(101);
                machine.work(300 * us);
                machine.wait(102, others);
            }
        },
        waits, 200 * us);
}

BOOST_AUTO_TEST_CASE(a_free_waits_for_what_runs) {
    const Program program = [](Machine& machine) {
        for (int i = 0; i < 50; ++i) {
            machine.launch(3 * ms, 0, i < 8 ? 3 * ms : 0);
            machine.work(ms);
            machine.free(50 * us);
            machine.work(2 * ms);
        }
        machine.wait(0, others);
    };
    check_gone(program, frees, 100 * us);
}

BOOST_AUTO_TEST_CASE(a_share_of_the_calls_is_spread_evenly) {
    const Program program = [](Machine& machine) {
        for (int i = 0; i < 100; ++i) {
            machine.copy(uploads, Engine::up, 4096, 10 * us);
            machine.work(10 * us);
        }
    };
    Edit edit{{gone(uploads)}};
    edit.changes[0].share = 0.5;
    BOOST_TEST(std::abs(predicted(program, edit) - 50 * 10 * us) < us);
    edit.changes[0] = gone(uploads);
    edit.changes[0].kept = 1;
    BOOST_TEST(std::abs(predicted(program, edit) - 99 * 10 * us) < us);
}

BOOST_AUTO_TEST_CASE(hidden_waits_tell_how_well_the_clock_keeps_time) {
    for (const bool alike : {true, false}) {
        Clock clock({}, {}, true);
        Machine machine(&clock);
        for (int i = 0; i < 400; ++i) {
            // Alike: the measured ones tell of the others. Else nothing does.
            machine.launch(alike ? ms : (1 + i % 7) * ms + 1, 0, i < 8 ? ms : 0);
            machine.wait();
        }
        clock.finish();
        BOOST_TEST(clock.accuracy().hidden == 199u); // the first of a site is shown
        BOOST_TEST((clock.accuracy().error_ns < 0.02 * machine.now) == alike);
    }
}

BOOST_AUTO_TEST_CASE(the_latest_tells_most_of_what_comes_next) {
    Clock clock({}, {}, true);
    Machine machine(&clock);
    for (int i = 0; i < 400; ++i) {
        machine.launch(i < 8 ? ms : 0.05 * ms, 0, i < 8 ? ms : 0, launches, 1); // of one kind
        machine.wait();
    }
    clock.finish();
    BOOST_TEST(clock.accuracy().error_ns < 0.1 * machine.now);
}

BOOST_AUTO_TEST_CASE(waits_that_take_time_of_their_own) {
    Clock clock({}, {}, true);
    Machine machine(&clock);
    for (int i = 0; i < 100; ++i) {
        machine.launch(0.1 * ms, 0, i < 8 ? 0.1 * ms : 0);
        machine.wait();
        machine.wait_for_event(0.25 * ms, 1, others);
    }
    clock.finish();
    BOOST_TEST(clock.accuracy().error_ns < 0.03 * machine.now);
}

BOOST_AUTO_TEST_CASE(a_wait_that_nothing_explains_is_counted) {
    Clock clock({});
    Machine machine(&clock);
    machine.launch(ms, 0, ms);
    machine.wait();
    machine.wake = 50 * ms; // somebody else held the thread
    for (int i = 0; i < 3; ++i) {
        machine.launch(ms, 0, ms);
        machine.wait();
    }
    clock.finish();
    BOOST_TEST(clock.accuracy().misfits == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
