#include "tests/unit/residency/fixture.hpp"

BOOST_AUTO_TEST_SUITE(eviction)

using namespace umadvisor::residency;

BOOST_FIXTURE_TEST_CASE(the_block_used_longest_ago_goes, Fixture) {
    memory.set_capacity(device, 2 * block_bytes);
    touch(device, 0, block_bytes);
    touch(device, block_bytes, block_bytes);
    touch(device, 0, 1);
    touch(device, 2 * block_bytes, block_bytes);
    BOOST_TEST(memory.counters().evicted_blocks == 1u);
    BOOST_TEST(memory.count_resident(device, base, block_bytes) == pages_per_block);
    BOOST_TEST(memory.count_resident(device, base + block_bytes, block_bytes) == 0u);
    BOOST_TEST(memory.count_resident(host_processor, base + block_bytes, block_bytes) == pages_per_block);
    BOOST_TEST(memory.counters().bytes_to_host[unsigned(MigrationCause::eviction)] == block_bytes);
}

BOOST_FIXTURE_TEST_CASE(capacity_is_never_exceeded, Fixture) {
    memory.set_capacity(device, block_bytes);
    for (unsigned round = 0; round < 3; ++round) {
        for (std::uint64_t at = 0; at < bytes; at += granule_bytes) {
            touch(device, at, granule_bytes);
            BOOST_REQUIRE(memory.resident_bytes(device) <= block_bytes);
        }
    }
    BOOST_TEST(memory.counters().evicted_blocks == 3 * bytes / block_bytes - 1);
}

BOOST_FIXTURE_TEST_CASE(prefetch_evicts_too, Fixture) {
    memory.set_capacity(device, 3 * block_bytes);
    memory.prefetch(device, base, bytes, 0);
    BOOST_TEST(memory.resident_bytes(device) <= 3 * block_bytes);
    BOOST_TEST(memory.counters().evicted_blocks == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_rank_stands_for_the_last_use_until_the_next, Fixture) {
    memory.set_capacity(device, 2 * block_bytes);
    touch(device, 0, block_bytes);
    touch(device, block_bytes, block_bytes);
    memory.rank(base, block_bytes, 1'000);
    touch(device, 2 * block_bytes, block_bytes);
    BOOST_TEST(memory.count_resident(device, base, block_bytes) == pages_per_block);
    BOOST_TEST(memory.count_resident(device, base + block_bytes, block_bytes) == 0u);
    touch(device, 0, 1); // its last use is that, and older than the next
    touch(device, 2 * block_bytes, 1);
    touch(device, 3 * block_bytes, block_bytes);
    BOOST_TEST(memory.count_resident(device, base, block_bytes) == 0u);
}

BOOST_FIXTURE_TEST_CASE(memory_that_is_gone_is_not_evicted, Fixture) {
    memory.set_capacity(device, 2 * block_bytes);
    const std::uint64_t other = base + 16 * block_bytes;
    memory.add_range(other, block_bytes);
    memory.touch(device, other, block_bytes, Access::write, 0);
    touch(device, 0, block_bytes);
    memory.remove_range(other);
    touch(device, block_bytes, block_bytes);
    BOOST_TEST(memory.counters().evicted_blocks == 0u);
    memory.prefetch(host_processor, base, block_bytes, 0);
    touch(device, 2 * block_bytes, block_bytes);
    BOOST_TEST(memory.counters().evicted_blocks == 0u);
    touch(device, 3 * block_bytes, block_bytes);
    BOOST_TEST(memory.counters().evicted_blocks == 1u);
    BOOST_TEST(memory.count_resident(device, base + block_bytes, block_bytes) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
