/// Sixteen programs, each with a change whose effect is known: the clock sees the unchanged run alone, and says
/// what the change brings, or promises nothing where calls cannot tell. The GPU suite runs the same on a card.
#include "reference_machine.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

BOOST_AUTO_TEST_SUITE(analyzer_replay_programs)

using namespace reference;

namespace {

/// What a launch and what a wait that finds nothing to wait for take.
constexpr double launch_call = 2 * us, wait_call = us;

/// Of the first of a kind the device's time is told.
double told(int i, double ns) {
    return i < measured_runs ? ns : 0;
}

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
    check_gone(
        [](Machine& machine) {
            for (int i = 0; i < 200; ++i) {
                machine.launch(50 * us, 0, told(i, 50 * us));
                machine.work(2 * ms);
                machine.wait();
            }
        },
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

// 5
BOOST_AUTO_TEST_CASE(page_locked_memory_instead_of_pageable) {
    struct Length {
        std::uint64_t bytes;
        double pageable, pinned;
    };
    for (const Length& length :
         {Length{4096, 8 * us, 7 * us}, Length{65536, 20 * us, 9 * us}, Length{65537, 25 * us, 9 * us},
          Length{1 << 20, 120 * us, 26 * us}, Length{256 << 20, 30 * ms, 5 * ms}})
        for (const double kernel : {0.0, 300 * us})
            for (const Engine engine : {Engine::up, Engine::down}) {
                const std::uint64_t bytes = length.bytes;
                const double pageable = length.pageable, pinned = length.pinned;
                const auto program = [&](double copy, double locking) {
                    return [=](Machine& machine) {
                        for (int i = 0; i < 20; ++i) {
                            if (kernel != 0)
                                machine.launch(kernel, 0, told(i, kernel));
                            if (i == 0)
                                machine.work(locking);
                            machine.copy(uploads, engine, bytes, copy);
                            machine.work(50 * us);
                        }
                    };
                };
                Edit edit{{shorter(uploads, 0)}};
                edit.changes[0].less_ns_per_byte = (pageable - pinned) / static_cast<double>(bytes);
                edit.changes[0].added_ns = 100 * us;
                BOOST_TEST_CONTEXT(bytes << " bytes, behind " << kernel / us << " us, engine "
                                         << static_cast<int>(engine))
                check_edit(program(pageable, 0), program(pinned, 100 * us), edit, us);
            }
}

BOOST_AUTO_TEST_CASE(staging_is_host_time_that_page_locked_memory_saves) {
    // Up to 2 MiB an asynchronous copy from pageable memory holds the host while it is staged, and no longer.
    // The clock leaves in the call what the faster copy takes, which then goes on behind it.
    constexpr double staging = 120 * us, pinned_copy = 20 * us;
    for (const double kernel : {50 * us, 5 * ms}) {
        const auto program = [kernel](bool pinned) {
            return [=](Machine& machine) {
                for (int i = 0; i < 50; ++i) {
                    if (pinned)
                        machine.copy_behind(uploads, Engine::up, 1 << 20, pinned_copy, 101, launch_call);
                    else
                        machine.upload_staged(uploads, 1 << 20, staging, 101);
                    machine.launch(kernel, 102, told(i, kernel));
                    machine.work(400 * us);
                    machine.wait(101);
                }
                machine.wait(102, others);
            };
        };
        BOOST_TEST_CONTEXT("beside " << kernel / us << " us")
        check_edit(program(false), program(true), {{shorter(uploads, staging - pinned_copy)}},
                   50 * pinned_copy);
    }
}

// 6
BOOST_AUTO_TEST_CASE(small_copies_become_one) {
    const auto program = [](bool merged, double kernel) {
        return [=](Machine& machine) {
            for (int round = 0; round < 5; ++round) {
                if (kernel != 0)
                    machine.launch(kernel, 0, kernel);
                for (int i = 0; i < (merged ? 1 : 1000); ++i)
                    machine.copy_behind(uploads, Engine::up, 256, merged ? 3 * us : 2 * us, 101, 3 * us);
                if (kernel != 0)
                    machine.wait();
                machine.wait(101, others);
            }
        };
    };
    Edit edit{{gone(uploads)}};
    edit.changes[0].share = 0.999;
    check_edit(program(false, 0), program(true, 0), edit, 10 * us);
    // Behind a kernel that takes longer than all of them they cost nothing.
    check_edit(program(false, 20 * ms), program(true, 20 * ms), edit, 10 * us);
}

// 7. The clock moves no work to another stream; an order between streams it can take away.
BOOST_AUTO_TEST_CASE(copies_and_kernels_without_an_order_run_side_by_side) {
    const auto program = [](bool engine_bound) {
        return [=](Machine& machine) {
            for (int i = 0; i < 50; ++i) {
                if (engine_bound)
                    machine.copy_behind(downloads, Engine::up, 1 << 24, 800 * us, 101);
                else
                    machine.launch(800 * us, 101, told(i, 800 * us));
                machine.record(1, 101);
                machine.join(102, 1);
                machine.copy_behind(uploads, Engine::up, 1 << 24, 500 * us, 102);
                machine.wait(101);
                machine.wait(102, others);
            }
        };
    };
    check_gone(program(false), {joins}, us);
    BOOST_TEST(predicted(program(false), {{gone(joins)}}) > 50 * 480 * us);
    // One engine does both.
    check_gone(program(true), {joins}, us);
    BOOST_TEST(predicted(program(true), {{gone(joins)}}) < 50 * 3 * us);
}

// 8. Streams from 100 on are non-blocking. The per-thread default stream is a blocking one.
BOOST_AUTO_TEST_CASE(a_call_in_the_default_stream_is_a_barrier_for_blocking_streams_alone) {
    for (const std::uint32_t first : {1U, 101U}) {
        BOOST_TEST_CONTEXT("streams from " << first)
        check_gone(
            [first](Machine& machine) {
                for (int i = 0; i < 50; ++i) {
                    machine.launch(ms, first, told(i, ms));
                    machine.launch(100 * us, 0, told(i, 100 * us), others);
                    machine.launch(2 * ms, first + 1, told(i, 2 * ms));
                    machine.wait(first);
                    machine.wait(first + 1);
                }
            },
            {others}, us);
    }
}

BOOST_AUTO_TEST_CASE(work_of_the_default_stream_in_a_stream_of_its_own) {
    // Eight streams of small kernels, and one launch in the default stream after each.
    for (const std::uint32_t first : {1U, 101U}) {
        BOOST_TEST_CONTEXT("streams from " << first)
        check_apart(
            [first](Machine& machine) {
                machine.quick_launches = true;
                for (int i = 0; i < 2000; ++i) { // in the end more than the queue holds
                    machine.launch(140 * us, first + static_cast<std::uint32_t>(i % 8), told(i, 140 * us));
                    machine.launch(3 * us, 0, told(i, 3 * us), others);
                }
                machine.wait_for_device();
            },
            {others}, 5 * us);
    }
    // Another that stays there keeps its place in the order.
    check_apart(
        [](Machine& machine) {
            for (int i = 0; i < 50; ++i) {
                machine.launch(300 * us, 1, told(i, 300 * us));
                machine.launch(200 * us, 0, told(i, 200 * us), others);
                machine.launch(400 * us, 2, told(i, 400 * us));
                machine.launch(100 * us, 0, told(i, 100 * us), frees);
                machine.wait_for_device();
            }
        },
        {others}, us);
    // Copies of one direction share an engine whatever their streams are.
    const Program copies = [](Machine& machine) {
        for (int i = 0; i < 50; ++i) {
            machine.copy_behind(uploads, Engine::up, 1 << 20, 100 * us, 1);
            machine.copy_behind(downloads, Engine::up, 1 << 20, 100 * us, 0);
            machine.copy_behind(uploads, Engine::up, 1 << 20, 100 * us, 2);
            machine.wait_for_device();
        }
    };
    check_apart(copies, {downloads}, us);
    BOOST_TEST(predicted(copies, {{own_stream(downloads)}}) < us);
}

BOOST_AUTO_TEST_CASE(wide_kernels_gain_nothing_side_by_side) {
    const auto program = [](bool wide) {
        return [wide](Machine& machine) {
            machine.wide = wide;
            for (int i = 0; i < 50; ++i) {
                machine.launch(300 * us, 1, told(i, 300 * us));
                machine.launch(200 * us, 0, told(i, 200 * us), others);
                machine.launch(400 * us, 2, told(i, 400 * us));
                machine.wait_for_device();
            }
        };
    };
    check_apart(program(false), {others}, us);
    BOOST_TEST(predicted(program(true), {{own_stream(others)}}) < us);
}

BOOST_AUTO_TEST_CASE(wide_kernels_of_other_devices_run_beside) {
    const Program program = [](Machine& machine) {
        machine.wide = true;
        for (int i = 0; i < 50; ++i) {
            machine.launch(300 * us, 1, told(i, 300 * us));
            machine.launch(200 * us, 0, told(i, 200 * us), others);
            machine.launch(400 * us, 501, told(i, 400 * us));
            machine.wait(501);
            machine.wait(0);
        }
    };
    const double gain = predicted(program, {{own_stream(others)}});
    BOOST_TEST(std::abs(gain) < us, gain / us << " us"); // beside the kernel before it: that fills its device
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

// 11
BOOST_AUTO_TEST_CASE(threads_that_hand_over_gain_what_the_first_gains) {
    const Program program = [](Machine& machine) {
        std::vector<std::vector<Machine::Step>> threads(2);
        for (std::uint32_t i = 1; i <= 50; ++i) {
            const double told_ns = told(static_cast<int>(i), 300 * us);
            threads[0].push_back(
                {[=](Machine& m) { m.launch(300 * us, 101, told_ns); }, i == 1 ? 0 : 2 * i - 2});
            threads[0].push_back({[](Machine& m) { m.wait(101); }});
            threads[0].push_back({[=](Machine& m) { m.post(2 * i - 1); }});
            threads[1].push_back({[](Machine& m) { m.work(400 * us); }, 2 * i - 1});
            threads[1].push_back({[](Machine& m) { m.launch(50 * us, 102, 50 * us, others); }});
            threads[1].push_back({[=](Machine& m) { m.post(2 * i); }});
        }
        machine.run(threads);
        machine.wait_for_device(others);
    };
    check_gone(program, {waits}, us);
}

BOOST_AUTO_TEST_CASE(threads_on_one_stream_share_its_order) {
    const Program program = [](Machine& machine) {
        std::vector<std::vector<Machine::Step>> threads(2);
        for (int i = 0; i < 50; ++i) {
            threads[0].push_back({[=](Machine& m) { m.launch(300 * us, 101, told(i, 300 * us)); }});
            threads[0].push_back({[](Machine& m) { m.wait(101); }});
            threads[1].push_back({[=](Machine& m) { m.launch(500 * us, 101, told(i, 500 * us), uploads); }});
            threads[1].push_back({[](Machine& m) { m.wait(101, others); }});
        }
        machine.run(threads);
    };
    check_gone(program, {waits}, 5 * us);
}

BOOST_AUTO_TEST_CASE(threads_that_have_nothing_to_do_with_each_other) {
    // The second takes longest, whatever the first saves.
    const Program program = [](Machine& machine) {
        std::vector<std::vector<Machine::Step>> threads(2);
        for (int i = 0; i < 50; ++i) {
            threads[0].push_back({[=](Machine& m) { m.launch(300 * us, 101, told(i, 300 * us)); }});
            threads[0].push_back({[](Machine& m) { m.wait(101); }});
            threads[0].push_back({[](Machine& m) { m.work(200 * us); }});
            threads[1].push_back({[=](Machine& m) { m.launch(900 * us, 102, told(i, 900 * us), uploads); }});
            threads[1].push_back({[](Machine& m) { m.wait(102, others); }});
        }
        machine.run(threads);
    };
    check_gone(program, {waits}, us);
    // Where it makes a call now and then, no call tells it from a thread that waits for the first: the clock
    // says what that would gain at most.
    const Program seldom = [](Machine& machine) {
        std::vector<std::vector<Machine::Step>> threads(2);
        for (int i = 0; i < 50; ++i) {
            threads[0].push_back({[=](Machine& m) { m.launch(300 * us, 101, told(i, 300 * us)); }});
            threads[0].push_back({[](Machine& m) { m.wait(101); }});
            threads[0].push_back({[](Machine& m) { m.work(200 * us); }});
            threads[1].push_back({[](Machine& m) { m.work(900 * us); }});
            threads[1].push_back({[](Machine& m) { m.launch(20 * us, 102, 20 * us, others); }});
        }
        machine.run(threads);
    };
    const double said = predicted(seldom, {{gone(waits)}});
    BOOST_TEST(said > -us);
    BOOST_TEST(said < 50 * (300 * us + latency + launch_call));
}

// 12. What pages fault in is part of a kernel's time; of a prefetch the clock knows the rest that is not
// hidden.
BOOST_AUTO_TEST_CASE(faults_of_a_kernel_are_saved_where_the_host_waits_for_it) {
    constexpr double kernel = 500 * us, stall = 2 * ms, move = 300 * us;
    const auto program = [=](double faults, double prefetch, double host) {
        return [=](Machine& machine) {
            for (int i = 0; i < 20; ++i) {
                if (prefetch != 0)
                    machine.copy_behind(uploads, Engine::up, 1 << 24, prefetch, 0);
                machine.work(host);
                machine.launch(kernel + faults, 0, told(i, kernel + faults));
                machine.wait();
            }
        };
    };
    // Early enough: the host works while the pages come. Else the kernel waits for them.
    Edit early{{shorter(launches, stall)}}, late{{shorter(launches, stall - move)}};
    early.changes[0].added_each_ns = late.changes[0].added_each_ns = us; // the call
    check_edit(program(stall, 0, ms), program(0, move, ms), early, us);
    check_edit(program(stall, 0, 0), program(0, move, 0), late, 25 * us);
}

BOOST_AUTO_TEST_CASE(faults_of_a_kernel_that_nothing_waits_for_cost_nothing) {
    const auto program = [](double faults) {
        return [=](Machine& machine) {
            for (int i = 0; i < 20; ++i) {
                machine.launch(500 * us + faults, 0, told(i, 500 * us + faults));
                machine.work(4 * ms);
                machine.wait();
            }
        };
    };
    check_edit(program(2 * ms), program(0), {{shorter(launches, 2 * ms)}}, us);
}

// 13
BOOST_AUTO_TEST_CASE(launches_of_one_graph_on_two_streams_do_not_overlap) {
    const Program program = [](Machine& machine) {
        for (int i = 0; i < 50; ++i) {
            machine.launch_graph(1, 600 * us, 101, told(i, 600 * us));
            machine.wait(101);
            machine.launch_graph(1, 600 * us, 102, told(i, 600 * us));
            machine.wait(102, others);
        }
    };
    check_gone(program, {waits}, us);
}

BOOST_AUTO_TEST_CASE(a_host_function_is_work_in_its_stream) {
    const Program program = [](Machine& machine) {
        for (int i = 0; i < 50; ++i) {
            machine.launch(300 * us, 101, told(i, 300 * us));
            machine.call_host(500 * us, 101);
            machine.launch(200 * us, 101, told(i, 200 * us));
            machine.wait(101);
            machine.work(700 * us);
        }
        machine.wait(101, downloads);
    };
    check_gone(program, {waits}, us);
}

// Between changes a replay is not made call by call.
BOOST_AUTO_TEST_CASE(changes_that_lie_far_apart) {
    for (const double kernel :
         {30 * us, 300 * us}) // the device idles, or is behind until the host waits for it
        for (const int apart : {1, 7, 100}) {
            const Program program = [=](Machine& machine) {
                for (int i = 0; i < 1000; ++i) {
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
                }
            };
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
    const Program program = [](Machine& machine) {
        for (int i = 0; i < 100; ++i) {
            machine.copy_behind(uploads, Engine::up, 1 << 20, 200 * us, 101);
            machine.launch(2 * ms, 102, told(i, 2 * ms));
            machine.wait(102);
        }
    };
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
    const Program program = [](Machine& machine) {
        for (int i = 0; i < 100; ++i) {
            machine.launch(300 * us, 101, told(i, 300 * us));
            machine.launch(2 * ms, 102, told(i, 2 * ms), uploads);
            machine.record(1, 102);
            machine.join(101, 1);
            machine.launch(100 * us, 101, told(i, 100 * us), others);
            machine.wait(101);
        }
    };
    const Accuracy whole = accuracy(program, {}, true);
    BOOST_TEST(whole.error_ns < 0.01 * whole.hidden_ns);
    for (const Site unseen : {joins, uploads}) {
        const Accuracy lacking = accuracy(program, unseen, true);
        BOOST_TEST(lacking.error_ns > 0.15 * lacking.hidden_ns);
    }
}

BOOST_AUTO_TEST_SUITE_END()
