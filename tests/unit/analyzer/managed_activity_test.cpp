#include "analyzer/reader/plausible.hpp"
#include "managed_scenario.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_managed_activity)

using namespace umadvisor;
using namespace umadvisor::test;
using managed::BlockPlace;
using managed::ManagedSiteActivity;
using trace::Memory;
using trace::MigrationCause;
using Kind = trace::ManagedEventKind;

namespace {

std::uint64_t to_device(const ManagedSiteActivity& site) {
    return managed::sum_of(site.recorded.to_device);
}
std::uint64_t to_host(const ManagedSiteActivity& site) {
    return managed::sum_of(site.recorded.to_host);
}

managed::MoverShare share_of(const managed::KernelShares& shares, std::uint64_t function) {
    managed::MoverShare sum;
    for (const auto& [site, share] : shares.sites)
        if (site.function == function)
            sum.add(share);
    return sum;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(events_belong_to_the_allocation_at_their_address, Managed) {
    tell(all_kinds);
    const auto first_line = stack(), second_line = stack();
    const auto first = managed(4 * mib, first_line), second = managed(4 * mib, second_line);
    migrate(address_of(first), 2 * mib, device);
    migrate(address_of(first) + 2 * mib, 2 * mib, device, MigrationCause::prefetch);
    migrate(address_of(second) + 4 * mib - 4096, 4096, host);
    migrate(address_of(second) + 4 * mib, 8192, host); // behind its end
    fault(Kind::host_fault, address_of(second), 15);
    fault(Kind::device_fault, address_of(first), 3);
    const ManagedRead read(*this);
    const auto& one = read.site(first_line).recorded;
    BOOST_TEST(one.to_device[static_cast<std::size_t>(MigrationCause::coherence)] == 2 * mib);
    BOOST_TEST(one.to_device[static_cast<std::size_t>(MigrationCause::prefetch)] == 2 * mib);
    BOOST_TEST(managed::sum_of(one.device_faults) == 4u);
    BOOST_TEST(one.device_faults[static_cast<std::size_t>(trace::FaultAccess::write)] == 4u);
    const auto& two = read.site(second_line).recorded;
    BOOST_TEST(managed::sum_of(two.to_host) == 4096u);
    BOOST_TEST(managed::sum_of(two.to_device) == 0u);
    BOOST_TEST(managed::sum_of(two.host_faults) == 16u);
    BOOST_TEST(read.activity.unattributed().events == 1u);
    BOOST_TEST(managed::sum_of(read.activity.unattributed().to_host) == 8192u);
}

BOOST_FIXTURE_TEST_CASE(every_kind_is_added_up, Managed) {
    const auto line = stack(), memory = managed(4 * mib, line);
    const auto add = [&](Kind kind, std::uint64_t cause, std::uint64_t duration) {
        trace::ManagedEvent record{.kind = kind,
                                   .address = address_of(memory),
                                   .bytes = 65536,
                                   .to = device,
                                   .cause = cause,
                                   .duration = duration};
        event(record);
    };
    add(Kind::thrashing, 0, 0);
    add(Kind::throttling, 0, 500'000);
    add(Kind::throttling, 0, 250'000);
    add(Kind::remote_map, static_cast<std::uint64_t>(trace::RemoteMapCause::thrashing), 0);
    add(Kind::remote_map, 1234, 0); // newer than umadvisor
    add(Kind::read_duplicate, 0, 0);
    add(static_cast<Kind>(77), 0, 0);
    const ManagedRead read(*this);
    const auto& told = read.site(line).recorded;
    BOOST_TEST(told.thrashings == 1u);
    BOOST_TEST(told.thrashing_bytes == 65536u);
    BOOST_TEST(told.throttlings == 2u);
    BOOST_TEST(told.throttled_ticks == 750'000u);
    BOOST_TEST(told.remote_bytes[static_cast<std::size_t>(trace::RemoteMapCause::thrashing)] == 65536u);
    BOOST_TEST(told.remote_bytes[0] == 65536u);
    BOOST_TEST(told.read_duplicated_bytes == 65536u);
    BOOST_TEST(told.events == 7u);
}

BOOST_FIXTURE_TEST_CASE(late_events_belong_to_what_was_freed_before_its_address_came_back, Managed) {
    tell(all_kinds);
    const auto first_line = stack(), second_line = stack();
    const auto first = managed(4 * mib, first_line);
    const std::uint64_t in_first = now;
    now += ms;
    free(first);
    const std::uint64_t between = now;
    now += ms;
    allocate(4 * mib, Memory::managed, // the same addresses, another line
             {.stack = second_line, .id = 1000, .address = address_of(first)});
    now += 5 * ms;
    fault(Kind::host_fault, address_of(first)); // the drain thread is here already: the next two are late
    migrate(address_of(first), 65536, device, MigrationCause::coherence, in_first);
    migrate(address_of(first), 4096, device, MigrationCause::coherence, between);
    migrate(address_of(first), 8192, device);
    const ManagedRead read(*this);
    BOOST_TEST(to_device(read.site(first_line)) == 65536u);
    BOOST_TEST(to_device(read.site(second_line)) == 8192u);
    BOOST_TEST(read.activity.unattributed().events == 1u);
}

BOOST_FIXTURE_TEST_CASE(an_allocation_whose_free_was_lost_ends_where_the_next_begins, Managed) {
    const auto first_line = stack(), second_line = stack();
    const auto first = managed(4 * mib, first_line);
    const std::uint64_t before = now;
    now += ms;
    allocate(8 * mib, Memory::managed, {.stack = second_line, .id = 1000, .address = address_of(first) + mib});
    now += ms;
    migrate(address_of(first) + mib, 4096, device);
    migrate(address_of(first), 65536, device); // of what went lost: nobody's now
    migrate(address_of(first) + mib, 8192, device, MigrationCause::coherence, before);
    const ManagedRead read(*this);
    BOOST_TEST(to_device(read.site(second_line)) == 4096u);
    BOOST_TEST(to_device(read.site(first_line)) == 8192u);
    BOOST_TEST(read.activity.unattributed().events == 1u);
}

BOOST_FIXTURE_TEST_CASE(one_launch_that_reaches_the_memory_moved_it, Managed) {
    tell(all_kinds);
    const auto line = stack(), launch_line = stack();
    const auto memory = managed(4 * mib, line), other = managed(4 * mib, stack());
    const auto step = function("_Z4stepv"), idle = function("_Z4idlev"), later = function("_Z5laterv");
    launch(idle, {other});
    launch(step, {memory}, 0, launch_line);
    migrate(address_of(memory), 2 * mib, device, MigrationCause::coherence, now + ms / 2); // while we wait
    synchronize();
    fault(Kind::device_fault, address_of(memory)); // nothing runs any more
    now += 10;
    launch(later, {memory});
    fault(Kind::device_fault, address_of(memory), 4);
    const ManagedRead read(*this);
    const managed::KernelShares& kernels = read.site(line).kernels;
    BOOST_TEST(share_of(kernels, step).bytes == 2.0 * mib);
    BOOST_TEST(share_of(kernels, step).shared == 0.0);
    BOOST_TEST(share_of(kernels, step).faults == 0.0);
    BOOST_TEST(share_of(kernels, idle).bytes == 0.0);
    BOOST_TEST(share_of(kernels, later).faults == 5.0);
    BOOST_TEST(kernels.nobody.faults == 1.0);
    BOOST_TEST(kernels.sites.begin()->first.stack == launch_line);
}

BOOST_FIXTURE_TEST_CASE(several_launches_share_evenly_and_say_so, Managed) {
    tell(all_kinds);
    const auto line = stack(), memory = managed(4 * mib, line);
    const auto one = function("_Z3onev"), two = function("_Z3twov"), three = function("_Z5threev");
    launch(one, {memory});
    launch(two, {memory});
    launch(two, {memory}); // the same place once more is no further candidate
    migrate(address_of(memory), 2 * mib, device);
    now += 10;
    launch_unknown(three); // its parameters are not known: it may reach anything
    fault(Kind::device_fault, address_of(memory), 5);
    const ManagedRead read(*this);
    const managed::KernelShares& kernels = read.site(line).kernels;
    BOOST_TEST(share_of(kernels, one).bytes == 1.0 * mib);
    BOOST_TEST(share_of(kernels, two).bytes == 1.0 * mib);
    BOOST_TEST(share_of(kernels, three).bytes == 0.0);
    BOOST_TEST(share_of(kernels, one).faults == 2.0);
    BOOST_TEST(share_of(kernels, three).faults == 2.0);
    BOOST_TEST(share_of(kernels, one).shared == 1.0 * mib + 2);
}

BOOST_FIXTURE_TEST_CASE(an_event_waits_for_what_was_launched_before_it_in_its_stream, Managed) {
    tell(all_kinds);
    const auto line = stack(), memory = managed(4 * mib, line);
    const auto before = function("_Z6beforev"), after = function("_Z5afterv");
    launch(before, {memory});
    record_event(0xe);
    launch(after, {memory});
    synchronize({.kind = trace::SyncKind::event_query, .object = 0xe, .status = 600}); // not ready
    fault(Kind::device_fault, address_of(memory), 1);
    now += 10;
    synchronize({.kind = trace::SyncKind::event_query, .object = 0xe});
    fault(Kind::device_fault, address_of(memory), 9);
    const ManagedRead read(*this);
    const managed::KernelShares& kernels = read.site(line).kernels;
    BOOST_TEST(share_of(kernels, before).faults == 1.0);
    BOOST_TEST(share_of(kernels, after).faults == 11.0);
}

BOOST_FIXTURE_TEST_CASE(host_lines_take_back_what_they_fault_on, Managed) {
    tell(all_kinds);
    const auto line = stack(), memory = managed(8 * mib, line);
    const auto reads = stack(), writes = stack();
    fault(Kind::host_fault, address_of(memory), 0, reads);
    fault(Kind::host_fault, address_of(memory) + 2 * mib, 2, writes);
    migrate(address_of(memory) + 65536, 65536, host); // the same block as the first
    migrate(address_of(memory) + 2 * mib, 4096, host, MigrationCause::prefetch);
    migrate(address_of(memory) + 4 * mib, 8192, host); // nobody was seen there
    const ManagedRead read(*this);
    const auto& codes = read.site(line).host_codes;
    BOOST_TEST(codes.at(reads).faults == 1u);
    BOOST_TEST(codes.at(reads).bytes == 65536u);
    BOOST_TEST(codes.at(writes).faults == 3u);
    BOOST_TEST(codes.at(writes).bytes == 4096u);
    BOOST_TEST(codes.at(0).bytes == 8192u);
}

BOOST_FIXTURE_TEST_CASE(prefetches_and_evictions_have_their_own_causes, Managed) {
    tell(all_kinds);
    const auto line = stack(), memory = managed(8 * mib, line), other = managed(mib, stack());
    const auto kernel = function("_Z6kernelv");
    prefetch(memory, 4 * mib, trace::Location::device);
    prefetch(memory, 4 * mib, trace::Location::host, trace::Origin::umadvisor);
    migrate(address_of(memory), 2 * mib, device, MigrationCause::user);
    migrate(address_of(memory), 65536, host, MigrationCause::user);
    migrate(address_of(memory) + 6 * mib, 4096, device, MigrationCause::user); // no such call is known
    launch(kernel, {other});
    migrate(address_of(memory), mib, host, MigrationCause::eviction);
    const ManagedRead read(*this);
    const ManagedSiteActivity& site = read.site(line);
    BOOST_TEST(site.prefetches.size() == 3u);
    std::uint64_t program = 0, own = 0, unknown = 0;
    for (const auto& [call, moved] : site.prefetches)
        (call.entry == 0 ? unknown : call.by_umadvisor ? own : program) += moved.to_device + moved.to_host;
    BOOST_TEST(program == 2 * mib);
    BOOST_TEST(own == 65536u);
    BOOST_TEST(unknown == 4096u);
    BOOST_TEST(site.kernels.sites.empty());
    BOOST_TEST(share_of(site.evictors, kernel).bytes == 1.0 * mib);
    BOOST_TEST(site.host_codes.empty());
}

BOOST_AUTO_TEST_CASE(totals_tell_of_evictions_only_where_moves_are_not_told_one_by_one) {
    for (const std::uint64_t kinds : {light_kinds, all_kinds}) {
        Managed s;
        s.tell(kinds);
        s.counters(0, 0);
        const auto line = s.stack(), memory = s.managed(8 * mib, line);
        s.launch(s.function("_Z6kernelv"), {memory});
        s.counters(8 * mib, 4 * mib); // no host fault, no prefetch
        const ManagedRead read(s);
        const bool told = read.site(line).verdicts.kinds().contains(managed::VerdictKind::oversubscribed);
        BOOST_TEST(told == (kinds == light_kinds));
    }
}

BOOST_FIXTURE_TEST_CASE(blocks_remember_round_trips_and_where_they_are, Managed) {
    const auto line = stack(), memory = managed(8 * mib, line);
    const std::uint64_t begin = now;
    for (int round = 0; round < 3; ++round) {
        migrate(address_of(memory) + 2 * mib, 2 * mib, device);
        now += 10;
        migrate(address_of(memory) + 2 * mib, 4096, host);
        migrate(address_of(memory) + 2 * mib + 4096, 4096, host); // still the same way back
        now += 10;
    }
    migrate(address_of(memory) + 4 * mib, 4 * mib, device); // two blocks in one record
    trace::ManagedEvent both{
        .kind = Kind::read_duplicate, .address = address_of(memory) + 6 * mib, .bytes = 4096};
    event(both);
    const ManagedRead read(*this);
    const ManagedSiteActivity& site = read.site(line);
    BOOST_TEST(site.blocks_seen == 3u);
    BOOST_TEST(site.round_trips == 3u);
    BOOST_TEST_REQUIRE(site.blocks.size() == 3u);
    const managed::BlockOfAllocation& busiest = site.blocks[0];
    BOOST_TEST(number(busiest.allocation) == memory);
    BOOST_TEST(busiest.offset == 2 * mib);
    BOOST_TEST(busiest.bytes == 2 * mib);
    BOOST_TEST(busiest.activity.bytes_to_device == 6 * mib);
    BOOST_TEST(busiest.activity.bytes_to_host == 6 * 4096u);
    BOOST_TEST(busiest.activity.round_trips == 3u);
    BOOST_TEST((busiest.activity.place == BlockPlace::host));
    BOOST_TEST(busiest.activity.first_ticks == begin);
    BOOST_TEST(busiest.activity.last_ticks == begin + 50);
    BOOST_TEST((site.blocks[1].activity.place == BlockPlace::device));
    BOOST_TEST(site.blocks[1].activity.bytes_to_device == 2 * mib);
    BOOST_TEST((site.blocks[2].activity.place == BlockPlace::both));
}

BOOST_AUTO_TEST_CASE(blocks_grow_where_there_would_be_too_many) {
    managed::BlockBudget budget{.most = 8};
    trace::ManagedEvent event{.kind = Kind::migration, .bytes = 4096, .to = device};
    {
        managed::BlockHistory history(budget), other(budget);
        for (std::uint64_t i = 0; i < 1000; ++i)
            history.add(event, i * 2 * mib, i * 2 * mib + 4095);
        BOOST_TEST(history.blocks().size() <= 8u);
        BOOST_TEST(budget.used == history.blocks().size());
        BOOST_TEST(history.block_bytes() == 256 * mib);
        BOOST_TEST(budget.coarser == 1u);
        std::uint64_t bytes = 0;
        for (const auto& [number, block] : history.blocks())
            bytes += block.bytes_to_device;
        BOOST_TEST(bytes == 1000 * 4096u);
        for (std::uint64_t i = 0; i < 1000; ++i) // there is no room for more than one
            other.add(event, i * 1024 * mib, i * 1024 * mib + 4095);
        BOOST_TEST(other.blocks().size() <= 2u);
    }
    BOOST_TEST(budget.used == 0u);
}

/// The greatest numbers that are not refused when they are read (analyzer/reader/plausible.hpp).
BOOST_AUTO_TEST_CASE(hostile_numbers_do_no_harm) {
    constexpr std::uint64_t most = reader::most_bytes, end = UINT64_MAX - most;
    Managed s;
    s.tell(UINT64_MAX, reader::most_counted);
    s.tell(all_kinds, 5);
    const auto line = s.stack(), high_line = s.stack();
    const auto memory = s.managed(8 * mib, line);
    trace::Alloc high; // to the end of all addresses
    high.start = s.now;
    high.stack = high_line;
    high.allocation = trace::AllocationId{memory}; // a number that is taken
    high.address = end;
    high.bytes = most;
    high.memory = Memory::managed;
    s.builder.add(high);
    high.address = 1;
    high.bytes = 0;
    s.builder.add(high);
    high.address = 0; // as much as there is: all else ends here
    high.bytes = most;
    s.now += 10;
    for (const std::uint64_t address : {address_of(memory), end, std::uint64_t{0}, end - 4000})
        for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, most, most})
            for (int kind = 0; kind < 12; ++kind)
                for (const std::uint64_t to : {host, device, std::uint64_t{UINT32_MAX}}) {
                    trace::ManagedEvent event{.start = s.now,
                                              .kind = static_cast<Kind>(kind),
                                              .address = address,
                                              .bytes = bytes,
                                              .to = to,
                                              .cause = bytes,
                                              .count = std::min(bytes, reader::most_counted),
                                              .duration = bytes,
                                              .code = bytes};
                    s.event(event);
                }
    s.now += 10;
    high.start = s.now;
    s.builder.add(high);
    s.now += 10;
    s.migrate(0, most, device);
    s.migrate(5, 5, host);
    trace::Prefetch prefetch{.address = 5, .bytes = most, .allocation = trace::AllocationId{memory}};
    prefetch.start = s.now;
    s.builder.add(prefetch);
    s.migrate(end, most, device, MigrationCause::user);
    s.counters(UINT64_MAX, UINT64_MAX);
    s.counters(0, 5);
    s.free(memory);
    s.free(memory);
    const ManagedRead read(s);
    BOOST_TEST(read.activity.totals().lost() == reader::most_counted + 5);
    BOOST_TEST(read.activity.totals().exact()->bytes_to_device == UINT64_MAX);
    BOOST_TEST(to_device(read.site(line)) == 4 * most + 2);
    BOOST_TEST(to_host(read.site(line)) == 2 * most + 1);
    BOOST_TEST(read.activity.account().moved(read.site(high_line)).to_device > UINT64_MAX / 32);
    BOOST_TEST(read.activity.block_budget().used <= 3 * 1024u);
    // Those at address 0 and those before the last allocation.
    BOOST_TEST(read.activity.unattributed().events == 2 * 4 * 12 * 3u);
}

BOOST_FIXTURE_TEST_CASE(memory_is_bounded_by_what_lives, Managed) {
    tell(all_kinds);
    const auto line = stack();
    for (std::uint64_t i = 0; i < 6000; ++i) {
        if (i % 500 == 0) {
            builder.next_chunk();
            builder.next_chunk(drain);
        }
        const auto memory = managed(4 * mib, line);
        migrate(address_of(memory), 4 * mib, device);
        now += 10;
        free(memory);
    }
    const ManagedRead read(*this);
    BOOST_TEST(read.activity.sites().size() == 1u);
    BOOST_TEST(to_device(read.site(line)) == 6000 * 4 * mib);
    BOOST_TEST(read.activity.block_budget().used == 2 * managed::ManagedRanges::most_freed);
    BOOST_TEST(read.site(line).blocks_seen == 12'000u);
    BOOST_TEST(read.site(line).blocks.size() == ManagedSiteActivity::most_blocks);
}

BOOST_AUTO_TEST_SUITE_END()
