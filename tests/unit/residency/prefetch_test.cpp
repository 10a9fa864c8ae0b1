#include "tests/unit/residency/fixture.hpp"

BOOST_AUTO_TEST_SUITE(user_prefetch)

using namespace umadvisor::residency;

BOOST_FIXTURE_TEST_CASE(moves_all_without_a_fault, Fixture) {
    touch(host_processor, 0, bytes);
    const auto faults = memory.counters().host_faults;
    memory.prefetch(device, base, bytes, 0);
    BOOST_TEST(resident(device) == bytes);
    BOOST_TEST(resident(host_processor) == 0u);
    BOOST_TEST(touch(device, 0, bytes).time == 0u);
    BOOST_TEST(memory.counters().device_fault_groups == 0u);
    BOOST_TEST(memory.counters().host_faults == faults);
    BOOST_TEST(memory.counters().bytes_to_device[unsigned(MigrationCause::user)] == bytes);
}

BOOST_FIXTURE_TEST_CASE(back_to_the_host_gives_the_mapping_back, Fixture) {
    memory.prefetch(device, base, bytes, 0);
    memory.prefetch(host_processor, base, bytes, 0);
    BOOST_TEST(resident(host_processor) == bytes);
    BOOST_TEST(recorder.gained == bytes);
    BOOST_TEST(memory.counters().bytes_to_host[unsigned(MigrationCause::user)] == bytes);
}

BOOST_FIXTURE_TEST_CASE(of_resident_memory_costs_by_the_block, Fixture) {
    touch(host_processor, 0, bytes);
    const Cost once = memory.prefetch(device, base, bytes, 0);
    const Cost again = memory.prefetch(device, base, bytes, 0);
    const Prices& prices = memory.prices();
    BOOST_TEST(again.time == prices.prefetch_call + bytes / block_bytes * prices.prefetch_block);
    BOOST_TEST(once.time == again.time + prices.prefetch_move +
                                bytes / block_bytes * transfer_time(block_bytes, prices.migrate_to_device));
}

BOOST_FIXTURE_TEST_CASE(of_a_part_moves_that_part, Fixture) {
    touch(host_processor, 0, bytes);
    memory.prefetch(device, base + 3 * page_bytes, 2 * page_bytes, 0);
    BOOST_TEST(resident(device) == 2 * page_bytes);
    BOOST_TEST(resident(host_processor) == bytes - 2 * page_bytes);
}

BOOST_FIXTURE_TEST_CASE(of_what_was_discarded_moves_nothing, Fixture) {
    touch(host_processor, 0, bytes);
    memory.discard(base + 100, 2 * page_bytes); // the one whole page of it
    BOOST_TEST(resident(host_processor) == bytes - page_bytes);
    BOOST_TEST(recorder.lost == page_bytes);
    memory.discard(base, bytes);
    BOOST_TEST(resident(host_processor) == 0u);
    memory.prefetch(device, base, bytes, 0);
    BOOST_TEST(resident(device) == bytes);
    BOOST_TEST(memory.counters().bytes_to_device[unsigned(MigrationCause::user)] == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
