/// The host reads managed memory that kernels may still write.
#include "found.hpp"
#include "managed_scenario.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_missing_sync, *umadvisor::test::on_rules("UMA-601"))

using namespace umadvisor;
using namespace umadvisor::test;
using trace::SyncKind;

struct Program : Managed {
    std::uint64_t allocated = stack(), launched = stack(), read_at = stack();
    std::uint64_t kernel = function("_Z4fillPfi");
    std::uint64_t memory = 0;

    explicit Program(std::uint64_t bytes = 4 * mib) {
        tell(light_kinds);
        memory = managed(bytes, allocated);
    }
    void launch(std::uint64_t mailbox = 0, std::uint64_t at = 0) {
        if (mailbox == 0)
            Scenario::launch(kernel, {memory}, 0, at == 0 ? launched : at);
        else
            Scenario::launch(kernel, {memory, mailbox}, 0, launched);
    }
    /// Chunks hold so many records.
    void make_room() {
        builder.next_chunk();
        builder.next_chunk(drain);
    }
    void touch(trace::FaultAccess access = trace::FaultAccess::read, std::uint64_t thread = 4242,
               std::uint64_t of = 0) {
        fault(trace::ManagedEventKind::host_fault, address_of(of == 0 ? memory : of),
              {.code = read_at, .access = access, .thread = thread});
        now += 10'000;
    }
    bool is_told() { return tells(findings_of(*this), "UMA-601"); }
};

BOOST_FIXTURE_TEST_CASE(a_read_behind_a_launch_without_any_wait_is_told, Program) {
    launch();
    touch();
    const Finding finding = lone(*this, "UMA-601");
    BOOST_TEST(finding.stack == read_at);
    BOOST_TEST(finding.allocation_stack == allocated);
    BOOST_REQUIRE(finding.places.size() == 1u);
    BOOST_TEST(finding.places[0].first == "launched here");
    BOOST_TEST(finding.places[0].second == launched);
    BOOST_TEST(finding.saving_ns == 0);
}

BOOST_FIXTURE_TEST_CASE(a_read_between_two_launches_is_told_though_the_last_is_waited_for, Program) {
    launch();
    touch();
    launch();
    synchronize();
    BOOST_TEST(is_told());
}

/// The wait belongs after the last of them.
BOOST_FIXTURE_TEST_CASE(of_two_launches_before_the_read_both_are_named, Program) {
    const std::uint64_t last = stack();
    launch();
    launch(0, last);
    touch();
    const Finding finding = lone(*this, "UMA-601");
    BOOST_REQUIRE(finding.places.size() == 2u);
    BOOST_TEST(finding.places[1].first == "the last launch that may write it");
    BOOST_TEST(finding.places[1].second == last);
}

BOOST_AUTO_TEST_CASE(a_read_behind_a_wait_is_fine) {
    for (const SyncKind kind : {SyncKind::context, SyncKind::stream, SyncKind::event, SyncKind::event_query}) {
        Program p;
        p.launch();
        p.synchronize({.kind = kind});
        p.touch();
        p.launch();
        BOOST_TEST(!p.is_told());
    }
}

BOOST_AUTO_TEST_CASE(a_query_that_finds_work_running_is_no_wait) {
    for (const SyncKind kind : {SyncKind::stream_query, SyncKind::event_query}) {
        Program p;
        p.launch();
        p.synchronize({.kind = kind, .status = 600});
        p.touch();
        BOOST_TEST(p.is_told());
    }
}

BOOST_FIXTURE_TEST_CASE(a_synchronous_copy_waits, Program) {
    launch();
    copy(mib, 1000, {});
    touch();
    BOOST_TEST(!is_told());
}

BOOST_AUTO_TEST_CASE(host_and_kernel_may_meet_on_purpose) {
    Program waits; // behind the read
    waits.launch();
    waits.touch();
    waits.synchronize();
    BOOST_TEST(!waits.is_told());

    Program flag(64);
    flag.launch();
    flag.touch();
    BOOST_TEST(!flag.is_told());

    Program threads;
    threads.launch();
    threads.touch();
    threads.touch(trace::FaultAccess::read, 4243);
    BOOST_TEST(!threads.is_told());
}

