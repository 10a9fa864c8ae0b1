/// Jobs made by hand, on cards of every size: what moves under each policy.
#include "analyzer/whatif/next_uses.hpp"
#include "analyzer/whatif/replay.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

BOOST_AUTO_TEST_SUITE(analyzer_whatif_replay)

using namespace umadvisor;
using whatif::Job;
using whatif::Moved;
using whatif::Policy;

constexpr std::uint64_t block = residency::block_bytes;
constexpr std::uint64_t ms = 1'000'000;

/// A job as it is written down: extents of whole blocks, each on the host at first unless told otherwise.
struct Written {
    Job job{};
    std::uint64_t now = 0;

    std::uint32_t allocate(std::uint64_t blocks, bool on_host = true) {
        const std::uint32_t extent = job.begin(++now, 64 * block, blocks * block, true);
        if (on_host)
            touch(extent, 0, blocks * block);
        return extent;
    }
    void touch(std::uint32_t extent, std::uint64_t offset, std::uint64_t bytes, bool by_device = false) {
        whatif::Part part{.extent = extent,
                          .access = residency::Access::write,
                          .device = by_device,
                          .offset = offset,
                          .bytes = bytes};
        job.add(now += ms, whatif::StepKind::touch, part);
    }
    void launch(const std::vector<std::uint32_t>& reach) { job.launch(now += ms, reach); }
    Moved run(Policy policy, std::uint64_t blocks) {
        job.finish();
        return whatif::replay(job, policy, blocks * block, {}, {});
    }
};

constexpr Policy all_policies[] = {Policy::on_demand, Policy::prefetch, Policy::optimum};

