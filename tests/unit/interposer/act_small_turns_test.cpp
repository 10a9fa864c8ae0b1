#include "policy/small_turns.hpp"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <map>

BOOST_AUTO_TEST_SUITE(act_small_turns)

using namespace umadvisor::policy;
using Way = SmallTurns::Way;

namespace {

constexpr std::uint64_t us = 1'000, int_bytes = 4, site = 3;

/// Time of a round; `faults`: rounds in a row with faults, from 1 on.
using Times = std::function<std::uint64_t(Way way, int faults)>;

/// The driver finds thrashing after ten rounds.
Times thrashing_from(std::uint64_t both, std::uint64_t settled, std::uint64_t before = 100 * us) {
    return [=](Way way, int faults) {
        return way == Way::both ? both : way == Way::to_device ? 4 * both : faults <= 10 ? before : settled;
    };
}

/// Rounds of a loop: a launch reaches an allocation, the program waits, the host reads.
struct Loop {
    void rounds(int count, const Times& times, std::uint64_t allocation = 7) {
        for (int i = 0; i < count; ++i) {
            if (fetches && way != Way::both)
                turns.host_has(allocation);
            way = turns.launch(allocation, int_bytes, site, waits, now);
            if (way == Way::both && known)
                turns.returned(allocation);
            faults = way == Way::faults ? faults + 1 : 0;
            ++ways[way];
            const std::uint64_t took = times(way, faults) + noise(i);
            now += took;
            spent += took;
            ++waits;
        }
    }
    /// The ways of the next rounds, and nothing else.
    std::map<Way, int> next(int count, const Times& times) {
        ways.clear();
        spent = 0;
        rounds(count, times);
        return ways;
    }

    SmallTurns turns;
    std::function<std::uint64_t(int)> noise = [](int) { return 0; };
    std::map<Way, int> ways;
    std::uint64_t waits = 1, now = us, spent = 0;
    Way way = Way::to_device;
    int faults = 0;
    bool fetches = true, known = true; ///< known: which launch is the last before the wait
};

} // namespace

