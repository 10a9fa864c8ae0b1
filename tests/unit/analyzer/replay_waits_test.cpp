/// What waits and frees cost that go, or promise nothing where calls cannot tell.
/// Programs with a change whose effect is known: the clock sees the unchanged run alone. The GPU suite runs the
/// same, by number, on a card.
#include "reference_machine.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

BOOST_AUTO_TEST_SUITE(analyzer_replay_waits)

using namespace reference;

namespace {

Program turns(int rounds, double kernel, double host, bool waits_at_end = true) {
    return [=](Machine& machine) {
        for (int i = 0; i < rounds; ++i) {
            machine.launch(kernel, 0, told(i, kernel));
            machine.wait();
            machine.work(host);
        }
        if (waits_at_end)
            machine.wait(0, others);
    };
}

} // namespace

// 1
BOOST_AUTO_TEST_CASE(host_and_device_work_side_by_side_without_waits) {
    constexpr int rounds = 100;
    for (const double host : {200 * us, ms, 3 * ms}) {
        check_gone(turns(rounds, ms, host), {waits}, us);
        const double saved = predicted(turns(rounds, ms, host), {{gone(waits)}});
        BOOST_TEST(std::abs(saved - rounds * std::min(ms, host)) < rounds * (latency + launch_call) + 2 * us);
    }
}

BOOST_AUTO_TEST_CASE(a_run_ends_when_the_device_is_done) {
    // What the host does after its last call no call shows: one round is not known.
    for (const double host : {200 * us, ms, 3 * ms})
        check_gone(turns(100, ms, host, false), {waits}, std::min(ms, host) + us);
}

// 2
BOOST_AUTO_TEST_CASE(two_waits_for_the_same_work_go_together) {
    const Program program = [](Machine& machine) {
        for (int i = 0; i < 50; ++i) {
            machine.launch(ms, 0, told(i, ms));
            machine.wait();
            machine.wait(0, others);
            machine.work(2 * ms);
        }
        machine.wait(0, downloads);
    };
    check_gone(program, {waits}, us);
    check_gone(program, {others}, us);
    check_gone(program, {waits, others}, us);
    const auto saved = gains(program, {{{gone(waits)}}, {{gone(others)}}, {{gone(waits), gone(others)}}});
    BOOST_TEST(saved[2].saved_ns > saved[0].saved_ns + saved[1].saved_ns + 45 * ms);
}

// 3
BOOST_AUTO_TEST_CASE(waits_that_find_the_device_idle_cost_their_call) {
    check_gone(rounds(200,
                      [](Machine& machine, int i) {
                          machine.launch(50 * us, 0, told(i, 50 * us));
                          machine.work(2 * ms);
                          machine.wait();
                      }),
               {waits}, us);
}

BOOST_AUTO_TEST_CASE(kernels_of_unknown_length_before_a_wait_of_a_host_bound_run) {
    // The first of the two takes anything up to 1.5 ms, with the second: nothing tells where it ended. Without
    // the waits a round takes as long as both, so that the cautious answer is that both took long.
    constexpr int rounds = 100;
    constexpr double apart = 500 * us, second = ms, rest = 300 * us;
    for (const double first : {10 * us, 400 * us}) {
        const Program program = [first](Machine& machine) {
            for (int i = 0; i < rounds; ++i) {
                machine.launch(first);
                machine.work(apart);
                machine.launch(second, 0, 0, others);
                machine.wait();
                machine.work(rest);
            }
            machine.wait(0, downloads);
        };
        const double said = predicted(program, {{gone(waits)}}),
                     edge = rounds * (latency + 2 * launch_call) + ms;
        BOOST_TEST(said > rounds * rest - edge);
        BOOST_TEST(said < rounds * (apart + rest) + edge);
        BOOST_TEST(said < time_of(program) - time_of(program, {waits}) + edge); // no more than is true
    }
}

// 4
BOOST_AUTO_TEST_CASE(without_an_early_wait_the_host_runs_ahead_as_far_as_the_queue_is_long) {
    for (const double host : {500 * us, 5 * ms, 20 * ms})
        check_gone(
            [host](Machine& machine) {
                for (int i = 0; i < 5000; ++i) {
                    if (i == 2500) {
                        machine.wait();
                        machine.work(host);
                    }
                    machine.launch(10 * us, 0, told(i, 10 * us));
                }
                machine.wait(0, others);
            },
            {waits}, us);
}

BOOST_AUTO_TEST_CASE(launches_that_a_full_queue_held_up_are_held_up_no_longer) {
    // A launch that is told to take as long as any leaves the time to what the program does behind it. A queue
    // may hold fewer than it usually does.
    for (const bool quick : {false, true})
        for (const std::size_t length : {std::size_t{985}, std::size_t{1022}}) {
            const Program program = [=](Machine& machine) {
                machine.quick_launches = quick;
                machine.queue_length = length;
                for (int i = 0; i < 1500; ++i) {
                    machine.launch(10 * us, 1, told(i, 10 * us));
                    machine.launch(90 * us, 1, told(i, 90 * us), others);
                    machine.work(5 * us);
                }
                machine.wait(1);
            };
            BOOST_TEST_CONTEXT((quick ? "quick" : "measured") << " launches, " << length << " of them")
            check_gone(program, {others}, us);
            BOOST_TEST(std::abs(predicted(program, {})) < 1);
        }
}

