#include "analyzer/model/residence.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_residence)

using namespace umadvisor;
using model::Residence;

namespace {

constexpr std::uint64_t mib = 1024 * 1024;
constexpr std::uint64_t size = 32 * mib;

Residence::Change look(Residence& residence, trace::SampleMoment moment, std::uint64_t host_bytes,
                       std::uint64_t syncs = 0) {
    trace::Residency record;
    record.moment = moment;
    record.pages = size / 4096;
    record.host_pages = host_bytes / 4096;
    return residence.sample(record, syncs);
}

constexpr auto before = trace::SampleMoment::before_launch;
constexpr auto after = trace::SampleMoment::after_synchronize;
constexpr auto before_prefetch = trace::SampleMoment::before_prefetch;
constexpr auto before_free = trace::SampleMoment::before_free;

/// All of it is prefetched, and what is left on the host before the launch is gone after it.
void check_prefetched(Residence residence, std::uint64_t left, std::uint64_t syncs) {
    residence.prefetch(0, size, trace::Location::device, 0);
    look(residence, before, left, syncs);
    look(residence, after, 0, syncs + 1);
    BOOST_TEST(residence.moves().to_device == 0u);
    BOOST_TEST(residence.moves().prefetched_bytes == size);
}

} // namespace

BOOST_AUTO_TEST_CASE(rounds_are_counted_both_ways) {
    Residence residence(size);
    for (int round = 0; round < 5; ++round) {
        look(residence, before, size);
        BOOST_TEST((look(residence, after, 0) == Residence::Change::left_host));
    }
    const model::Moves moves = residence.moves();
    BOOST_TEST(moves.to_device == 5u);
    BOOST_TEST(moves.to_host == 4u);
    BOOST_TEST(moves.bytes_to_device == 5 * size);
    BOOST_TEST(moves.bytes_to_host == 4 * size);
    BOOST_TEST(moves.first_bytes == size);
    BOOST_TEST(moves.populated_by_host);
}

BOOST_AUTO_TEST_CASE(prefetch_before_the_launch_explains_the_move) {
    check_prefetched(Residence(size), size, 0); // asynchronous: not moved yet
}

BOOST_AUTO_TEST_CASE(a_look_before_a_prefetch_is_none_before_a_launch) {
    Residence residence(size);
    look(residence, before_prefetch, size);
    BOOST_TEST(!residence.moves().populated_by_host);
    residence.prefetch(0, size / 2, trace::Location::device, 0);
    look(residence, before, size / 2);
    BOOST_TEST(residence.moves().populated_by_host);
    BOOST_TEST(residence.moves().prefetched_bytes == size / 2);
    BOOST_TEST(residence.moves().to_device == 0u);
    BOOST_TEST((look(residence, after, 0) == Residence::Change::left_host));
}

BOOST_AUTO_TEST_CASE(a_look_before_a_prefetch_leaves_what_it_ended_before_the_host_wrote_again) {
    Residence residence(size);
    look(residence, before_prefetch, size);
    residence.prefetch(0, size, trace::Location::device, 0);
    look(residence, before, size, 1);
    look(residence, after, 0, 2);
    BOOST_TEST(residence.moves().to_device == 1u);

    Residence stayed(size);
    look(stayed, before_prefetch, size);
    check_prefetched(stayed, 0, 1);
}

BOOST_AUTO_TEST_CASE(a_look_before_the_free_shows_the_last_return) {
    Residence residence(size);
    look(residence, before, size);
    look(residence, after, 0, 1);
    BOOST_TEST((look(residence, before_free, size, 1) == Residence::Change::came_to_host));
    BOOST_TEST(residence.moves().to_host == 1u);
    BOOST_TEST(residence.moves().bytes_to_host == size);
}