BOOST_FIXTURE_TEST_CASE(both_directions_are_tried_from_the_third_round_on_and_kept_if_better, Loop) {
    const Times times = thrashing_from(66 * us, 550 * us);
    BOOST_TEST((next(2, times) == std::map<Way, int>{{Way::to_device, 2}}));
    BOOST_TEST((next(8, times) == std::map<Way, int>{{Way::both, 8}}));
    BOOST_TEST((next(20, times) == std::map<Way, int>{{Way::faults, 20}}));
    BOOST_TEST(
        (next(300, times) == std::map<Way, int>{{Way::both, 300}})); // the trial has to be paid for first
    const SmallTurns::Choice choice = turns.take_choice();
    BOOST_TEST(choice.allocation == 7u);
    BOOST_TEST((choice.way == Way::both));
    BOOST_TEST(choice.prefetched == 66 * us);
    BOOST_TEST(choice.faulted == 550 * us);
    BOOST_TEST(turns.take_choice().allocation == 0u);
    BOOST_TEST(next(100'000, times)[Way::faults] >= 16);
    BOOST_TEST(spent < 100'000 * 66 * us * 101 / 100);
}

BOOST_FIXTURE_TEST_CASE(what_is_fastest_with_faults_costs_next_to_nothing, Loop) {
    const Times times = thrashing_from(65 * us, 21 * us);
    rounds(31, times);
    BOOST_TEST((turns.take_choice().way == Way::faults));
    BOOST_TEST((next(200, times) == std::map<Way, int>{{Way::faults, 200}}));
    for (const int count : {3'000, 100'000}) {
        Loop run, bare;
        run.rounds(count, times);
        const std::uint64_t alone = 10 * 100 * us + (static_cast<std::uint64_t>(count) - 10) * 21 * us;
        BOOST_TEST(run.spent < alone + alone * 2 / 100, count << " rounds: " << run.spent << " for " << alone);
        BOOST_TEST(run.ways[Way::both] >= (count == 3'000 ? 4 : 8));
    }
}

BOOST_FIXTURE_TEST_CASE(what_is_equal_is_left_to_faults, Loop) {
    const auto times = [](Way, int) { return 60 * us; };
    rounds(31, times);
    BOOST_TEST((turns.way(7) == Way::faults));
    BOOST_TEST((turns.take_choice().way == Way::faults));
    rounds(10'000, times); // trials that cost nothing grow rarer all the same
    BOOST_TEST(ways[Way::both] <= 8 * 5);
    BOOST_TEST(turns.take_choice().allocation == 0u); // and change nothing
}

BOOST_FIXTURE_TEST_CASE(rounds_that_take_long_now_and_then_decide_nothing, Loop) {
    noise = [](int i) { return i % 6 == 1 ? 150 * us : i % 5 * us; };
    rounds(60, thrashing_from(66 * us, 550 * us));
    BOOST_TEST((turns.way(7) == Way::both));
    Loop other;
    other.noise = noise;
    other.rounds(60, thrashing_from(66 * us, 21 * us));
    BOOST_TEST((other.turns.way(7) == Way::faults));
}

BOOST_FIXTURE_TEST_CASE(times_that_change_change_the_way, Loop) {
    rounds(200, thrashing_from(66 * us, 550 * us));
    BOOST_TEST((turns.way(7) == Way::both));
    rounds(200'000, thrashing_from(66 * us, 21 * us));
    BOOST_TEST((turns.way(7) == Way::faults));
    rounds(2'000'000, thrashing_from(66 * us, 550 * us));
    BOOST_TEST((turns.way(7) == Way::both));
}

BOOST_FIXTURE_TEST_CASE(what_stays_where_it_is_is_not_tried, Loop) {
    fetches = false;
    rounds(1'000, thrashing_from(66 * us, 21 * us));
    BOOST_TEST((ways == std::map<Way, int>{{Way::to_device, 1'000}}));
    BOOST_TEST(!turns.compares(7));
    fetches = true;
    rounds(1, thrashing_from(66 * us, 21 * us));
    fetches = false; // once
    rounds(1'000, thrashing_from(66 * us, 21 * us));
    BOOST_TEST(ways.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(where_the_last_launch_is_not_known_only_the_device_is_tried, Loop) {
    known = false;
    rounds(40, [](Way way, int) { return way == Way::faults ? 500 * us : 100 * us; });
    BOOST_TEST(ways[Way::both] == 2);
    BOOST_TEST((turns.way(7) == Way::to_device));
    BOOST_TEST((turns.take_choice().way == Way::to_device));
}

BOOST_FIXTURE_TEST_CASE(several_launches_of_a_round_go_one_way, Loop) {
    for (int i = 0; i < 60; ++i) {
        turns.host_has(7);
        const Way first = turns.launch(7, int_bytes, site, waits, now);
        const Way second = turns.launch(7, int_bytes, site + 1, waits, now + us);
        BOOST_TEST((first == second));
        turns.returned(7);
        now += first == Way::both ? 66 * us : 500 * us;
        // Another loop's rounds, with waits of their own, are part of it.
        BOOST_TEST((turns.launch(7, int_bytes, site + 2, ++waits, now) == first));
        now += 20 * us;
        ++waits;
    }
    BOOST_TEST((turns.way(7) == Way::both));
}

BOOST_FIXTURE_TEST_CASE(rounds_with_other_memory_on_its_way_do_not_count, Loop) {
    const Times slow = [](Way way, int) { return way == Way::both ? 500 * us : 21 * us; };
    rounds(2, slow);
    for (int i = 0; i < 20; ++i) {
        rounds(1, slow);
        turns.disturb();
    }
    BOOST_TEST(ways[Way::faults] == 0); // the trial has no result yet
    BOOST_TEST(ways[Way::both] == 20);
    for (int i = 0; i < 60; ++i) {
        rounds(1, slow);
        turns.disturb();
    }
    BOOST_TEST((turns.way(7) == Way::to_device)); // and never will
    BOOST_TEST(!turns.tries());
    Loop other;
    for (int i = 0; i < 100; ++i) {
        other.rounds(1, slow);
        other.turns.disturb();
    }
    BOOST_TEST(other.ways.size() == 1u); // nor does it begin
}

BOOST_FIXTURE_TEST_CASE(what_the_program_has_placed_is_left, Loop) {
    rounds(4, thrashing_from(66 * us, 21 * us));
    BOOST_TEST(turns.tries());
    turns.leave(7, int_bytes);
    BOOST_TEST(!turns.tries());
    BOOST_TEST((next(200, thrashing_from(66 * us, 21 * us)) == std::map<Way, int>{{Way::to_device, 200}}));
    turns.leave(8, int_bytes); // before any launch
    rounds(100, thrashing_from(66 * us, 21 * us), 8);
    BOOST_TEST(ways.size() == 1u);
    turns.forget(7);
    rounds(60, thrashing_from(66 * us, 21 * us)); // another allocation at its place
    BOOST_TEST((turns.way(7) == Way::faults));
}

BOOST_FIXTURE_TEST_CASE(one_allocation_is_tried_at_a_time, Loop) {
    std::map<std::uint64_t, Way> now_goes;
    for (int i = 0; i < 80; ++i) {
        std::uint64_t took = 20 * us;
        for (const std::uint64_t allocation : {7u, 9u}) {
            turns.host_has(allocation);
            const Way before = turns.way(allocation),
                      goes = turns.launch(allocation, int_bytes, site, waits, now);
            now_goes[allocation] = goes;
            if (goes == Way::both)
                turns.returned(allocation);
            took += allocation == 7 ? (goes == Way::both ? 60 * us : 500 * us)
                                    : (goes == Way::both ? 60 * us : 20 * us);
            BOOST_TEST((before == goes || turns.tries() || goes != Way::to_device));
        }
        now += took;
        ++waits;
    }
    BOOST_TEST((now_goes[7] == Way::both));
    BOOST_TEST((now_goes[9] == Way::faults));
}

BOOST_FIXTURE_TEST_CASE(a_trial_in_a_loop_that_has_ended_does_not_hold_up_others, Loop) {
    const Times times = thrashing_from(66 * us, 550 * us);
    rounds(4, times, 9);
    BOOST_TEST(turns.tries());
    rounds(200, times, 7);
    BOOST_TEST((turns.way(7) == Way::both));
    BOOST_TEST((turns.way(9) == Way::to_device));
}

BOOST_AUTO_TEST_CASE(larger_memory_is_no_concern_of_it) {
    SmallTurns turns;
    for (std::uint64_t i = 1; i < 100; ++i) {
        turns.host_has(7);
        BOOST_TEST((turns.launch(7, SmallTurns::most_bytes + 1, site, i, i * 500 * us) == Way::to_device));
    }
    turns.leave(7, SmallTurns::most_bytes + 1);
    BOOST_TEST(!turns.compares(7));
}

BOOST_AUTO_TEST_SUITE_END()
