#include "analyzer/managed/thrashing_replay.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_thrashing_replay)

using namespace umadvisor;
using managed::ThrashingReplay;
using trace::ManagedEvent;
using trace::ManagedEventKind;
using trace::MigrationCause;

constexpr std::uint64_t page = 4096, granule = 64 << 10, block = 2 << 20, base = 0x7f00'0000'0000;
constexpr std::uint64_t us = 500; ///< ticks: one is two nanoseconds

/// Events of one block, a given number of microseconds apart.
struct Turns {
    ThrashingReplay replay{2.0, residency::ThrashingParameters{}};
    std::uint64_t now = 1'000'000 * us;

    std::uint64_t move(std::uint64_t to, std::uint64_t after_us, std::uint64_t first = 0,
                       std::uint64_t bytes = granule, MigrationCause cause = MigrationCause::coherence) {
        ManagedEvent event{.start = now += after_us * us,
                           .kind = ManagedEventKind::migration,
                           .address = base + first,
                           .bytes = bytes,
                           .from = to == 0 ? 1u : 0u,
                           .to = to,
                           .cause = static_cast<std::uint64_t>(cause)};
        return replay.add(event);
    }
    void tell(std::uint64_t first, std::uint64_t bytes) {
        replay.add(ManagedEvent{.kind = ManagedEventKind::thrashing, .address = base + first, .bytes = bytes});
    }
    std::uint64_t turns(int count, std::uint64_t after_us, MigrationCause cause = MigrationCause::coherence) {
        std::uint64_t found = 0;
        for (int i = 0; i < count; ++i)
            found += move(static_cast<std::uint64_t>(i % 2), after_us, 0, granule, cause);
        return found;
    }
};

BOOST_AUTO_TEST_CASE(turns_within_the_lapse_thrash_and_slower_ones_do_not) {
    for (const std::uint64_t gap : {100u, 400u, 499u})
        BOOST_TEST(Turns().turns(12, gap) == granule / page);
    for (const std::uint64_t gap : {501u, 600u, 5000u})
        BOOST_TEST(Turns().turns(12, gap) == 0u);
}

BOOST_FIXTURE_TEST_CASE(the_drivers_pages_and_the_rules_are_compared_one_by_one, Turns) {
    turns(12, 100);
    tell(8 * page, granule); // half of it is what the rule finds, the other half is not
    const managed::ThrashingPages pages = replay.pages();
    BOOST_TEST(pages.told == 16u);
    BOOST_TEST(pages.found == 16u);
    BOOST_TEST(pages.agreed == 8u);
}

BOOST_AUTO_TEST_CASE(only_what_faults_caused_counts_and_prefetch_calls_begin_anew) {
    BOOST_TEST(Turns().turns(12, 100, MigrationCause::eviction) == 0u);
    BOOST_TEST(Turns().turns(12, 100, MigrationCause::user) == 0u);
    BOOST_TEST(Turns().turns(12, 100, MigrationCause::prefetch) == granule / page);
    Turns s;
    for (int i = 0; i < 6; ++i) {
        BOOST_TEST(s.turns(2, 100) == 0u);
        s.move(1, 100, 0, granule, MigrationCause::user);
    }
}

BOOST_FIXTURE_TEST_CASE(a_move_over_several_blocks_is_one_of_each, Turns) {
    std::uint64_t found = 0;
    for (int i = 0; i < 12; ++i)
        found += move(static_cast<std::uint64_t>(i % 2), 100, block - granule, 2 * granule);
    BOOST_TEST(found == 2 * granule / page);
}

BOOST_FIXTURE_TEST_CASE(what_makes_room_stays_counted, Turns) {
    turns(12, 100);
    for (std::uint64_t i = 1; i <= ThrashingReplay::most_blocks; ++i)
        move(1, 1, i * block);
    BOOST_TEST(replay.pages().found == granule / page);
    BOOST_TEST(turns(12, 100) == granule / page); // it is not remembered
}

BOOST_AUTO_TEST_CASE(hostile_events_do_no_harm) {
    ThrashingReplay replay(2.0, {});
    for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1} << 63, UINT64_MAX})
        for (const ManagedEventKind kind : {ManagedEventKind::migration, ManagedEventKind::thrashing}) {
            ManagedEvent event{.kind = kind};
            event.start = event.address = event.bytes = event.from = event.cause = value;
            replay.add(event);
            event.to = value;
            replay.add(event);
        }
    BOOST_TEST(replay.pages().found == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
