/// What streams, graphs and threads gain that need not wait for each other.
/// Programs with a change whose effect is known: the clock sees the unchanged run alone. The GPU suite runs the
/// same, by number, on a card.
#include "reference_machine.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

BOOST_AUTO_TEST_SUITE(analyzer_replay_streams)

using namespace reference;

// 7. The clock moves no work to another stream; an order between streams it can take away.
BOOST_AUTO_TEST_CASE(copies_and_kernels_without_an_order_run_side_by_side) {
    const auto program = [](bool engine_bound) {
        return rounds(50, [=](Machine& machine, int i) {
            if (engine_bound)
                machine.copy_behind(downloads, Engine::up, 1 << 24, 800 * us, 101);
            else
                machine.launch(800 * us, 101, told(i, 800 * us));
            machine.record(1, 101);
            machine.join(102, 1);
            machine.copy_behind(uploads, Engine::up, 1 << 24, 500 * us, 102);
            machine.wait(101);
            machine.wait(102, others);
        });
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
        check_gone(rounds(50,
                          [first](Machine& machine, int i) {
                              machine.launch(ms, first, told(i, ms));
                              machine.launch(100 * us, 0, told(i, 100 * us), others);
                              machine.launch(2 * ms, first + 1, told(i, 2 * ms));
                              machine.wait(first);
                              machine.wait(first + 1);
                          }),
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
    check_apart(rounds(50,
                       [](Machine& machine, int i) {
                           machine.launch(300 * us, 1, told(i, 300 * us));
                           machine.launch(200 * us, 0, told(i, 200 * us), others);
                           machine.launch(400 * us, 2, told(i, 400 * us));
                           machine.launch(100 * us, 0, told(i, 100 * us), frees);
                           machine.wait_for_device();
                       }),
                {others}, us);
    // Copies of one direction share an engine whatever their streams are.
    const Program copies = rounds(50, [](Machine& machine, int) {
        machine.copy_behind(uploads, Engine::up, 1 << 20, 100 * us, 1);
        machine.copy_behind(downloads, Engine::up, 1 << 20, 100 * us, 0);
        machine.copy_behind(uploads, Engine::up, 1 << 20, 100 * us, 2);
        machine.wait_for_device();
    });
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

// 11
BOOST_AUTO_TEST_CASE(threads_that_hand_over_gain_what_the_first_gains) {
    const Program program = [](Machine& machine) {
        std::vector<std::vector<Machine::Step>> threads(2);
        for (std::uint32_t i = 1; i <= 50; ++i) {
            const double submit_ns = told(static_cast<int>(i), 300 * us);
            threads[0].push_back(
                {[=](Machine& m) { m.launch(300 * us, 101, submit_ns); }, i == 1 ? 0 : 2 * i - 2});
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

// 13
BOOST_AUTO_TEST_CASE(launches_of_one_graph_on_two_streams_do_not_overlap) {
    const Program program = rounds(50, [](Machine& machine, int i) {
        machine.launch_graph(1, 600 * us, 101, told(i, 600 * us));
        machine.wait(101);
        machine.launch_graph(1, 600 * us, 102, told(i, 600 * us));
        machine.wait(102, others);
    });
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

BOOST_AUTO_TEST_SUITE_END()
