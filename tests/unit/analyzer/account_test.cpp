/// How many bytes moved of which memory: by events, by the driver's totals, by where it was seen.
#include "managed_scenario.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_account)

using namespace umadvisor;
using namespace umadvisor::test;
using managed::MovedBasis;

BOOST_FIXTURE_TEST_CASE(bytes_are_counted_where_all_was_told, Managed) {
    tell(all_kinds);
    counters(0, 0);
    const auto line = stack(), memory = managed(8 * mib, line);
    migrate(address_of(memory), 2 * mib, device);
    now += 100;
    counters(3 * mib, 0); // the rest is on its way
    const ManagedRead read(*this);
    BOOST_TEST((read.basis(line) == MovedBasis::counted));
    BOOST_TEST(read.moved(line).to_device == 2 * mib);
    BOOST_TEST(read.activity.totals().recorded_share() == 2.0 / 3, boost::test_tools::tolerance(1e-9));
}

BOOST_FIXTURE_TEST_CASE(of_what_was_recorded_in_part_the_rest_is_not_assigned, Managed) {
    counters(0, 0);
    const auto line = stack(), other_line = stack();
    const auto memory = managed(16 * mib, line), other = managed(16 * mib, other_line);
    const auto kernel = function("_Z6kernelv");
    launch(kernel, {memory, other});
    tell(all_kinds);
    now += 10;
    migrate(address_of(memory), 3 * mib, device);
    migrate(address_of(other), mib, device);
    now += 10;
    counters(4 * mib, 0);
    tell(light_kinds);
    now += 10;
    counters(16 * mib, 0);
    const ManagedRead read(*this);
    BOOST_TEST((read.basis(line) == MovedBasis::at_least));
    BOOST_TEST(read.moved(line).to_device == 3 * mib);
    BOOST_TEST(read.moved(other_line).to_device == mib);
    BOOST_TEST(read.activity.totals().recorded_share() == 0.25);
    BOOST_TEST(read.unassigned().to_device == 12 * mib);
}

BOOST_FIXTURE_TEST_CASE(the_totals_have_what_lost_events_do_not_say, Managed) {
    tell(all_kinds);
    counters(0, 0);
    const auto line = stack(), memory = managed(8 * mib, line);
    migrate(address_of(memory), mib, host);
    now += 10;
    counters(0, 2 * mib);
    tell(all_kinds, 17);
    const ManagedRead read(*this);
    BOOST_TEST(read.activity.totals().lost() == 17u);
    BOOST_TEST((read.basis(line) == MovedBasis::launches));
    BOOST_TEST(read.moved(line).to_host == 2 * mib);
}

