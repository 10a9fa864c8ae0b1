#include "policy/pool_threshold.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(act_pools)

using namespace umadvisor::policy;

constexpr std::uint64_t mib = 1u << 20;

/// Rounds of one pool under a driver that keeps `kept` bytes at a wait.
struct PoolRounds {
    /// The pool reserves `high`, and `low` after the wait. Returns what it is to keep.
    std::uint64_t round(std::uint64_t high, std::uint64_t low) {
        ++rounds;
        pool.allocated(100);
        if (pool.wants_look()) {
            ++looks;
            pool.reserved(high);
        }
        if (!pool.wants_wait())
            return 0;
        ++looks;
        return pool.after_wait(low);
    }
    PoolThreshold pool;
    int rounds = 0, looks = 0;
};

BOOST_FIXTURE_TEST_CASE(a_pool_keeps_what_two_rounds_have_taken_again, PoolRounds) {
    BOOST_TEST(round(64 * mib, 0) == 0u);
    BOOST_TEST(round(64 * mib, 0) == 0u);
    BOOST_TEST(round(64 * mib, 0) == 64 * mib);
    BOOST_TEST(looks == 6);
}

BOOST_FIXTURE_TEST_CASE(the_greatest_size_counts, PoolRounds) {
    round(80 * mib, 0);
    round(64 * mib, 0);
    BOOST_TEST(round(64 * mib, 0) == 80 * mib);
}

BOOST_FIXTURE_TEST_CASE(what_is_not_asked_for_again_is_not_kept, PoolRounds) {
    for (std::uint64_t round_number = 0; round_number < 8; ++round_number)
        BOOST_TEST(round(round_number % 2 == 0 ? 64 * mib : 16 * mib, 0) == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_pool_that_keeps_its_memory_anyway_is_looked_at_ever_less_often, PoolRounds) {
    for (int i = 0; i < 100'000; ++i)
        BOOST_TEST_REQUIRE(round(64 * mib, 64 * mib) == 0u);
    BOOST_TEST(looks < 800);
}

BOOST_FIXTURE_TEST_CASE(a_wait_for_another_stream_does_not_end_a_round, PoolRounds) {
    for (int i = 0; i < 2; ++i) {
        round(64 * mib, 64 * mib);
        BOOST_TEST_REQUIRE(pool.wants_wait());
        BOOST_TEST(pool.after_wait(0) == 0u);
    }
    round(64 * mib, 64 * mib);
    BOOST_TEST(pool.after_wait(0) == 64 * mib);
}

BOOST_FIXTURE_TEST_CASE(a_pool_that_needs_more_keeps_more, PoolRounds) {
    for (int i = 0; i < 3; ++i)
        round(64 * mib, 0);
    pool.raised(64 * mib);
    BOOST_TEST(round(96 * mib, 64 * mib) == 0u);
    BOOST_TEST(round(96 * mib, 64 * mib) == 0u);
    BOOST_TEST(round(96 * mib, 64 * mib) == 96 * mib);
}

BOOST_FIXTURE_TEST_CASE(after_memory_was_short_it_has_to_be_seen_again, PoolRounds) {
    for (int i = 0; i < 3; ++i)
        round(64 * mib, 0);
    pool.raised(64 * mib);
    pool.gave_back();
    BOOST_TEST(pool.kept() == 0u);
    BOOST_TEST(round(32 * mib, 0) == 0u);
    BOOST_TEST(round(32 * mib, 0) == 0u);
    BOOST_TEST(round(32 * mib, 0) == 32 * mib);
}

BOOST_FIXTURE_TEST_CASE(without_room_it_rests, PoolRounds) {
    for (int i = 0; i < 3; ++i)
        round(64 * mib, 0);
    pool.refused();
    looks = 0;
    for (std::uint64_t i = 1; i < PoolThreshold::first_rest; ++i)
        round(64 * mib, 0);
    BOOST_TEST(looks == 0);
    round(64 * mib, 0);
    BOOST_TEST(looks == 2);
}

BOOST_AUTO_TEST_CASE(pools_keep_a_quarter_of_the_free_memory_together) {
    BOOST_TEST(pool_share(10 * mib, 0, 0, 100 * mib, 0) == 10 * mib);
    BOOST_TEST(pool_share(30 * mib, 0, 0, 100 * mib, 0) == 25 * mib);
    BOOST_TEST(pool_share(30 * mib, 0, 20 * mib, 100 * mib, 0) == 0u); // not half of it
    BOOST_TEST(pool_share(24 * mib, 20 * mib, 20 * mib, 100 * mib, 0) == 24 * mib);
    BOOST_TEST(pool_share(24 * mib, 0, 0, 100 * mib, 1) == 100 * mib / 8);
    BOOST_TEST(pool_share(24 * mib, 24 * mib, 24 * mib, 100 * mib, 0) == 0u);
    BOOST_TEST(pool_share(24 * mib, 0, 0, 0, 0) == 0u);
}

namespace {

/// Allocations of which one in `slow_every` takes 100 times as long as `ticks`.
void allocate(PoolThreshold& pool, int count, std::uint64_t ticks, int slow_every) {
    for (int i = 1; i <= count; ++i)
        pool.allocated(i % slow_every == 0 ? 100 * ticks : ticks);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_pool_whose_allocations_become_slower_loses) {
    PoolThreshold gains, loses, equal;
    for (PoolThreshold* const pool : {&gains, &loses, &equal}) {
        allocate(*pool, 40, 1000, 8);
        pool->raised(64 * mib);
    }
    allocate(gains, 500, 1000, 1000);
    allocate(equal, 500, 1000, 8);
    allocate(loses, PoolThreshold::judged, 20'000, 8);
    BOOST_TEST(!loses.loses()); // the next one decides
    allocate(loses, 1, 20'000, 8);
    BOOST_TEST(!gains.loses());
    BOOST_TEST(!equal.loses());
    BOOST_TEST(loses.loses());
}

BOOST_AUTO_TEST_CASE(one_long_allocation_is_no_loss) {
    PoolThreshold pool;
    allocate(pool, 40, 1000, 1000);
    pool.raised(64 * mib);
    pool.allocated(10'000'000);
    allocate(pool, 200, 1000, 1000);
    BOOST_TEST(!pool.loses());
}

BOOST_AUTO_TEST_CASE(without_allocations_before_it_is_not_known_what_a_pool_loses) {
    PoolThreshold pool;
    pool.raised(64 * mib);
    allocate(pool, 200, 1000, 8);
    BOOST_TEST(!pool.loses());
}

BOOST_AUTO_TEST_SUITE_END()
