#include "policy/round_trials.hpp"
#include "residency/prices.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(act_compared_rounds)

using namespace umadvisor::policy;
namespace residency = umadvisor::residency;

constexpr std::uint64_t mib = 1u << 20, ms = 1'000'000;

struct Loop {
    /// Rounds of so long; each misses 64 MiB at `launches` launches of one site. How many were left alone.
    int rounds(int count, std::uint64_t ns, std::uint64_t site = 7, int launches = 1) {
        int left = 0;
        for (int i = 0; i < count; ++i) {
            for (int launch = 0; launch < launches; ++launch)
                if (compared.begins(site, 64 * mib, waits, now)) {
                    ++left;
                    spent += residency::transfer_time(64 * mib, residency::decision_prices.faults_both_ways);
                }
            ++waits;
            now += ns;
        }
        return left;
    }
    ComparedRounds compared;
    std::uint64_t waits = 1, now = ms, spent = 0;
};

BOOST_FIXTURE_TEST_CASE(short_programs_are_never_compared, Loop) {
    BOOST_TEST(rounds(90, 10 * ms) == 0);
}

BOOST_FIXTURE_TEST_CASE(long_loops_are_compared_ever_less_often_at_a_small_share_of_their_time, Loop) {
    BOOST_TEST(rounds(120, 10 * ms) == 1);
    BOOST_TEST(rounds(10'000, 10 * ms) == 3);
    BOOST_TEST(spent * ComparedRounds::share <= now);
}

BOOST_FIXTURE_TEST_CASE(short_rounds_are_taken_to_cost_as_many_as_pass_meanwhile, Loop) {
    // 64 MiB in half a millisecond: nine are left alone at a time, for 0.3 s
    BOOST_TEST(rounds(19'000, ms / 2) == 0);
    BOOST_TEST(rounds(1'000, ms / 2) == 1);
}

BOOST_FIXTURE_TEST_CASE(first_rounds_are_never_compared, Loop) {
    BOOST_TEST(rounds(7, 10'000 * ms) == 0);
    BOOST_TEST(rounds(1, 10'000 * ms) == 1);
}

BOOST_FIXTURE_TEST_CASE(launches_between_two_waits_are_one_round, Loop) {
    BOOST_TEST(rounds(7, 10'000 * ms, 7, 5) == 0);
    BOOST_TEST(rounds(1, 10'000 * ms, 7, 5) == 1);
}

BOOST_FIXTURE_TEST_CASE(a_site_whose_loop_another_one_compares_is_not_compared, Loop) {
    BOOST_TEST(rounds(8, 10'000 * ms) == 1);
    compared.covered(8);
    BOOST_TEST(rounds(1000, 10'000 * ms, 8) == 0);
    BOOST_TEST(rounds(1000, 10'000 * ms, 9) > 0);
}

BOOST_FIXTURE_TEST_CASE(sites_without_room_are_never_compared, Loop) {
    for (std::uint64_t site = 1; site <= 100; ++site)
        rounds(1, 10'000 * ms, site);
    BOOST_TEST(rounds(100, 10'000 * ms, 100) == 0);
    BOOST_TEST(rounds(100, 10'000 * ms, 1) > 0);
}

BOOST_FIXTURE_TEST_CASE(a_round_that_does_not_end_is_given_up_after_many_of_its_length, Loop) {
    rounds(8, 10 * ms);
    BOOST_TEST(compared.deadline(7, now) == now + 16 * 10 * ms);
    BOOST_TEST(compared.deadline(99, now) == now + 16 * ComparedRounds::least_ns);
}

BOOST_AUTO_TEST_SUITE_END()
