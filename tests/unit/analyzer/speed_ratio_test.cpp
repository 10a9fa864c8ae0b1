/// How many times as fast: the estimate and its interval.
#include "analyzer/cli/run/speed_ratio.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

BOOST_AUTO_TEST_SUITE(analyzer_speed_ratio)

using namespace umadvisor::cli;

BOOST_AUTO_TEST_CASE(intervals_are_those_of_the_tables) {
    // Ratios 1.0 to 2.5, all told apart; critical values of the rank sum test as printed in tables.
    const std::vector<double> one(4, 1.0);
    const SpeedRatio four = speed_ratio({1, 2, 3, 4}, one);
    BOOST_TEST(four.confidence == 1 - 2.0 / 70, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(four.low == 1.0);
    BOOST_TEST(four.high == 4.0);
    BOOST_TEST(four.ratio == 2.5);

    const SpeedRatio five = speed_ratio({2, 4, 6, 8, 10}, {1, 1.001, 1.002, 1.003, 1.004});
    BOOST_TEST(five.confidence == 1 - 2.0 * 4 / 252, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(five.low == 2 / 1.002); // the third from either end of 25
    BOOST_TEST(five.high == 10 / 1.002);
    BOOST_TEST(five.ratio == 6 / 1.002);

    // n = m = 10: critical value 23 (two-sided, 5%).
    BOOST_TEST(speed_ratio(std::vector<double>(10, 1.0), std::vector<double>(10, 1.0)).confidence == 0.95674,
               boost::test_tools::tolerance(1e-4));
}

BOOST_AUTO_TEST_CASE(many_runs_keep_their_confidence) {
    const SpeedRatio many =
        speed_ratio(std::vector<double>(most_runs, 2.0), std::vector<double>(most_runs, 1.0));
    BOOST_TEST(many.confidence >= 0.95);
    BOOST_TEST(many.confidence < 0.951);
    BOOST_TEST(many.ratio == 2.0);
}

BOOST_AUTO_TEST_CASE(intervals_hold_the_true_ratio_as_often_as_they_say) {
    std::mt19937 random(1);
    std::lognormal_distribution<double> noise(0, 0.3);
    int held = 0;
    constexpr int trials = 4000;
    for (int trial = 0; trial < trials; ++trial) {
        std::vector<double> before, after;
        for (int run = 0; run < 5; ++run) {
            before.push_back(1.5 * noise(random));
            after.push_back(noise(random));
        }
        const SpeedRatio found = speed_ratio(before, after);
        held += found.low <= 1.5 && 1.5 <= found.high;
    }
    BOOST_TEST(held / double{trials} > 0.958);
    BOOST_TEST(held / double{trials} < 0.978);
}

BOOST_AUTO_TEST_CASE(medians) {
    BOOST_TEST(median({3, 1, 2}) == 2);
    BOOST_TEST(median({4, 1, 2, 3}) == 2.5);
}

BOOST_AUTO_TEST_SUITE_END()
