/// The clock against runs whose times are known exactly: what it fits, and what it says of changes.
#include "reference_machine.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

BOOST_AUTO_TEST_SUITE(analyzer_timeline)

using namespace reference;
using umadvisor::timeline::Settled;

BOOST_AUTO_TEST_CASE(without_a_change_nothing_is_saved) {
    const Program program = rounds(100, [](Machine& machine, int i) {
        machine.copy(uploads, Engine::up, 1 << 20, 90 * us);
        machine.launch(3 * ms + i * us, 0, told(i, 3 * ms + i * us));
        machine.work(100 * us);
        machine.copy(downloads, Engine::down, 4096, 8 * us);
        machine.launch(20 * us, 1);
        machine.wait(1);
        machine.free(30 * us);
    });
    BOOST_TEST(std::abs(predicted(program, {})) < 1);
}

BOOST_AUTO_TEST_CASE(a_short_kernel_and_a_wait_again_and_again) {
    check_gone(
        [](Machine& machine) {
            for (int i = 0; i < 900; ++i) {
                machine.launch(5 * us, 0, told(i, 5 * us));
                machine.wait();
            }
            machine.wait(0, others);
        },
        {waits}, 500 * us);
}

BOOST_AUTO_TEST_CASE(a_kernel_is_not_sold_as_a_copy) {
    Clock clock([](const Settled& settled) {
        if (settled.call.site.stack.number() == downloads) {
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
    Clock clock([&own](const Settled& settled) {
        if (settled.call.site.stack.number() == downloads)
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
    const Change less = shorter(downloads, each);
    const Program program = rounds(20, [](Machine& machine, int i) {
        machine.launch(10 * ms, 0, told(i, 10 * ms));
        machine.copy(downloads, Engine::down, 1 << 20, 100 * us);
    });
    // Where the kernel was not measured itself, the two share what is not known.
    const double saved = predicted(program, {{less}});
    BOOST_TEST(std::abs(saved - 20 * each) < 4 * each);
    // What the remedy costs is taken off, where it does not pass while the kernel runs.
    Change dear = less;
    dear.added_ns = 500 * us;
    BOOST_TEST(std::abs(predicted(program, {{dear}}) - saved) < us);
    const Program copies = [](Machine& machine) {
        for (int i = 0; i < 20; ++i)
            machine.copy(downloads, Engine::down, 1 << 20, 100 * us);
    };
    BOOST_TEST(std::abs(predicted(copies, {{dear}}) - (predicted(copies, {{less}}) - 500 * us)) < us);
}

BOOST_AUTO_TEST_CASE(a_shorter_call_that_queues_nothing_saves_host_time) {
    const Change less = shorter(frees, 40 * us);
    const auto program = [](double kernel) {
        return [kernel](Machine& machine) {
            for (int i = 0; i < 100; ++i) {
                machine.free(50 * us);
                machine.launch(kernel, 0, told(i, kernel));
            }
            machine.wait(0, others);
        };
    };
    BOOST_TEST(std::abs(predicted(program(us), {{less}}) - 100 * 40 * us) < 50 * us);
}

BOOST_AUTO_TEST_CASE(threads_that_take_turns_wait_for_each_other) {
    // As one that trains and one that computes gradients do: no call shows that the one waits.
    check_gone(rounds(100,
                      [](Machine& machine, int i) {
                          machine.thread = 0;
                          machine.copy(uploads, Engine::up, 1 << 20, 100 * us);
                          machine.thread = 1;
                          machine.launch(50 * us, 0, told(i, 50 * us));
                          machine.wait();
                          machine.work(20 * us);
                      }),
               {uploads}, 200 * us);
}

BOOST_AUTO_TEST_CASE(a_wait_for_an_event_that_has_passed_takes_its_own_time) {
    // It takes some microseconds though nothing runs; host time that is saved before it is saved.
    const Change less = shorter(frees, 40 * us);
    const Program program = [](Machine& machine) {
        machine.launch(10 * us, 0, 10 * us);
        machine.wait();
        for (int i = 0; i < 100; ++i) {
            machine.work(30 * us);
            machine.free(50 * us);
            machine.record(1, 0);
            machine.wait_for_passed(5 * us, 1);
        }
    };
    BOOST_TEST(std::abs(predicted(program, {{less}}) - 100 * 40 * us) < 100 * us);
}

BOOST_AUTO_TEST_CASE(the_share_of_an_edit_that_counts) {
    Change less = shorter(uploads, 0);
    less.less_ns_per_byte = 50 * us / (1 << 20);
    const auto gain_of = [&less](double host) {
        Clock clock({}, {{{less}}});
        Machine machine(&clock);
        for (int i = 0; i < 100; ++i) {
            machine.copy(uploads, Engine::up, 1 << 20, 100 * us);
            machine.work(host);
        }
        clock.finish();
        return clock.gains().at(0);
    };
    const Gain gain = gain_of(30 * us);
    BOOST_TEST(std::abs(gain.edited_ns - 100 * 50 * us) < us);
    BOOST_TEST(gain.critical_share() > 0.99);
    BOOST_TEST((Gain{.saved_ns = -5, .edited_ns = 10, .added_ns = 0}.critical_share()) == 0);
    BOOST_TEST((Gain{.saved_ns = 4, .edited_ns = 10, .added_ns = 1}.critical_share()) == 0.5);
}

namespace {

/// 50 rounds of {kernel; host beside it; wait; host behind it}.
Program turns(double kernel, double beside, double behind) {
    return [=](Machine& machine) {
        for (int i = 0; i < 50; ++i) {
            machine.launch(kernel, 0, told(i, kernel));
            machine.work(beside);
            machine.wait();
            machine.work(behind);
        }
        machine.wait(0, others);
    };
}

Change lighter(double less_share, double less_after_share) {
    Change change = shorter(launches, 0);
    change.less_share = less_share;
    change.less_after_share = less_after_share;
    return change;
}

} // namespace

BOOST_AUTO_TEST_CASE(less_work_saves_what_the_host_waits_for) {
    check_edit(turns(4 * ms, 0, ms), turns(2 * ms, 0, ms), {{lighter(0.5, 0)}}, 50 * us);
    check_edit(turns(4 * ms, 3 * ms, ms), turns(2 * ms, 3 * ms, ms), {{lighter(0.5, 0)}}, 50 * us);
    check_edit(turns(4 * ms, 5 * ms, ms), turns(2 * ms, 5 * ms, ms), {{lighter(0.5, 0)}}, 50 * us);
}

BOOST_AUTO_TEST_CASE(the_host_touches_behind_the_wait_what_the_work_made) {
    const Program before = turns(ms, 2 * ms, 3 * ms);
    check_edit(before, turns(ms, 2 * ms, 2 * ms), {{lighter(0, 1.0 / 3)}}, 50 * us);
    check_edit(before, turns(0.5 * ms, 2 * ms, 2 * ms), {{lighter(0.5, 1.0 / 3)}}, 50 * us);
    Change at_once = lighter(0, 0.5);
    at_once.at_once = true;
    check_edit(before, turns(ms, ms, 1.5 * ms), {{at_once}}, 300 * us);
}

BOOST_AUTO_TEST_CASE(what_an_edit_spares_is_told_by_what_the_thread_did) {
    Change change = lighter(0.5, 1.0 / 3);
    change.added_ns = ms;
    Clock clock({}, {{{gone(waits)}}, {{change}}});
    clock.watch(1, 400 * ms);
    Machine machine(&clock);
    turns(4 * ms, 0, 3 * ms)(machine);
    clock.finish();
    const umadvisor::timeline::Spared spared = clock.spared(machine.now + 6 * ms);
    BOOST_REQUIRE_EQUAL(spared.threads.size(), 1u);
    const umadvisor::timeline::Spared::Thread& thread = spared.threads[0];
    double code_ns = 0, waits_ns = 0, own_ns = 0;
    for (const auto& stretch : thread.stretches) {
        BOOST_TEST((stretch.begin >= 0 && stretch.begin < stretch.end && stretch.end <= machine.now));
        code_ns += stretch.code_ns;
        waits_ns += stretch.waits_ns;
    }
    for (const auto& [entry, ns] : thread.own_ns)
        own_ns += ns;
    BOOST_TEST(std::abs(code_ns - 50 * ms) < us);
    BOOST_TEST(std::abs(waits_ns - 50 * 2 * ms) < 100 * us);
    BOOST_TEST(thread.added_ns == ms);
    const double saved_ns = clock.gains(machine.now + 6 * ms).at(1).saved_ns;
    BOOST_TEST(std::abs(code_ns + waits_ns + own_ns + spared.tail_ns - thread.added_ns - saved_ns) < 1);
}

BOOST_AUTO_TEST_CASE(the_next_launch_ends_the_time_behind_a_wait) {
    const auto program = [](double share) {
        return [share](Machine& machine) {
            for (int i = 0; i < 50; ++i) {
                machine.launch(ms, 0, told(i, ms));
                machine.wait();
                machine.work(2 * ms * (1 - share));
                machine.launch(3 * ms, 0, told(i, 3 * ms), records);
                machine.wait();
                machine.work(2 * ms);
            }
            machine.wait(0, others);
        };
    };
    check_edit(program(0), program(0.25), {{lighter(0, 0.25)}}, 50 * us);
}

BOOST_AUTO_TEST_CASE(code_behind_the_last_call_counts_until_the_run_ends) {
    const auto saved = [](double run_end) {
        Clock clock({}, {{{lighter(0, 0.5)}}});
        Machine machine(&clock);
        machine.launch(ms, 0, ms);
        machine.wait();
        const double end = machine.now;
        clock.finish();
        return clock.gains(end + run_end).at(0).saved_ns;
    };
    BOOST_TEST(std::abs(saved(2 * ms) - ms) < us);
    BOOST_TEST(std::abs(saved(0)) < us);
}

BOOST_AUTO_TEST_CASE(what_two_remedies_take_off_the_same_work_adds_up) {
    check_edit(turns(4 * ms, 0, 3 * ms), turns(2 * ms, 0, 1.5 * ms),
               {{lighter(0.25, 0.25), lighter(0.25, 0.25)}}, 50 * us);
    check_edit(turns(4 * ms, 0, ms), turns(0, 0, ms), {{lighter(0.75, 0), lighter(0.75, 0)}}, 500 * us);
}

BOOST_AUTO_TEST_CASE(events_order_streams) {
    check_gone(rounds(100,
                      [](Machine& machine, int i) {
                          machine.launch(ms, 101, told(i, ms));
                          machine.record(1, 101);
                          machine.join(102, 1);
                          machine.launch(2 * ms, 102, told(i, 2 * ms));
                          machine.wait(101);
                          machine.work(300 * us);
                          machine.wait(102, others);
                      }),
               {waits}, 200 * us);
}

BOOST_AUTO_TEST_CASE(a_free_waited_for_kernels_whose_times_are_told_at_the_end) {
    // It takes less than a millisecond, as frees of much memory may do by themselves.
    const auto program = [](bool measured) {
        return [measured](Machine& machine) {
            machine.tells_late = true;
            for (int i = 0; i < 50; ++i) {
                machine.launch(450 * us, 0, measured ? told(i, 450 * us) : 0);
                machine.free(60 * us);
                machine.work(ms);
            }
            machine.tell_all();
            machine.wait(0, others);
        };
    };
    const Edit edit{{asynchronous(frees)}};
    BOOST_TEST(std::abs(predicted(program(true), edit) - 50 * 450 * us) < 200 * us);
    BOOST_TEST(predicted(program(false), edit) < 50 * 10 * us); // it may have taken all of that by itself
}

namespace {

/// What the edit saves where undecided work was short, and where it was long.
std::pair<double, double> both_ways(const Program& program, Edit edit) {
    edit.assumed = Assumed::short_work;
    const double if_short = predicted(program, edit);
    edit.assumed = Assumed::long_work;
    return {if_short, predicted(program, edit)};
}

} // namespace

BOOST_AUTO_TEST_CASE(a_free_that_may_have_waited_is_replayed_both_ways) {
    const auto program = [](bool measured) {
        return [measured](Machine& machine) {
            for (int i = 0; i < 50; ++i) {
                machine.launch(450 * us, 0, measured ? 450 * us : 0);
                machine.free(60 * us);
                machine.work(ms);
            }
            machine.wait(0, others);
        };
    };
    const auto [if_short, if_long] = both_ways(program(false), {{asynchronous(frees)}});
    BOOST_TEST(if_short < 50 * 10 * us);
    BOOST_TEST(if_long > 50 * 400 * us);
    // Where the device's times tell, either way is the same.
    const auto [told_short, told_long] = both_ways(program(true), {{asynchronous(frees)}});
    BOOST_TEST(std::abs(told_short - told_long) < 50 * 10 * us);
}

BOOST_AUTO_TEST_CASE(work_that_no_wait_found_running_may_have_been_long) {
    const auto program = [](double kernel, bool measured) {
        return rounds(50, [kernel, measured](Machine& machine, int) {
            machine.launch(kernel, 0, measured ? kernel : 0);
            machine.free_in_order(2 * ms);
            machine.work(100 * us);
            machine.wait();
        });
    };
    const Edit edit{{gone(frees)}};
    for (const double kernel : {5 * us, 20 * us}) {
        const auto [if_short, if_long] = both_ways(program(kernel, false), edit);
        BOOST_TEST(std::abs(if_short - 50 * 2 * ms) < 50 * 20 * us);
        BOOST_TEST(if_long <= if_short);
        const auto [told_short, told_long] = both_ways(program(kernel, true), edit);
        BOOST_TEST(std::abs(told_short - told_long) < 50 * us);
    }
}

BOOST_AUTO_TEST_CASE(the_host_may_need_what_it_no_longer_waits_for) {
    const Program program = [](Machine& machine) {
        for (int i = 0; i < 50; ++i) {
            machine.launch(ms, 0, ms);
            machine.copy(downloads, Engine::down, 4096, 8 * us);
            machine.work(300 * us);
        }
        machine.wait(0, others);
    };
    Change needed = asynchronous(downloads);
    needed.data_needed = true;
    const auto [without, at_the_next_call] = both_ways(program, {{needed}});
    BOOST_TEST(std::abs(without - predicted(program, {{asynchronous(downloads)}})) < us);
    BOOST_TEST(std::abs(at_the_next_call - 49 * 300 * us) < 50 * 20 * us);
    BOOST_TEST(without >= at_the_next_call);
    const auto [unneeded, as_well] = both_ways(program, {{asynchronous(downloads)}});
    BOOST_TEST(std::abs(unneeded - as_well) < us);
}

BOOST_AUTO_TEST_CASE(without_a_change_either_way_takes_as_long) {
    const Program program = [](Machine& machine) {
        for (int i = 0; i < 100; ++i) {
            machine.launch(100 * us, 0);
            machine.work(i % 2 == 0 ? 300 * us : 20 * us);
            machine.free(50 * us);
            machine.launch(40 * us, 1);
            machine.wait(1);
        }
        machine.wait(0, others);
    };
    const auto [if_short, if_long] = both_ways(program, {});
    BOOST_TEST(std::abs(if_short) < 100 * us);
    BOOST_TEST(std::abs(if_long) < 100 * us);
}

BOOST_AUTO_TEST_CASE(a_share_of_the_calls_is_spread_evenly) {
    const Program program = rounds(100, [](Machine& machine, int) {
        machine.copy(uploads, Engine::up, 4096, 10 * us);
        machine.work(10 * us);
    });
    Edit edit{{gone(uploads)}};
    edit.changes[0].share = 0.5;
    BOOST_TEST(std::abs(predicted(program, edit) - 50 * 10 * us) < us);
}

BOOST_AUTO_TEST_CASE(hidden_waits_tell_how_well_the_clock_keeps_time) {
    for (const bool alike : {true, false}) {
        Clock clock({}, {}, true);
        Machine machine(&clock);
        for (int i = 0; i < 400; ++i) {
            // Alike: the measured ones tell of the others. Else nothing does.
            machine.launch(alike ? ms : (1 + i % 7) * ms + 1, 0, told(i, ms));
            machine.wait();
        }
        clock.finish();
        BOOST_TEST(clock.accuracy().hidden == 199u); // the first of a site is shown
        BOOST_TEST((clock.accuracy().error_ns < 0.02 * machine.now) == alike);
    }
}

BOOST_AUTO_TEST_CASE(a_kernel_takes_what_it_takes_for_each_line) {
    // Two threads launch the same kernel, each with work of its own for it. From one line they cannot be told
    // apart.
    for (const bool lines : {true, false}) {
        Clock clock({}, {}, true);
        Machine machine(&clock);
        for (int i = 0; i < 400; ++i) {
            machine.launch(0.3 * ms, 101, i < 4 ? 0.3 * ms : 0, launches, 1);
            machine.wait(101);
            if (i % 4 == 0) {
                machine.launch(2 * ms, 102, i < 16 ? 2 * ms : 0, lines ? others : launches, 1);
                machine.wait(102, downloads);
            }
        }
        clock.finish();
        BOOST_TEST((clock.accuracy().error_ns < 0.01 * machine.now) == lines);
    }
}

BOOST_AUTO_TEST_CASE(what_a_kernel_took_elsewhere_tells_of_a_new_line) {
    Clock clock({}, {}, true);
    Machine machine(&clock);
    for (int i = 0; i < 100; ++i) {
        machine.launch(ms, 0, told(i, ms), i < 50 ? launches : others, 1);
        machine.wait();
    }
    clock.finish();
    BOOST_TEST(clock.accuracy().error_ns < 0.01 * machine.now);
}

BOOST_AUTO_TEST_CASE(the_latest_tells_most_of_what_comes_next) {
    Clock clock({}, {}, true);
    Machine machine(&clock);
    for (int i = 0; i < 400; ++i) {
        machine.launch(i < 8 ? ms : 0.05 * ms, 0, told(i, ms), launches, 1); // of one kind
        machine.wait();
    }
    clock.finish();
    BOOST_TEST(clock.accuracy().error_ns < 0.1 * machine.now);
}

BOOST_AUTO_TEST_CASE(waits_that_take_time_of_their_own) {
    Clock clock({}, {}, true);
    Machine machine(&clock);
    for (int i = 0; i < 100; ++i) {
        machine.launch(0.1 * ms, 0, told(i, 0.1 * ms));
        machine.wait();
        machine.wait_for_passed(0.25 * ms, 1, others);
    }
    clock.finish();
    BOOST_TEST(clock.accuracy().error_ns < 0.03 * machine.now);
}

BOOST_AUTO_TEST_SUITE_END()