BOOST_FIXTURE_TEST_CASE(what_fits_moves_once, Written) {
    const auto a = allocate(4), b = allocate(3);
    for (int round = 0; round < 5; ++round)
        launch({a, b});
    for (const Policy policy : all_policies) {
        const Moved moved = run(policy, 7);
        BOOST_TEST(moved.to_device == 7 * block);
        BOOST_TEST(moved.to_host == 0u);
        BOOST_TEST(moved.evicted_blocks == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(memory_that_was_nowhere_moves_not_at_all, Written) {
    const auto a = allocate(4, false);
    launch({a});
    launch({a});
    for (const Policy policy : all_policies)
        BOOST_TEST(run(policy, 4).bytes() == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_cyclic_scan_beyond_the_card_misses_everything_but_at_best, Written) {
    const auto a = allocate(6);
    constexpr int rounds = 7;
    for (int round = 0; round < rounds; ++round)
        launch({a});
    const Moved on_demand = run(Policy::on_demand, 4);
    BOOST_TEST(on_demand.to_device == rounds * 6 * block);
    BOOST_TEST(on_demand.to_host == (rounds * 6 - 4) * block); // four are there at the end
    // Belady's misses, counted by hand: 6 in the first round, then 2, 2, 2, 3, 3, 2.
    const Moved best = run(Policy::optimum, 4);
    BOOST_TEST(best.to_device == 20 * block);
    BOOST_TEST(best.to_host == (20 - 4) * block);
    BOOST_TEST(best.evicted_blocks == 16u);
}

BOOST_AUTO_TEST_CASE(blocks_are_used_side_by_side) {
    // a0 b0 a1 b1: with room for three, the second launch of b alone finds b0 gone by then only if a came
    // first.
    Written written;
    const auto a = written.allocate(2), b = written.allocate(2);
    written.launch({a, b});
    written.launch({b});
    const Moved moved = written.run(Policy::on_demand, 3);
    BOOST_TEST(moved.to_device == 4 * block); // a0 alone was evicted
    BOOST_TEST(moved.to_host == 1 * block);
}

BOOST_FIXTURE_TEST_CASE(the_host_takes_back_what_it_touches, Written) {
    const auto a = allocate(2);
    launch({a});
    touch(a, 0, block);
    launch({a});
    for (const Policy policy : all_policies) {
        const Moved moved = run(policy, 2);
        BOOST_TEST(moved.to_device == 3 * block);
        BOOST_TEST(moved.to_host == 1 * block);
    }
}

BOOST_FIXTURE_TEST_CASE(copies_reach_as_the_device_does, Written) {
    const auto a = allocate(2);
    touch(a, block, block, true);
    BOOST_TEST(run(Policy::on_demand, 2).to_device == 1 * block);
}

BOOST_FIXTURE_TEST_CASE(memory_that_stays_leaves_less_room, Written) {
    const std::uint32_t stays = job.begin(++now, 0, 3 * block, false);
    const auto a = allocate(2);
    launch({a});
    launch({a});
    job.end(++now, stays);
    launch({a});
    launch({a});
    BOOST_TEST(job.peak().all == 5 * block);
    BOOST_TEST(job.peak().stays == 3 * block);
    BOOST_TEST(job.peak().launch == 2 * block);
    const Moved tight = run(Policy::on_demand, 4);
    BOOST_TEST(tight.to_device == 5 * block); // two rounds of two that miss, then the one that is not there
    BOOST_TEST(run(Policy::on_demand, 5).to_device == 2 * block);
}

BOOST_FIXTURE_TEST_CASE(freed_memory_makes_room_and_moves_nothing, Written) {
    for (int round = 0; round < 4; ++round) {
        const auto a = allocate(3);
        launch({a});
        job.end(++now, a);
    }
    for (const Policy policy : all_policies) {
        const Moved moved = run(policy, 3);
        BOOST_TEST(moved.to_device == 12 * block);
        BOOST_TEST(moved.to_host == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(parts_that_were_told_are_all_that_is_reached, Written) {
    const auto a = allocate(8);
    job.reached(a, 2 * block, 1);
    job.reached(a, 5 * block - 1, 2);
    launch({a});
    BOOST_TEST(run(Policy::on_demand, 8).to_device == 8 * block);
    job.parts_known = true;
    for (const Policy policy : all_policies)
        BOOST_TEST(run(policy, 8).to_device == 3 * block);
    BOOST_TEST(job.peak().launch == 3 * block);
}

BOOST_FIXTURE_TEST_CASE(prefetches_take_less_time_than_faults, Written) {
    const auto a = allocate(8);
    launch({a});
    const Moved on_demand = run(Policy::on_demand, 8), prefetched = run(Policy::prefetch, 8);
    BOOST_TEST(on_demand.bytes() == prefetched.bytes());
    const residency::Prices usual;
    BOOST_TEST(on_demand.ns - prefetched.ns == 8 * (usual.device_fault_group - usual.prefetch_block) -
                                                   usual.prefetch_call - usual.prefetch_move);
}

BOOST_FIXTURE_TEST_CASE(the_next_use_is_the_next_launch_that_reaches, Written) {
    const auto a = allocate(1, false), b = allocate(1, false);
    launch({a, b}); // step 2
    launch({b});
    launch({a});
    job.finish();
    BOOST_TEST(whatif::next_uses(job) == (std::vector<std::uint32_t>{4, 3, whatif::never, whatif::never}),
               boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(steps_told_late_come_in_their_order, Written) {
    const auto a = allocate(1);
    launch({a});
    now -= 2 * ms;
    touch(a, 0, block); // before the launch: the host has it already
    BOOST_TEST(run(Policy::on_demand, 1).bytes() == 1 * block);
}

BOOST_AUTO_TEST_CASE(a_job_that_is_too_long_is_cut_at_one_place) {
    Written written{Job(4096 + Job::block_price)};
    const auto a = written.allocate(1);
    for (int round = 0; round < 1000; ++round)
        written.launch({a});
    const std::uint64_t kept = written.job.launches();
    BOOST_TEST(kept > 300u); // 12 bytes each
    BOOST_TEST(kept < 4096u / 12);
    BOOST_TEST(written.job.left_out() == 1000 - kept);
    written.job.end(++written.now, a); // smaller, but behind the cut
    BOOST_TEST(written.job.steps().size() == 2 + kept);
    BOOST_TEST(written.run(Policy::optimum, 1).bytes() == block);
}

BOOST_AUTO_TEST_CASE(nothing_does_better_than_the_optimum) {
    std::mt19937 random(7);
    const auto below = [&](unsigned n) { return random() % n; };
    for (int trial = 0; trial < 300; ++trial) {
        Written written;
        std::vector<std::uint32_t> extents;
        const unsigned count = 2 + below(6);
        std::uint64_t blocks = 0;
        for (unsigned i = 0; i < count; ++i) {
            const unsigned size = 1 + below(5);
            blocks += size;
            extents.push_back(written.allocate(size, below(2) != 0));
        }
        for (unsigned step = 0; step < 60; ++step) {
            std::vector<std::uint32_t> reach;
            for (const std::uint32_t extent : extents)
                if (below(count) < 2)
                    reach.push_back(extent);
            std::shuffle(reach.begin(), reach.end(), random);
            written.launch(reach);
        }
        const std::uint64_t card = 1 + below(static_cast<unsigned>(blocks));
        const Moved best = written.run(Policy::optimum, card);
        BOOST_TEST_CONTEXT("trial " << trial << ", card of " << card << " blocks of " << blocks)
        for (const Policy policy : {Policy::on_demand, Policy::prefetch}) {
            const Moved moved = written.run(policy, card);
            BOOST_TEST(best.to_device <= moved.to_device);
            BOOST_TEST(best.bytes() <= moved.bytes());
            BOOST_TEST(best.ns <= moved.ns);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
