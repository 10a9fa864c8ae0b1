/// Whose memory moved, from one reading of the driver's totals to the next.
#include "managed_scenario.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_move_ledger)

using namespace umadvisor;
using namespace umadvisor::test;
using managed::MovedBasis;
using managed::MovedBytes;

constexpr std::uint64_t page = 4 * kib, granule = 64 * kib;

/// A program whose memory the driver's totals are told of, and its host faults, but no moves.
struct Counted : Managed {
    std::uint64_t kernel = function("_Z6kernelv");
    MovedBytes sum;

    Counted() {
        tell(light_kinds);
        counters(0, 0);
    }
    void host_faults(std::uint64_t memory, std::uint64_t count) {
        now += 10;
        fault(trace::ManagedEventKind::host_fault, address_of(memory), count - 1);
        now += 10;
    }
    void moved(std::uint64_t to_device, std::uint64_t to_host) {
        sum.to_device += to_device;
        sum.to_host += to_host;
        now += 10;
        counters(sum.to_device, sum.to_host);
    }
    void before(std::uint64_t memory, std::uint64_t bytes, std::uint64_t on_host) {
        residency(memory, bytes, on_host, trace::SampleMoment::before_launch);
    }
    void after(std::uint64_t memory, std::uint64_t bytes, std::uint64_t on_host) {
        residency(memory, bytes, on_host, trace::SampleMoment::after_synchronize);
    }
    /// A kernel runs, and so much comes to the device for it.
    void run(std::initializer_list<std::uint64_t> memories, std::uint64_t to_device) {
        launch(kernel, memories);
        synchronize();
        moved(to_device, 0);
    }
};

void check(const ManagedRead& read, std::uint64_t line, std::uint64_t to_device, std::uint64_t to_host) {
    const MovedBytes moved = read.moved(line);
    BOOST_TEST(moved.to_device == to_device);
    BOOST_TEST(moved.to_host == to_host);
}

/// The kernel's only parameter is a table of pointers; the host takes one of the arrays back in each round.
BOOST_FIXTURE_TEST_CASE(what_a_table_points_to_moves_and_not_the_table, Counted) {
    const auto table_line = stack(), line = stack(), other_line = stack();
    const auto table = managed(256, table_line), memory = managed(8 * mib, line),
               other = managed(8 * mib, other_line);
    for (const auto each : {table, memory, other})
        host_faults(each, each == table ? 1 : 24);
    moved(0, 0);
    before(table, page, page);
    run({table}, 16 * mib + granule);
    after(table, page, 0);
    for (int round = 0; round < 3; ++round) {
        host_faults(memory, 24);
        moved(0, 8 * mib);
        before(table, page, 0);
        run({table}, 8 * mib);
        after(table, page, 0);
    }
    const ManagedRead read(*this);
    BOOST_TEST((read.basis(line) == MovedBasis::stays));
    check(read, table_line, granule, 0);
    check(read, line, 32 * mib, 24 * mib);
    check(read, other_line, 8 * mib, 0);
    BOOST_TEST(read.unassigned().to_device == 0u);
}

/// Nothing tells it apart from memory of another line that lies on the host, too.
BOOST_FIXTURE_TEST_CASE(a_part_of_what_may_be_pointed_to_is_given_to_nobody, Counted) {
    const auto table_line = stack(), line = stack();
    const auto table = managed(256, table_line), memory = managed(8 * mib, line),
               other = managed(8 * mib, stack());
    for (const auto each : {table, memory, other})
        host_faults(each, each == table ? 1 : 24);
    moved(0, 0);
    before(table, page, page);
    run({table}, 8 * mib);
    after(table, page, 0);
    const ManagedRead read(*this);
    BOOST_TEST((read.basis(line) == MovedBasis::none));
    BOOST_TEST(read.moved(line).to_device == 0u);
}

/// What moves along with a small array is the small array's, and no part of it a large one's that stays.
BOOST_FIXTURE_TEST_CASE(small_memory_is_given_what_moved_with_it, Counted) {
    const auto large_line = stack(), small_line = stack();
    const auto large = managed(16 * mib, large_line), small = managed(264 * kib, small_line);
    host_faults(large, 40);
    moved(0, 0);
    before(large, 16 * mib, 16 * mib);
    before(small, 264 * kib, 0);
    run({large, small}, 16 * mib);
    for (int round = 0; round < 20; ++round) {
        after(large, 16 * mib, 0);
        after(small, 264 * kib, 0);
        host_faults(small, 4);
        moved(0, 512 * kib);
        before(large, 16 * mib, 0);
        before(small, 264 * kib, 264 * kib);
        run({large, small}, 512 * kib);
    }
    after(large, 16 * mib, 0);
    after(small, 264 * kib, 0);
    const ManagedRead read(*this);
    check(read, large_line, 16 * mib, 0);
    check(read, small_line, 10 * mib, 10 * mib);
}