// 9
BOOST_AUTO_TEST_CASE(an_event_stands_for_what_it_was_recorded_behind_last) {
    const Program program = [](Machine& machine) {
        for (int i = 0; i < 50; ++i) {
            machine.launch(300 * us, 101, told(i, 300 * us));
            machine.record(1, 101);
            machine.join(102, 1); // for the first launch alone
            machine.launch(500 * us, 101, told(i, 500 * us));
            machine.record(1, 101);
            machine.launch(400 * us, 102, told(i, 400 * us));
            machine.wait_for_event(1, uploads); // for the second
            machine.launch(700 * us, 101, told(i, 700 * us));
            machine.record(1, 101);
            machine.join(103, 7); // never recorded: no order
            machine.launch(600 * us, 103, told(i, 600 * us));
            machine.work(100 * us);
            machine.wait_for_event(1);
            machine.wait(103, others);
        }
        machine.wait_for_device(others);
    };
    for (const Site site : {uploads, waits, joins})
        BOOST_TEST_CONTEXT("site " << site) check_gone(program, {site}, us);
}

// 10
BOOST_AUTO_TEST_CASE(a_free_waits_and_one_in_the_order_of_a_stream_does_not) {
    for (const bool ordered : {false, true})
        for (const double kernel : {100 * us, 3 * ms}) {
            BOOST_TEST_CONTEXT((ordered ? "ordered" : "not") << ", " << kernel / us << " us")
            check_gone(
                [=](Machine& machine) {
                    for (int i = 0; i < 50; ++i) {
                        machine.launch(kernel, 101, told(i, kernel));
                        machine.work(50 * us);
                        if (ordered)
                            machine.free_in_order(30 * us);
                        else
                            machine.free(30 * us);
                        machine.work(2 * ms);
                    }
                    machine.wait_for_device(others);
                },
                {frees}, us);
        }
}

// Between changes a replay is not made call by call.
BOOST_AUTO_TEST_CASE(changes_that_lie_far_apart) {
    for (const double kernel :
         {30 * us, 300 * us}) // the device idles, or is behind until the host waits for it
        for (const int apart : {1, 7, 100}) {
            const Program program = rounds(1000, [=](Machine& machine, int i) {
                machine.thread = i / 50 % 2; // one hands over to the other
                machine.copy_behind(uploads, Engine::up, 1 << 16, 20 * us, 1);
                machine.record(1, 1);
                machine.join(2, 1);
                machine.launch(kernel, 2, told(i, kernel));
                if (i % apart == apart / 2)
                    machine.wait(2, others);
                machine.work(150 * us);
                if (i % 10 == 9)
                    machine.wait_for_device();
            });
            BOOST_TEST_CONTEXT("kernels of " << kernel / us << " us, a wait behind each " << apart << "th")
            check_gone(program, {others}, 10 * us);
        }
}

// 14
BOOST_AUTO_TEST_CASE(host_work_that_needs_what_was_copied) {
    // A copy that does not wait lets the host work on beside the device: that is the most there is.
    const Program program = [](Machine& machine) {
        for (int i = 0; i < 50; ++i) {
            machine.launch(ms, 0, told(i, ms));
            machine.copy(downloads, Engine::down, 4096, 8 * us);
            machine.work(700 * us);
        }
        machine.wait(0, others);
    };
    const Program free_of_it = [](Machine& machine) {
        for (int i = 0; i < 50; ++i) {
            machine.launch(ms, 0, told(i, ms));
            machine.copy_behind(downloads, Engine::down, 4096, 8 * us, 0);
            machine.work(700 * us);
        }
        machine.wait(0, others);
    };
    check_edit(program, free_of_it, {{asynchronous(downloads)}}, us);
    // The wait moves to where the host needs the data, which is at once.
    BOOST_TEST(std::abs(predicted(program, {})) < 1);
}

// 15
BOOST_AUTO_TEST_CASE(what_no_time_depends_on_saves_none) {
    const Program program = rounds(100, [](Machine& machine, int i) {
        machine.copy_behind(uploads, Engine::up, 1 << 20, 200 * us, 101);
        machine.launch(2 * ms, 102, told(i, 2 * ms));
        machine.wait(102);
    });
    BOOST_TEST(predicted(program, {}) == 0);
    BOOST_TEST(predicted(program, {{gone(frees)}}) == 0);
    // Beside a kernel a copy is free, but for its call: nothing runs then.
    check_gone(program, {uploads}, us);
    check_edit(program, program, {{shorter(uploads, 150 * us)}}, us);
    for (const Gain& gain : gains(program, {{{gone(waits)}}, {{asynchronous(waits)}}, {{gone(uploads)}}})) {
        BOOST_TEST(gain.saved_ns <= gain.edited_ns);
        BOOST_TEST(gain.saved_ns <= time_of(program));
    }
}

// 16
BOOST_AUTO_TEST_CASE(a_recording_that_lacks_calls_is_flagged) {
    const Program program = rounds(100, [](Machine& machine, int i) {
        machine.launch(300 * us, 101, told(i, 300 * us));
        machine.launch(2 * ms, 102, told(i, 2 * ms), uploads);
        machine.record(1, 102);
        machine.join(101, 1);
        machine.launch(100 * us, 101, told(i, 100 * us), others);
        machine.wait(101);
    });
    const Accuracy whole = accuracy(program, {}, true);
    BOOST_TEST(whole.error_ns < 0.01 * whole.hidden_ns);
    for (const Site unseen : {joins, uploads}) {
        const Accuracy lacking = accuracy(program, unseen, true);
        BOOST_TEST(lacking.error_ns > 0.15 * lacking.hidden_ns);
    }
}

BOOST_AUTO_TEST_SUITE_END()
