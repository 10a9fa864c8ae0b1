#include "interposer/act/last_reach.hpp"

#include <boost/test/unit_test.hpp>
#include <memory>

using namespace umadvisor::act;

BOOST_AUTO_TEST_SUITE(act_last_reach)

struct Rounds {
    static constexpr std::uint64_t address = 64 << 20, bytes = 8 << 20, here = 77;

    /// Of `launches`, which one was taken for the last; 0: none.
    unsigned round(unsigned launches, std::uint64_t place = here) {
        unsigned last = 0;
        for (unsigned i = 1; i <= launches; ++i)
            if (const std::uint64_t told = launch(5); told != 0) {
                BOOST_TEST(told == here);
                last = i;
            }
        wait(place);
        return last;
    }
    std::uint64_t launch(std::uint64_t stream) { return reach->launch(address, bytes, stream, now += 10); }
    void wait(std::uint64_t place) { reach->wait(address, bytes, place, now += meanwhile); }

    std::unique_ptr<LastReach> reach = std::make_unique<LastReach>();
    std::uint64_t now = 0, meanwhile = LastReach::least_meanwhile(bytes);
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
        BOOST_TEST(launch(6) == 0u);
        BOOST_TEST(launch(5) == 0u);
        wait(here);
    };
    for (int i = 0; i < 10; ++i)
        on_two_streams();
    for (int i = 0; i < 4; ++i)
        round(2);
    on_two_streams();
}

BOOST_FIXTURE_TEST_CASE(nothing_is_gained_where_the_program_waits_at_once, Rounds) {
    --meanwhile;
    for (int i = 0; i < 10; ++i)
        BOOST_TEST(round(2) == 0u);
    ++meanwhile;
    for (int i = 0; i < 2; ++i)
        round(2);
    BOOST_TEST(round(2) == 2u);
    reach->wait(address, bytes, here, 0); // nobody knows when it began
    BOOST_TEST(round(2) == 0u);
}

BOOST_FIXTURE_TEST_CASE(allocations_are_told_apart, Rounds) {
    for (int i = 0; i < 4; ++i) {
        round(1);
        BOOST_TEST(reach->launch(address + (16 << 20), bytes, 5, now) == 0u); // never waited for
    }
}

BOOST_AUTO_TEST_SUITE_END()
