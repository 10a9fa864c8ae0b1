#include "analyzer/facts/call_time.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

BOOST_AUTO_TEST_SUITE(analyzer_call_time)

using umadvisor::facts::CallTime;

BOOST_AUTO_TEST_CASE(measured_calls_are_added_up) {
    CallTime time;
    time.add(10, 0);
    time.add(30, 0);
    BOOST_TEST(time.total_ticks(time) == 40);
    BOOST_TEST(time.unmeasured == 0u);
}

/// Calls after a pause are long and all measured: they do not stand for the short ones that were not.
BOOST_AUTO_TEST_CASE(what_is_not_measured_is_as_long_as_the_samples_drawn_for_it) {
    CallTime time;
    for (int i = 0; i < 1000; ++i)
        time.add(i % 16 == 15 ? 3 : 0, i % 16 == 15 ? 15 : 0);
    for (int i = 0; i < 100; ++i)
        time.add(1000, 0);
    BOOST_TEST(time.measured == 62u + 100);
    BOOST_TEST(time.total_ticks(time) == 1000 * 3 + 100 * 1000);
}

BOOST_AUTO_TEST_CASE(samples_of_the_others_answer_where_there_are_none) {
    CallTime first, others;
    first.add(5000, 0); // loaded code
    first.add(0, 0);
    first.add(0, 0);
    others.add(7, 9);
    others += first;
    BOOST_TEST(first.total_ticks(others) == 5000 + 2 * 7);
    BOOST_TEST(first.total_ticks(first) == 5000 + 2 * 5000); // nothing better is known
    BOOST_TEST(CallTime().total_ticks(CallTime()) == 0);
}

BOOST_AUTO_TEST_CASE(the_estimate_is_right_on_average) {
    std::mt19937 random(7);
    double truth = 0, estimate = 0;
    for (int run = 0; run < 200; ++run) {
        CallTime time;
        int left = 1, interval = 1;
        for (int i = 0; i < 2000; ++i) {
            const std::uint64_t length = random() % 20 == 0 ? 50 : 2 + random() % 3;
            truth += static_cast<double>(length);
            if (--left != 0) {
                time.add(0, 0);
                continue;
            }
            time.add(length, static_cast<std::uint64_t>(interval - 1));
            left = interval = 9 + static_cast<int>(random() % 16);
        }
        estimate += time.total_ticks(time);
    }
    BOOST_TEST(estimate == truth, boost::test_tools::tolerance(0.01));
}

BOOST_AUTO_TEST_SUITE_END()
