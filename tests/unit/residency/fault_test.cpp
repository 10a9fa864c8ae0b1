#include "tests/unit/residency/fixture.hpp"

#include <algorithm>

BOOST_AUTO_TEST_SUITE(faults)

using namespace umadvisor::residency;

BOOST_FIXTURE_TEST_CASE(fresh_memory_is_resident_nowhere, Fixture) {
    BOOST_TEST(resident(host_processor) == 0u);
    BOOST_TEST(resident(device) == 0u);
}

BOOST_FIXTURE_TEST_CASE(first_host_touch_populates_one_granule, Fixture) {
    touch(host_processor, 5 * page_bytes, 1);
    BOOST_TEST(resident(host_processor) == granule_bytes);
    BOOST_TEST(memory.counters().host_faults == 1u);
    BOOST_TEST(recorder.gained == granule_bytes);
    BOOST_TEST(recorder.migrations.empty());
}

BOOST_FIXTURE_TEST_CASE(second_touch_costs_nothing, Fixture) {
    touch(host_processor, 0, 1);
    BOOST_TEST(touch(host_processor, page_bytes, 1).time == 0u);
    BOOST_TEST(memory.counters().host_faults == 1u);
}

BOOST_FIXTURE_TEST_CASE(device_touch_moves_the_granule_and_takes_the_host_mapping, Fixture) {
    touch(host_processor, 0, granule_bytes);
    touch(device, 0, 4);
    BOOST_TEST(resident(host_processor) == 0u);
    BOOST_TEST(resident(device) == granule_bytes);
    BOOST_TEST(recorder.lost == granule_bytes);
    BOOST_TEST(memory.counters().device_fault_groups == 1u);
    BOOST_TEST(memory.counters().bytes_to_device[unsigned(MigrationCause::coherence)] == granule_bytes);
}

BOOST_FIXTURE_TEST_CASE(host_touch_brings_64_KiB_back, Fixture) {
    touch(host_processor, 0, bytes);
    memory.prefetch(device, base, bytes, 0);
    touch(host_processor, 0, 4 * page_bytes);
    BOOST_TEST(resident(host_processor) == granule_bytes);
    BOOST_TEST(memory.counters().bytes_to_host[unsigned(MigrationCause::coherence)] == granule_bytes);
}

// Granules 0, 1, 2, 4, 8 and 16 fault, the tree prefetch brings the rest.
BOOST_FIXTURE_TEST_CASE(sequential_device_touch_takes_six_fault_groups_a_block, Fixture) {
    touch(host_processor, 0, bytes);
    for (std::uint64_t at = 0; at < bytes; at += granule_bytes)
        touch(device, at, granule_bytes);
    BOOST_TEST(memory.counters().device_fault_groups == 6 * bytes / block_bytes);
    BOOST_TEST(resident(device) == bytes);
}

BOOST_FIXTURE_TEST_CASE(sequential_first_host_touch_takes_six_faults_a_block, Fixture) {
    for (std::uint64_t at = 0; at < bytes; at += page_bytes)
        touch(host_processor, at, 1);
    BOOST_TEST(memory.counters().host_faults == 6 * bytes / block_bytes);
    BOOST_TEST(resident(host_processor) == bytes);
}

BOOST_FIXTURE_TEST_CASE(what_threads_touch_side_by_side_is_one_fault_group, Fixture) {
    touch(host_processor, 0, bytes);
    const Part parts[] = {
        {base + 3 * block_bytes, granule_bytes}, {base, granule_bytes}, {base + granule_bytes, granule_bytes}};
    memory.touch_together(device, parts, Access::read, 0);
    BOOST_TEST(memory.counters().device_fault_groups == 1u);
    BOOST_TEST(resident(device) == 3 * granule_bytes);
    BOOST_REQUIRE(recorder.device_faults.size() == 3u);
    BOOST_TEST(recorder.device_faults[0].address == base);
    BOOST_TEST(recorder.device_faults[2].address == base + 3 * block_bytes);
    BOOST_TEST(recorder.device_faults[2].group == recorder.device_faults[0].group);
    memory.touch_together(device, parts, Access::read, 0);
    BOOST_TEST(memory.counters().device_fault_groups == 1u);
}

// Five granules of eight are more than half.
BOOST_FIXTURE_TEST_CASE(a_fault_group_grows_by_all_it_holds_in_a_block, Fixture) {
    touch(host_processor, 0, bytes);
    const Part part{base, 5 * granule_bytes};
    memory.touch_together(device, {&part, 1}, Access::read, 0);
    BOOST_TEST(resident(device) == 8 * granule_bytes);
}

BOOST_FIXTURE_TEST_CASE(faults_never_cross_a_block, Fixture) {
    touch(host_processor, 0, bytes);
    touch(device, 0, block_bytes);
    BOOST_TEST(resident(device) == block_bytes);
    BOOST_TEST(resident(host_processor) == bytes - block_bytes);
}

BOOST_FIXTURE_TEST_CASE(price_of_a_first_touch_is_the_measured_one, Fixture) {
    AddressSpace big;
    constexpr std::uint64_t size = 256ull << 20;
    big.add_range(base, size);
    big.touch(host_processor, base, size, Access::write, 0);
    Nanoseconds time = 0;
    constexpr std::uint64_t step = 264 << 10; // of as many threads as fit on the device, with 4 bytes each
    for (std::uint64_t at = 0; at < size; at += step) {
        const Part part{base + at, std::min(step, size - at)};
        time += big.touch_together(device, {&part, 1}, Access::read, time).time;
    }
    BOOST_TEST(time > 23'000'000u);
    BOOST_TEST(time < 40'000'000u);
}

BOOST_FIXTURE_TEST_CASE(a_removed_range_is_forgotten, Fixture) {
    touch(device, 0, bytes);
    memory.remove_range(base);
    BOOST_TEST(!memory.contains(base));
    BOOST_TEST(memory.resident_bytes(device) == 0u);
    BOOST_TEST(touch(device, 0, bytes).time == 0u);
}

BOOST_AUTO_TEST_CASE(a_range_may_begin_inside_a_block) {
    AddressSpace memory;
    const std::uint64_t at = base + 3 * granule_bytes;
    memory.add_range(at, block_bytes);
    memory.touch(device, at, block_bytes, Access::write, 0);
    BOOST_TEST(memory.resident_bytes(device) == block_bytes);
    BOOST_TEST(!memory.contains(at - 1));
    BOOST_TEST(memory.contains(at + block_bytes - 1));
    BOOST_TEST(!memory.contains(at + block_bytes));
}

BOOST_AUTO_TEST_SUITE_END()
