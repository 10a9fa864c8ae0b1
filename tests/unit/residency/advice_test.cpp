#include "tests/unit/residency/fixture.hpp"

BOOST_AUTO_TEST_SUITE(advice)

using namespace umadvisor::residency;

BOOST_FIXTURE_TEST_CASE(read_mostly_duplicates_on_read, Fixture) {
    touch(host_processor, 0, block_bytes);
    memory.advise(Advice::set_read_mostly, 0, base, bytes);
    touch(device, 0, block_bytes, Access::read);
    BOOST_TEST(resident(host_processor) == block_bytes);
    BOOST_TEST(resident(device) == block_bytes);
    BOOST_TEST(memory.counters().bytes_read_duplicated == block_bytes);
    BOOST_TEST(recorder.lost == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_host_write_to_a_duplicated_page_is_a_fault, Fixture) {
    touch(host_processor, 0, block_bytes);
    memory.advise(Advice::set_read_mostly, 0, base, bytes);
    touch(device, 0, block_bytes, Access::read);
    BOOST_TEST(recorder.write_protected == block_bytes);
    const auto faults = memory.counters().host_faults;
    touch(host_processor, 0, page_bytes, Access::write);
    BOOST_TEST(memory.counters().host_faults == faults + 1);
    BOOST_TEST(resident(device) == block_bytes - page_bytes);
    touch(host_processor, 0, page_bytes, Access::write);
    BOOST_TEST(memory.counters().host_faults == faults + 1);
}

BOOST_FIXTURE_TEST_CASE(a_write_ends_the_duplicates, Fixture) {
    touch(host_processor, 0, block_bytes);
    memory.advise(Advice::set_read_mostly, 0, base, bytes);
    touch(device, 0, block_bytes, Access::read);
    touch(device, 0, granule_bytes, Access::write);
    BOOST_TEST(resident(host_processor) == block_bytes - granule_bytes);
    BOOST_TEST(resident(device) == block_bytes);
}

BOOST_FIXTURE_TEST_CASE(preferring_the_host_maps_the_device_remotely, Fixture) {
    touch(host_processor, 0, block_bytes);
    memory.advise(Advice::set_preferred_location, host_processor, base, bytes);
    const Cost cost = touch(device, 0, block_bytes);
    BOOST_TEST(resident(host_processor) == block_bytes);
    BOOST_TEST(resident(device) == 0u);
    BOOST_TEST(cost.remote_bytes == block_bytes);
    BOOST_TEST(touch(device, 0, block_bytes).time == 0u);
    BOOST_TEST(memory.counters().device_fault_groups == 1u);
}

BOOST_FIXTURE_TEST_CASE(accessed_by_maps_before_the_first_fault, Fixture) {
    touch(host_processor, 0, block_bytes);
    memory.advise(Advice::set_accessed_by, device, base, bytes);
    touch(device, 0, block_bytes);
    BOOST_TEST(memory.counters().device_fault_groups == 0u);
    BOOST_TEST(resident(host_processor) == block_bytes);
}

BOOST_FIXTURE_TEST_CASE(unset_accessed_by_ends_the_mapping, Fixture) {
    touch(host_processor, 0, block_bytes);
    memory.advise(Advice::set_accessed_by, device, base, bytes);
    memory.advise(Advice::unset_accessed_by, device, base, bytes);
    touch(device, 0, block_bytes);
    BOOST_TEST(resident(device) == block_bytes);
}

BOOST_FIXTURE_TEST_CASE(first_touch_at_the_preferred_location_populates_the_block, Fixture) {
    memory.advise(Advice::set_preferred_location, device, base, bytes);
    touch(device, 0, 1);
    BOOST_TEST(resident(device) == block_bytes);
}

BOOST_FIXTURE_TEST_CASE(nothing_is_prefetched_out_of_a_preferred_location, Fixture) {
    memory.prefetch(device, base, bytes, 0);
    memory.advise(Advice::set_preferred_location, device, base, bytes);
    for (unsigned granule = 0; granule < 3; ++granule)
        touch(host_processor, granule * granule_bytes, 1);
    BOOST_TEST(resident(host_processor) == 3 * granule_bytes);
}

BOOST_AUTO_TEST_SUITE_END()
