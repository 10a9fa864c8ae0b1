#include "policy/residency_map.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(act_usage_trial)

using namespace umadvisor::policy;

struct Rounds {
    /// A launch misses something; `used`: of the block that is left out, if one is. Whether it was brought.
    bool round(bool used, bool looked = true, std::uint64_t waited = 1) {
        if (!trial.worth_bringing())
            return false;
        if (trial.due(false)) {
            trial.begin(3, 1);
            ++trials;
        }
        if (looked) {
            trial.look();
            if (!used)
                trial.on_host(2, 5);
        }
        trial.end(false, waited);
        return true;
    }
    UsageTrial trial;
    int trials = 0;
};

BOOST_FIXTURE_TEST_CASE(what_is_used_is_tried_ever_less_often, Rounds) {
    for (int i = 0; i < 300; ++i)
        BOOST_TEST_REQUIRE(round(true));
    BOOST_TEST(trials == 4); // 4, 16, 64, 256
}

BOOST_FIXTURE_TEST_CASE(what_nobody_uses_is_given_up_and_tried_again, Rounds) {
    int brought = 0;
    while (round(false))
        ++brought;
    BOOST_TEST(brought == 6); // 4, 5, 6
    BOOST_TEST(trial.given_up());
    BOOST_TEST(trial.just_given_up());
    BOOST_TEST(!trial.just_given_up());
    int left = 1;
    while (!round(true))
        ++left;
    BOOST_TEST(left == 63);
    BOOST_TEST(!trial.given_up());
    for (int i = 0; i < 100; ++i)
        BOOST_TEST_REQUIRE(round(true));
}

BOOST_FIXTURE_TEST_CASE(only_a_look_after_the_launch_has_run_proves_anything, Rounds) {
    for (int i = 0; i < 100; ++i)
        BOOST_TEST_REQUIRE(round(false, false)); // nobody looked
    BOOST_TEST(trials == 5);                     // 4, 8, 16, 32, 64
    for (int i = 0; i < 100; ++i)
        BOOST_TEST_REQUIRE(round(false, true, 2)); // another stream was waited for
}

BOOST_FIXTURE_TEST_CASE(what_was_evicted_proves_nothing, Rounds) {
    for (int i = 0; i < 100; ++i) {
        BOOST_TEST_REQUIRE(trial.worth_bringing());
        if (trial.due(true))
            trial.begin(3, 1);
        trial.look();
        trial.on_host(3, 4);
        trial.cancel(0, 4);
        trial.end(true, 0);
    }
}

BOOST_AUTO_TEST_SUITE_END()
