/// What faster, fewer and earlier copies gain.
/// Programs with a change whose effect is known: the clock sees the unchanged run alone. The GPU suite runs the
/// same, by number, on a card.
#include "reference_machine.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_replay_copies)

using namespace reference;

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
                    return rounds(20, [=](Machine& machine, int i) {
                        if (kernel != 0)
                            machine.launch(kernel, 0, told(i, kernel));
                        if (i == 0)
                            machine.work(locking);
                        machine.copy(uploads, engine, bytes, copy);
                        machine.work(50 * us);
                    });
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

// 12. What pages fault in is part of a kernel's time; of a prefetch the clock knows the rest that is not
// hidden.
BOOST_AUTO_TEST_CASE(faults_of_a_kernel_are_saved_where_the_host_waits_for_it) {
    constexpr double kernel = 500 * us, stall = 2 * ms, move = 300 * us;
    const auto program = [=](double faults, double prefetch, double host) {
        return rounds(20, [=](Machine& machine, int i) {
            if (prefetch != 0)
                machine.copy_behind(uploads, Engine::up, 1 << 24, prefetch, 0);
            machine.work(host);
            machine.launch(kernel + faults, 0, told(i, kernel + faults));
            machine.wait();
        });
    };
    // Early enough: the host works while the pages come. Else the kernel waits for them.
    Edit early{{shorter(launches, stall)}}, late{{shorter(launches, stall - move)}};
    early.changes[0].added_each_ns = late.changes[0].added_each_ns = us; // the call
    check_edit(program(stall, 0, ms), program(0, move, ms), early, us);
    check_edit(program(stall, 0, 0), program(0, move, 0), late, 25 * us);
}

BOOST_AUTO_TEST_CASE(faults_of_a_kernel_that_nothing_waits_for_cost_nothing) {
    const auto program = [](double faults) {
        return rounds(20, [=](Machine& machine, int i) {
            machine.launch(500 * us + faults, 0, told(i, 500 * us + faults));
            machine.work(4 * ms);
            machine.wait();
        });
    };
    check_edit(program(2 * ms), program(0), {{shorter(launches, 2 * ms)}}, us);
}

BOOST_AUTO_TEST_SUITE_END()