BOOST_AUTO_TEST_CASE(a_mailbox_may_be_polled_for_long) {
    constexpr auto read = trace::FaultAccess::read;
    for (const bool polled : {true, false}) {
        Program p;
        const std::uint64_t mailbox = p.managed(64);
        for (int round = 0; round < 5000; ++round) {
            if (round % 500 == 0)
                p.make_room();
            p.launch(mailbox);
            p.touch(read, 4242, mailbox);
            p.synchronize();
        }
        p.launch(mailbox);
        if (polled) // without, nothing says that the data may be read
            p.touch(read, 4242, mailbox);
        p.touch();
        BOOST_TEST(p.is_told() != polled);
    }
    Program at_once; // while one kernel runs; the data is read early
    const std::uint64_t mailbox = at_once.managed(64);
    at_once.launch(mailbox);
    at_once.touch(read, 4242, mailbox);
    at_once.touch();
    for (int poll = 0; poll < 5000; ++poll) {
        if (poll % 500 == 0)
            at_once.make_room();
        at_once.touch(read, 4242, mailbox);
    }
    BOOST_TEST(!at_once.is_told());
}

BOOST_AUTO_TEST_CASE(a_free_in_the_order_of_a_stream_is_no_wait_and_ends_no_other_memory) {
    for (const bool waited : {true, false}) { // for the kernel, which writes what the host does not read
        Program p;
        const std::uint64_t scratch = p.allocate(mib, trace::Memory::device);
        p.launch();
        p.touch();
        p.free_async(scratch);
        if (waited)
            p.synchronize({.kind = SyncKind::stream});
        BOOST_TEST(p.is_told() != waited);
    }
    Program behind;
    const std::uint64_t scratch = behind.allocate(mib, trace::Memory::device);
    behind.launch();
    behind.free_async(scratch);
    behind.touch();
    BOOST_TEST(behind.is_told());
}

BOOST_AUTO_TEST_CASE(other_frees_wait_for_the_device) {
    Program behind;
    const std::uint64_t scratch = behind.allocate(mib, trace::Memory::device);
    behind.launch();
    behind.free(scratch);
    behind.touch();
    BOOST_TEST(!behind.is_told());

    enum class Then { launch, launch_unknown, free_all };
    for (const Then then : {Then::launch, Then::launch_unknown, Then::free_all}) {
        Program p; // whose kernel may write what the host does not read
        const std::uint64_t temporary = p.allocate(mib, trace::Memory::device);
        const std::uint64_t page_locked = p.allocate(mib, trace::Memory::pinned);
        p.launch();
        p.touch();
        p.free(temporary);
        if (then == Then::launch)
            p.launch();
        else if (then == Then::launch_unknown)
            p.launch(page_locked);
        p.synchronize();
        p.free(p.memory);
        BOOST_TEST(p.is_told() == (then == Then::free_all));
    }
}

BOOST_AUTO_TEST_CASE(memory_that_is_freed_without_a_wait_behind_the_read_is_told) {
    for (const bool in_stream : {true, false}) {
        Program p;
        p.launch();
        p.touch();
        if (in_stream)
            p.free_async(p.memory);
        else
            p.free(p.memory);
        p.synchronize();
        BOOST_TEST(p.is_told());
    }
}

BOOST_FIXTURE_TEST_CASE(writes_and_memory_that_kernels_only_read_tell_nothing, Program) {
    launch();
    touch(trace::FaultAccess::write);
    BOOST_TEST(!is_told());

    Program reads;
    reads.kernel = reads.function("_Z3sumPKfi");
    reads.launch();
    reads.touch();
    BOOST_TEST(!reads.is_told());
}

BOOST_AUTO_TEST_SUITE_END()
