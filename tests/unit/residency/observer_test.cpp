// What the model tells its observer, and when.
#include "tests/unit/residency/fixture.hpp"

BOOST_AUTO_TEST_SUITE(observer)

using namespace umadvisor::residency;

namespace {
constexpr Nanoseconds start = 5'000'000;
constexpr ProcessorSet both = set_of(host_processor) | set_of(device);

template <class Event>
std::uint64_t total(const std::vector<Event>& events) {
    std::uint64_t bytes = 0;
    for (const Event& event : events)
        bytes += event.bytes;
    return bytes;
}
} // namespace

BOOST_FIXTURE_TEST_CASE(a_host_fault_is_told_at_the_page, Fixture) {
    touch(host_processor, 3 * page_bytes + 5, 1, Access::read, start);
    BOOST_REQUIRE(recorder.host_faults.size() == 1u);
    BOOST_TEST(recorder.host_faults[0].address == base + 3 * page_bytes);
    BOOST_TEST(recorder.host_faults[0].time == start);
    BOOST_TEST((recorder.host_faults[0].access == Access::read));
}

BOOST_FIXTURE_TEST_CASE(device_faults_are_told_by_the_granule, Fixture) {
    touch(host_processor, 0, bytes);
    touch(device, granule_bytes + page_bytes, 2 * granule_bytes, Access::write, start);
    BOOST_REQUIRE(recorder.device_faults.size() == 3u);
    for (std::size_t index = 0; index < 3; ++index) {
        const DeviceFault& fault = recorder.device_faults[index];
        BOOST_TEST(fault.address == base + (index + 1) * granule_bytes);
        BOOST_TEST(fault.who == device);
        BOOST_TEST(fault.group == 1u);
        BOOST_TEST(fault.time == start);
        BOOST_TEST(!fault.mapped);
    }
}

BOOST_FIXTURE_TEST_CASE(blocks_fault_one_after_the_other, Fixture) {
    touch(host_processor, 0, bytes);
    touch(device, block_bytes - granule_bytes, 2 * granule_bytes, Access::read, start);
    BOOST_REQUIRE(recorder.device_faults.size() == 2u);
    BOOST_TEST(recorder.device_faults[1].group == 2u);
    BOOST_TEST(recorder.device_faults[1].time == recorder.migrations[0].end);
}

BOOST_FIXTURE_TEST_CASE(a_migration_follows_its_fault_and_lasts_as_long_as_it_costs, Fixture) {
    touch(host_processor, 0, bytes);
    const Cost cost = touch(device, 0, granule_bytes, Access::read, start);
    const Migration& migration = recorder.migrations.at(0);
    BOOST_TEST(migration.begin == start + memory.prices().device_fault_group);
    BOOST_TEST(migration.end == start + cost.time);
}

BOOST_FIXTURE_TEST_CASE(runs_of_a_prefetch_follow_each_other, Fixture) {
    touch(host_processor, 0, granule_bytes);
    touch(host_processor, 4 * granule_bytes, granule_bytes);
    const Cost cost = memory.prefetch(device, base, block_bytes, start);
    BOOST_REQUIRE(recorder.migrations.size() == 2u);
    BOOST_TEST(recorder.migrations[0].end == recorder.migrations[1].begin);
    BOOST_TEST(recorder.migrations[1].end == start + cost.time);
    BOOST_TEST((recorder.migrations[1].cause == MigrationCause::user));
}

BOOST_FIXTURE_TEST_CASE(room_is_made_before_the_move, Fixture) {
    memory.set_capacity(device, block_bytes);
    touch(device, 0, block_bytes);
    touch(host_processor, block_bytes, block_bytes);
    touch(device, block_bytes, block_bytes, Access::read, start);
    BOOST_REQUIRE(recorder.migrations.size() == 2u);
    BOOST_TEST((recorder.migrations[0].cause == MigrationCause::eviction));
    BOOST_TEST(recorder.migrations[0].begin == start + memory.prices().device_fault_group);
    BOOST_TEST(recorder.migrations[1].begin == recorder.migrations[0].end);
}

