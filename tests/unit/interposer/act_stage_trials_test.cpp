#include "policy/stage_plan.hpp"

#include <boost/test/unit_test.hpp>
#include <vector>

BOOST_AUTO_TEST_SUITE(act_stage_trials)

using namespace umadvisor::policy;
using Choice = StageTrials::Choice;

constexpr std::uint64_t mib = 1u << 20;

/// Copies of one site; a tick is a microsecond.
struct Copies {
    /// One of `bytes`, at so many ticks a MiB if it is staged and if the driver makes it.
    Choice copy(std::uint64_t staged, std::uint64_t driver, std::uint64_t bytes = mib, std::uint64_t site = 7) {
        ++made;
        const Choice choice = trials.choose(site);
        if (choice == Choice::stage)
            trials.staged(site, {bytes, bytes / mib * staged});
        if (choice == Choice::compare) {
            compared.push_back(made);
            if (trials.compared(site, {bytes, bytes / mib * driver}, against))
                given_up_at = made;
        }
        return choice;
    }
    StageTrials trials;
    StagePace against;
    std::uint64_t made = 0, given_up_at = 0;
    std::vector<std::uint64_t> compared; ///< copies
};
using Numbers = std::vector<std::uint64_t>;

BOOST_FIXTURE_TEST_CASE(where_staging_pays_the_driver_is_asked_ever_less_often, Copies) {
    for (int i = 0; i < 2000; ++i)
        copy(50, 100);
    BOOST_TEST(compared == (Numbers{5, 20, 80, 320, 1280}), boost::test_tools::per_element());
    BOOST_TEST(given_up_at == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_site_where_the_driver_is_faster_twice_running_is_given_up_for_good, Copies) {
    for (int i = 0; i < 8; ++i)
        copy(100, 50);
    BOOST_TEST(compared == (Numbers{5, 8}), boost::test_tools::per_element());
    BOOST_TEST(given_up_at == 8u);
    BOOST_TEST(against.bytes == 2 * mib); // those between the comparisons
    BOOST_TEST(against.ticks == 200u);
    for (int i = 0; i < 1000; ++i)
        BOOST_TEST_REQUIRE((copy(1, 50) == Choice::leave));
}

BOOST_FIXTURE_TEST_CASE(where_it_is_only_measured_no_site_is_given_up_and_comparisons_come_late, Copies) {
    trials.only_measure();
    for (int i = 0; i < 2000; ++i)
        BOOST_TEST_REQUIRE((copy(100, 50) != Choice::leave));
    BOOST_TEST(compared == (Numbers{96, 384, 1536}), boost::test_tools::per_element());
    BOOST_TEST(given_up_at == 0u);
}

BOOST_FIXTURE_TEST_CASE(what_made_staging_slow_once_is_forgiven, Copies) {
    copy(10'000, 100); // pins the ring
    for (int i = 0; i < 100; ++i)
        copy(50, 100);
    BOOST_TEST(compared == (Numbers{5, 8, 32}), boost::test_tools::per_element());
    BOOST_TEST(given_up_at == 0u);
    while (made < 128)
        copy(50, 1); // the driver's luck
    BOOST_TEST(compared.back() == 128u);
    for (int i = 0; i < 400; ++i)
        copy(50, 100);
    BOOST_TEST(compared[4] == 131u);
    BOOST_TEST(compared[5] == 4u * 131);
    BOOST_TEST(given_up_at == 0u);
}

BOOST_FIXTURE_TEST_CASE(copies_of_a_site_count_by_their_bytes, Copies) {
    // Short ones are slow when they are staged, but most bytes are in long ones, which are not.
    for (int i = 0; i < 200; ++i)
        copy(i % 2 == 0 ? 150 : 50, 100, i % 2 == 0 ? 4 * mib : 64 * mib);
    BOOST_TEST(given_up_at == 0u);
}

BOOST_FIXTURE_TEST_CASE(each_site_is_judged_by_itself, Copies) {
    for (int i = 0; i < 20; ++i) {
        copy(100, 50, mib, 1);
        copy(50, 100, mib, 2);
    }
    BOOST_TEST((trials.choose(1) == Choice::leave));
    BOOST_TEST((trials.choose(2) != Choice::leave));
}

BOOST_FIXTURE_TEST_CASE(a_comparison_that_comes_to_nothing_is_made_up_for, Copies) {
    for (int i = 0; i < 4; ++i)
        copy(50, 100);
    BOOST_TEST((trials.choose(7) == Choice::compare)); // and the copy fails
    BOOST_TEST((trials.choose(7) == Choice::stage));
    BOOST_TEST((trials.choose(7) == Choice::stage));
    BOOST_TEST((trials.choose(7) == Choice::compare));
}

BOOST_FIXTURE_TEST_CASE(nothing_is_compared_where_nothing_was_staged, Copies) {
    for (int i = 0; i < 100; ++i)
        BOOST_TEST_REQUIRE((trials.choose(7) == Choice::stage)); // another copy has the ring
    BOOST_TEST(!trials.compared(7, {mib, 1}, against));
    BOOST_TEST(!trials.compared(7, {mib, 1}, against));
    BOOST_TEST((trials.choose(7) == Choice::stage));
}

BOOST_FIXTURE_TEST_CASE(sites_beyond_what_there_is_room_for_are_staged, Copies) {
    for (std::uint64_t site = 1; site <= StageTrials::most_sites; ++site)
        copy(100, 50, mib, site);
    for (int i = 0; i < 100; ++i)
        BOOST_TEST_REQUIRE((copy(100, 50, mib, 1000) == Choice::stage));
    for (int i = 0; i < 10; ++i)
        copy(100, 50, mib, StageTrials::most_sites);
    BOOST_TEST((trials.choose(StageTrials::most_sites) == Choice::leave));
}

BOOST_AUTO_TEST_SUITE_END()