BOOST_AUTO_TEST_CASE(prefetch_that_ended_before_the_host_wrote_again_does_not) {
    Residence residence(size);
    residence.prefetch(0, size, trace::Location::device, 0);
    look(residence, before, size, 1); // synchronised since: what is on the host came later
    look(residence, after, 0, 2);
    BOOST_TEST(residence.moves().to_device == 1u);
}

BOOST_AUTO_TEST_CASE(prefetch_of_a_part_explains_that_part) {
    Residence residence(size);
    residence.prefetch(8 * mib, 4 * mib, trace::Location::device, 0);
    look(residence, before, size);
    look(residence, after, 0, 1);
    BOOST_TEST(residence.moves().bytes_to_device == size - 4 * mib);
}

BOOST_AUTO_TEST_CASE(prefetch_both_ways_is_no_bouncing) {
    Residence residence(size);
    for (std::uint64_t round = 0; round < 5; ++round) {
        look(residence, before, size, 2 * round);
        residence.prefetch(0, size, trace::Location::device, 2 * round);
        look(residence, after, 0, 2 * round + 1);
        residence.prefetch(0, size, trace::Location::host, 2 * round + 1);
    }
    BOOST_TEST(residence.moves().to_device <= 1u);
    BOOST_TEST(residence.moves().to_host == 0u);
}

BOOST_AUTO_TEST_CASE(host_filling_new_pages_is_no_return) {
    Residence residence(size);
    look(residence, before, size / 4);
    look(residence, before, size / 2);
    look(residence, before, size);
    BOOST_TEST(residence.moves().to_host == 0u);
    BOOST_TEST(residence.moves().bytes_to_host == 0u);
}

BOOST_AUTO_TEST_CASE(filling_it_part_by_part_between_launches_is_no_bouncing) {
    Residence residence(size);
    for (int quarter = 0; quarter < 4; ++quarter) {
        look(residence, before, size / 4); // the next quarter; the ones before stay on the device
        look(residence, after, 0);
    }
    BOOST_TEST(residence.moves().to_device == 4u);
    BOOST_TEST(residence.moves().bytes_to_device == size);
    BOOST_TEST(residence.moves().to_host == 0u);
}

BOOST_AUTO_TEST_CASE(bouncing_of_a_part_is_seen_once_new_pages_are_used_up) {
    Residence residence(size);
    for (int round = 0; round < 8; ++round) {
        look(residence, before, size / 2); // the other half is never touched
        look(residence, after, 0);
    }
    BOOST_TEST(residence.moves().to_device == 8u);
    BOOST_TEST(residence.moves().to_host == 6u);
}

BOOST_AUTO_TEST_CASE(device_only_memory_never_moves) {
    Residence residence(size);
    for (int i = 0; i < 4; ++i) {
        look(residence, before, 0);
        look(residence, after, 0);
    }
    BOOST_TEST(residence.moves().to_device == 0u);
    BOOST_TEST(!residence.moves().populated_by_host);
}

BOOST_AUTO_TEST_CASE(reading_one_granule_back_is_not_a_move_of_all) {
    Residence residence(size);
    for (int i = 0; i < 6; ++i) {
        look(residence, before, i == 0 ? size : 64 * 1024);
        look(residence, after, 0);
    }
    BOOST_TEST(residence.moves().to_device == 1u); // 64 KiB of 32 MiB: below a sixty-fourth
    BOOST_TEST(residence.moves().to_host == 0u);
}

BOOST_AUTO_TEST_CASE(a_sample_of_pages_stands_for_the_whole) {
    Residence residence(size);
    trace::Residency record;
    record.pages = size / 4096 / 4;
    record.host_pages = record.pages;
    record.moment = before;
    residence.sample(record, 0);
    record.host_pages = 0;
    record.moment = after;
    residence.sample(record, 1);
    BOOST_TEST(residence.coverage() == 0.25);
    BOOST_TEST(residence.moves().bytes_to_device == size);
}

BOOST_AUTO_TEST_SUITE_END()
