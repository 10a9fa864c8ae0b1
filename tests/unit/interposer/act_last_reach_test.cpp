#include "policy/host_returns.hpp"

#include <boost/test/unit_test.hpp>
#include <memory>

using namespace umadvisor::policy;

BOOST_AUTO_TEST_SUITE(act_last_reach)

struct Rounds {
    static constexpr std::uint64_t address = 64 << 20, bytes = 8 << 20, here = 77;

    /// Of `launches`, which one was taken for the last; 0: none.
    unsigned round(unsigned launches, std::uint64_t site = here) {
        unsigned last = 0;
        for (unsigned i = 1; i <= launches; ++i)
            if (const LastReach::NextWait next = launch(5); next.site != 0) {
                BOOST_TEST(next.site == here);
                last = i;
            }
        wait(site);
        return last;
    }
    LastReach::NextWait launch(std::uint64_t stream) {
        return reach->launch(address, bytes, stream, now += 10);
    }
    void wait(std::uint64_t site) { reach->wait(address, bytes, site, now += meanwhile); }

    std::unique_ptr<LastReach> reach = std::make_unique<LastReach>();
    std::uint64_t now = 0, meanwhile = 1000;
};

BOOST_FIXTURE_TEST_CASE(two_rounds_alike_tell_of_the_third, Rounds) {
    for (int i = 0; i < 2; ++i)
        BOOST_TEST(round(4) == 0u);
    for (int i = 0; i < 5; ++i)
        BOOST_TEST(round(4) == 4u);
}

BOOST_FIXTURE_TEST_CASE(another_place_or_another_number_begins_anew, Rounds) {
    for (int i = 0; i < 4; ++i)
        round(1);
    BOOST_TEST(round(1, 78) == 1u);
    for (int i = 0; i < 2; ++i)
        BOOST_TEST(round(1) == 0u);
    BOOST_TEST(round(1) == 1u);
    wait(here); // it came without a launch
    for (int i = 0; i < 2; ++i)
        BOOST_TEST(round(1) == 0u);
}

BOOST_FIXTURE_TEST_CASE(what_was_wrong_once_is_not_believed_for_long, Rounds) {
    for (int i = 0; i < 4; ++i)
        round(2);
    BOOST_TEST(round(3) == 2u);
    for (int i = 0; i < 9; ++i)
        BOOST_TEST(round(3) == 0u);
    BOOST_TEST(round(3) == 3u);
}

BOOST_FIXTURE_TEST_CASE(launches_on_several_streams_tell_nothing, Rounds) {
    const auto on_two_streams = [&] {
        BOOST_TEST(launch(6).site == 0u);
        BOOST_TEST(launch(5).site == 0u);
        wait(here);
    };
    for (int i = 0; i < 10; ++i)
        on_two_streams();
    for (int i = 0; i < 4; ++i)
        round(2);
    on_two_streams();
}

BOOST_FIXTURE_TEST_CASE(it_is_known_what_time_went_by_before_the_wait, Rounds) {
    for (int i = 0; i < 2; ++i)
        round(2);
    launch(5);
    BOOST_TEST(launch(5).meanwhile == meanwhile);
    meanwhile = 70;
    wait(here);
    launch(5);
    BOOST_TEST(launch(5).meanwhile == 70u);
    reach->wait(address, bytes, here, 0); // nobody knows when it began
    launch(5);
    const LastReach::NextWait next = launch(5);
    BOOST_TEST(next.site == here);
    BOOST_TEST(next.meanwhile == 0u);
}

BOOST_FIXTURE_TEST_CASE(allocations_are_told_apart, Rounds) {
    for (int i = 0; i < 4; ++i) {
        round(1);
        BOOST_TEST(reach->launch(address + (16 << 20), bytes, 5, now).site == 0u); // never waited for
    }
}

BOOST_AUTO_TEST_SUITE_END()