BOOST_FIXTURE_TEST_CASE(thrashing_names_who_fights_and_throttling_who_waits, Fixture) {
    touch(host_processor, 0, 1);
    for (unsigned index = 0; index < 7; ++index)
        touch(index % 2 ? host_processor : device, 0, 1, Access::write, start + index * 100'000);
    BOOST_REQUIRE(recorder.thrashings.size() == 1u);
    BOOST_TEST(recorder.thrashings[0].address == base);
    BOOST_TEST(recorder.thrashings[0].processors == both);
    BOOST_REQUIRE(recorder.waits.size() == 1u);
    BOOST_TEST(recorder.waits[0].who == device);
    BOOST_TEST(recorder.waits[0].address == base);
    BOOST_TEST(recorder.waits[0].begin == start + 600'000);
    // The nap began when the host, which went free, had its fault.
    BOOST_TEST(recorder.waits[0].end == start + 500'000 + ThrashingParameters().nap);
}

BOOST_AUTO_TEST_CASE(a_pinned_page_is_mapped_for_its_thrashing) {
    Recorder recorder;
    Parameters parameters;
    parameters.thrashing.lapse = 600'000; // longer than a nap: a wait does not bring it to rest
    AddressSpace memory{Prices(), parameters, &recorder};
    memory.add_range(base, block_bytes);
    Nanoseconds now = start;
    for (unsigned index = 0; index < 40; ++index)
        now += memory.touch(index % 2 ? host_processor : device, base, 1, Access::write, now).time;
    BOOST_REQUIRE(!recorder.remote.empty());
    BOOST_TEST((recorder.remote[0].cause == RemoteMapping::Cause::thrashing));
    BOOST_TEST(recorder.remote[0].who == device);
    BOOST_TEST(recorder.remote[0].holder == host_processor);
    BOOST_TEST(total(recorder.remote) == memory.counters().bytes_remote_mapped);
}

BOOST_FIXTURE_TEST_CASE(advice_maps_once, Fixture) {
    touch(host_processor, 0, block_bytes);
    memory.advise(Advice::set_accessed_by, device, base, bytes, start);
    memory.advise(Advice::set_accessed_by, device, base, bytes, start);
    BOOST_REQUIRE(recorder.remote.size() == 1u);
    BOOST_TEST((recorder.remote[0].cause == RemoteMapping::Cause::advice));
    BOOST_TEST(recorder.remote[0].bytes == block_bytes);
    BOOST_TEST(recorder.remote[0].time == start);
    touch(host_processor, block_bytes, granule_bytes);
    BOOST_TEST(total(recorder.remote) == block_bytes + granule_bytes);
}

BOOST_FIXTURE_TEST_CASE(preferring_the_host_maps_by_advice, Fixture) {
    touch(host_processor, 0, block_bytes);
    memory.advise(Advice::set_preferred_location, host_processor, base, bytes);
    touch(device, 0, granule_bytes);
    BOOST_REQUIRE(recorder.remote.size() == 1u);
    BOOST_TEST((recorder.remote[0].cause == RemoteMapping::Cause::advice));
}

BOOST_FIXTURE_TEST_CASE(duplicates_name_their_holders, Fixture) {
    constexpr Processor second = device_processor(1);
    touch(host_processor, 0, block_bytes);
    memory.advise(Advice::set_read_mostly, 0, base, bytes);
    memory.prefetch(device, base, granule_bytes, start);
    BOOST_TEST(recorder.duplicates.at(0).holders == both);
    memory.prefetch(second, base, 2 * granule_bytes, start);
    BOOST_REQUIRE(recorder.duplicates.size() == 3u);
    BOOST_TEST(recorder.duplicates[1].holders == (both | set_of(second)));
    BOOST_TEST(recorder.duplicates[1].bytes == granule_bytes);
    BOOST_TEST(recorder.duplicates[2].holders == (set_of(host_processor) | set_of(second)));
    BOOST_TEST(recorder.duplicates[2].address == base + granule_bytes);
}

BOOST_FIXTURE_TEST_CASE(a_write_ends_duplicates_at_the_writer, Fixture) {
    touch(host_processor, 0, block_bytes);
    memory.advise(Advice::set_read_mostly, 0, base, bytes);
    memory.prefetch(device, base, block_bytes, 0);
    touch(device, 0, granule_bytes, Access::write, start);
    BOOST_TEST(recorder.device_faults.at(0).mapped);
    BOOST_REQUIRE(recorder.duplicate_ends.size() == 1u);
    BOOST_TEST(recorder.duplicate_ends[0].bytes == granule_bytes);
    BOOST_TEST(recorder.duplicate_ends[0].holder == device);
    BOOST_TEST(recorder.duplicate_ends[0].time == start);
}

BOOST_FIXTURE_TEST_CASE(a_third_writer_ends_them_too, Fixture) {
    touch(host_processor, 0, block_bytes);
    memory.advise(Advice::set_read_mostly, 0, base, bytes);
    memory.prefetch(device, base, granule_bytes, 0);
    touch(device_processor(1), 0, granule_bytes, Access::write, start);
    BOOST_REQUIRE(recorder.duplicate_ends.size() == 1u);
    BOOST_TEST(recorder.duplicate_ends[0].holder == device_processor(1));
}

BOOST_FIXTURE_TEST_CASE(unset_read_mostly_and_eviction_end_them, Fixture) {
    memory.set_capacity(device, block_bytes);
    touch(host_processor, 0, 2 * block_bytes);
    memory.advise(Advice::set_read_mostly, 0, base, bytes);
    memory.prefetch(device, base, block_bytes, 0);
    memory.prefetch(device, base + block_bytes, block_bytes, 0);
    BOOST_TEST(total(recorder.duplicate_ends) == block_bytes);
    BOOST_TEST(recorder.duplicate_ends.at(0).holder == host_processor);
    memory.advise(Advice::unset_read_mostly, 0, base, bytes, start);
    BOOST_TEST(total(recorder.duplicate_ends) == 2 * block_bytes);
    BOOST_TEST(recorder.duplicate_ends.at(1).time == start);
}

BOOST_AUTO_TEST_SUITE_END()