/// Of two arrays that share a granule and move together only the last has something behind it.
BOOST_FIXTURE_TEST_CASE(memory_ends_where_its_neighbour_begins, Counted) {
    const auto large_line = stack(), line = stack(), neighbour_line = stack();
    const auto large = managed(16 * mib, large_line), memory = managed(128, line);
    constexpr std::uint64_t neighbour_bytes = 48 * page;
    const std::uint64_t neighbour =
        allocate(neighbour_bytes, trace::Memory::managed,
                 {.stack = neighbour_line, .id = 900, .address = address_of(memory) + page});
    now += 10;
    host_faults(large, 40);
    host_faults(memory, 1);
    for (int round = 0; round < 10; ++round) {
        fault(trace::ManagedEventKind::host_fault, address_of(memory) + page);
        host_faults(memory, 1);
        moved(0, round == 0 ? 0 : 4 * granule);
        before(large, 16 * mib, round == 0 ? 16 * mib : 0);
        before(memory, page, page);
        before(neighbour, neighbour_bytes, neighbour_bytes);
        run({large, memory, neighbour}, (round == 0 ? 16 * mib : 0) + 4 * granule);
        after(large, 16 * mib, 0);
        after(memory, page, 0);
        after(neighbour, neighbour_bytes, 0);
    }
    const ManagedRead read(*this);
    check(read, large_line, 16 * mib, 0);
    check(read, line, 10 * page, 9 * page);
    check(read, neighbour_line, 10 * (4 * granule - page), 9 * (4 * granule - page));
}

/// The driver tells a move when it notices its end, which may be long after the totals had it.
BOOST_FIXTURE_TEST_CASE(a_move_that_is_told_late_is_counted_once, Counted) {
    const auto line = stack(), memory = managed(64 * mib, line);
    host_faults(memory, 100);
    moved(0, 0);
    before(memory, 64 * mib, 64 * mib);
    const std::uint64_t launched = now + 1;
    run({memory}, 32 * mib);
    after(memory, 64 * mib, 32 * mib);
    now += 100'000'000;
    run({memory}, 32 * mib);
    after(memory, 64 * mib, 0);
    tell(all_kinds);
    now += 10;
    migrate(address_of(memory), 32 * mib, device, trace::MigrationCause::coherence, launched);
    tell(light_kinds);
    const ManagedRead read(*this);
    check(read, line, 64 * mib, 0);
}

/// An event may stand just before the reading that has its bytes for the first time.
BOOST_FIXTURE_TEST_CASE(a_move_that_is_told_before_its_total_is_counted_once, Counted) {
    const auto line = stack(), memory = managed(64 * mib, line), other = managed(64 * mib, stack());
    host_faults(memory, 100);
    host_faults(other, 100);
    moved(0, 0);
    before(memory, 64 * mib, 64 * mib);
    before(other, 64 * mib, 64 * mib);
    tell(all_kinds);
    launch(kernel, {memory, other});
    migrate(address_of(memory), 2 * mib, device);
    moved(mib, 0);
    tell(light_kinds);
    synchronize();
    moved(127 * mib, 0);
    after(memory, 64 * mib, 0);
    after(other, 64 * mib, 0);
    const ManagedRead read(*this);
    check(read, line, 64 * mib, 0);
}

/// Nobody on the host asked for what came there while other memory went to the device.
BOOST_FIXTURE_TEST_CASE(what_had_to_make_room_is_what_lay_there, Counted) {
    const auto line = stack(), other_line = stack();
    const auto memory = managed(64 * mib, line), other = managed(64 * mib, other_line);
    host_faults(memory, 100);
    host_faults(other, 100);
    moved(0, 0);
    before(memory, 64 * mib, 64 * mib);
    run({memory}, 64 * mib);
    after(memory, 64 * mib, 0);
    before(other, 64 * mib, 64 * mib);
    launch(kernel, {other});
    synchronize();
    moved(64 * mib, 16 * mib);
    after(other, 64 * mib, 0);
    const ManagedRead read(*this);
    check(read, line, 64 * mib, 16 * mib);
    check(read, other_line, 64 * mib, 0);
}

/// Both sides have a copy: it goes over again though it never came back.
BOOST_FIXTURE_TEST_CASE(copies_of_what_is_read_mostly_leave_it_on_the_host, Counted) {
    const auto line = stack(), memory = managed(8 * mib, line);
    trace::Advise advice{
        .address = address_of(memory), .bytes = 8 * mib, .allocation = trace::AllocationId{memory}};
    advice.start = now;
    advice.advice = 1; // CU_MEM_ADVISE_SET_READ_MOSTLY
    builder.add(advice);
    now += 10;
    host_faults(memory, 24);
    moved(0, 0);
    for (int round = 0; round < 3; ++round)
        run({memory}, 8 * mib);
    const ManagedRead read(*this);
    check(read, line, 24 * mib, 0);
}

/// Freed memory takes no part in what moves later.
BOOST_FIXTURE_TEST_CASE(freed_memory_is_forgotten, Counted) {
    const auto line = stack(), other_line = stack(), table_line = stack();
    const auto table = managed(256, table_line), memory = managed(8 * mib, line);
    host_faults(memory, 24);
    host_faults(table, 1);
    moved(0, 0);
    free(memory);
    const auto other = managed(8 * mib, other_line);
    host_faults(other, 24);
    moved(0, 0);
    before(table, page, page);
    run({table}, 8 * mib + granule);
    after(table, page, 0);
    const ManagedRead read(*this);
    check(read, other_line, 8 * mib, 0);
    check(read, line, 0, 0);
}

BOOST_AUTO_TEST_SUITE_END()