BOOST_FIXTURE_TEST_CASE(counters_alone_are_given_to_the_only_memory_that_launches_reached, Managed) {
    tell(light_kinds);
    counters(0, 0);
    const auto line = stack(), other_line = stack();
    const auto memory = managed(64 * mib, line), other = managed(64 * mib, other_line);
    const auto kernel = function("_Z6kernelv");
    launch(kernel, {memory});
    counters(mib, 0); // it alone
    now += 10;
    counters(3 * mib, 512); // it still runs
    launch(kernel, {other});
    counters(7 * mib, 512); // either
    synchronize();
    counters(8 * mib, 512);  // either: until the synchronisation both ran
    counters(16 * mib, 512); // nobody
    prefetch(other, mib, trace::Location::device);
    counters(17 * mib, 512);
    const ManagedRead read(*this);
    const auto moved = read.moved(line);
    BOOST_TEST((read.basis(line) == MovedBasis::launches));
    BOOST_TEST(moved.to_device == 3 * mib);
    BOOST_TEST(moved.to_host == 512u);
    BOOST_TEST(read.site(line).kernels.sites.begin()->second.bytes == 3.0 * mib);
    BOOST_TEST(read.moved(other_line).to_device == mib);
    BOOST_TEST(read.unassigned().to_device == 13 * mib);
    BOOST_TEST(read.unassigned().to_host == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_launch_of_unknown_reach_leaves_counters_to_nobody, Managed) {
    counters(0, 0);
    const auto line = stack(), memory = managed(8 * mib, line);
    launch(function("_Z6kernelv"), {memory});
    launch_unknown();
    counters(mib, 0);
    counters(2 * mib, 0);
    const ManagedRead read(*this);
    BOOST_TEST((read.basis(line) == MovedBasis::none));
    BOOST_TEST(read.unassigned().to_device == 2 * mib);
}

/// Two arrays of 8 and 4 MiB that a kernel takes and of which the host takes back the first, round by round.
struct Rounds : Managed {
    const std::uint64_t large_line = stack(), small_line = stack();
    const std::uint64_t large = managed(8 * mib, large_line), small = managed(4 * mib, small_line);

    void round(bool first, bool told = false) {
        if (told && !first)
            fault(trace::ManagedEventKind::host_fault, address_of(large));
        now += 100;
        residency(large, 8 * mib, 8 * mib, trace::SampleMoment::before_launch);
        residency(small, 4 * mib, first ? 4 * mib : 0, trace::SampleMoment::before_launch);
        launch(function("_Z6kernelv"), {large, small});
        synchronize();
        residency(large, 8 * mib, 0, trace::SampleMoment::after_synchronize);
        residency(small, 4 * mib, 0, trace::SampleMoment::after_synchronize);
    }
};

BOOST_FIXTURE_TEST_CASE(without_totals_bytes_are_those_that_were_seen_to_have_gone_and_come, Rounds) {
    for (int i = 0; i < 4; ++i)
        round(i == 0);
    const ManagedRead read(*this);
    BOOST_TEST((read.basis(large_line) == MovedBasis::stays));
    BOOST_TEST(read.moved(large_line).to_device == 32 * mib);
    BOOST_TEST(read.moved(large_line).to_host == 24 * mib);
    BOOST_TEST(read.moved(small_line).to_device == 4 * mib);
    BOOST_TEST(read.moved(small_line).to_host == 0u);
}

BOOST_AUTO_TEST_CASE(totals_are_shared_round_by_round) {
    Rounds s;
    s.tell(light_kinds);
    s.counters(0, 0);
    managed::MovedBytes sum;
    for (int i = 0; i < 4; ++i) {
        if (i != 0) {
            s.fault(trace::ManagedEventKind::host_fault, address_of(s.large), 24);
            sum.to_host += 8 * mib;
        }
        s.now += 10;
        s.counters(sum.to_device, sum.to_host);
        s.round(i == 0);
        sum.to_device += i == 0 ? 12 * mib : 8 * mib;
        s.counters(sum.to_device, sum.to_host);
    }
    const ManagedRead read(s);
    BOOST_TEST((read.basis(s.large_line) == MovedBasis::stays));
    BOOST_TEST(read.moved(s.large_line).to_device == 32 * mib);
    BOOST_TEST(read.moved(s.large_line).to_host == 24 * mib);
    BOOST_TEST(read.moved(s.small_line).to_device == 4 * mib);
    BOOST_TEST(read.moved(s.small_line).to_host == 0u);
    BOOST_TEST(!read.unassigned().any());
}

/// One reading after four rounds. Stays say how it is shared where they add up to nearly as much.
BOOST_AUTO_TEST_CASE(what_was_seen_is_brought_to_totals_that_it_comes_near) {
    Rounds s;
    s.tell(light_kinds);
    s.counters(0, 0);
    for (int i = 0; i < 4; ++i)
        s.round(i == 0, true);
    s.counters(40 * mib, 24 * mib); // 36 and 24 were seen
    const ManagedRead read(s);
    BOOST_TEST((read.basis(s.large_line) == MovedBasis::stays));
    const std::uint64_t large = read.moved(s.large_line).to_device, small = read.moved(s.small_line).to_device;
    BOOST_TEST(large + small > 40 * mib - 4);
    BOOST_TEST(large + small <= 40 * mib);
    BOOST_TEST(large / small == 8u);
    BOOST_TEST(read.unassigned().to_device == 0u);
}

BOOST_FIXTURE_TEST_CASE(what_may_be_either_memory_is_not_assigned, Rounds) {
    tell(light_kinds);
    counters(0, 0);
    for (int i = 0; i < 4; ++i)
        round(i == 0, true);
    counters(72 * mib, 24 * mib);
    const ManagedRead read(*this);
    BOOST_TEST((read.basis(large_line) == MovedBasis::at_least));
    const std::uint64_t to_large = read.moved(large_line).to_device,
                        to_small = read.moved(small_line).to_device;
    BOOST_TEST(to_large <= 32 * mib);
    BOOST_TEST(to_small <= 4 * mib);
    BOOST_TEST(to_large + to_small + read.unassigned().to_device == 72 * mib);
}

BOOST_AUTO_TEST_SUITE_END()
