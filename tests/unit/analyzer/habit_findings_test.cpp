/// Findings on rows, copies of managed memory, allocation and synchronisation.
#include "found.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_habit_findings)

using namespace umadvisor;
using namespace umadvisor::test;
using test::close;
using trace::SyncKind;

BOOST_AUTO_TEST_SUITE(narrow_rows, *umadvisor::test::on_rules("UMA-101 UMA-104"))

constexpr std::uint64_t rows = 1024 * 1024;

BOOST_FIXTURE_TEST_CASE(a_column_of_a_matrix_is_kept_contiguous, Scenario) {
    const auto line = stack();
    copy(16 * rows, 20 * ms, {.source = Memory::pinned, .stack = line, .height = rows, .pitch = 4096});
    const Finding finding = lone(*this, "UMA-104");
    BOOST_TEST(finding.stack == line);
    BOOST_TEST(evidence(finding, "rows") == static_cast<double>(rows));
    BOOST_TEST(evidence(finding, "mean_row_bytes") == 16);
    BOOST_TEST(finding.saving_ns == 20e6 - 16.0 * rows / 55.5, nearly);
    BOOST_TEST(contains(finding.advice, "contiguous"));
    BOOST_TEST(contains(finding.details.at(0), "6.71 ms"));
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(rows_are_copied_with_what_is_between_where_they_lie_close) {
    for (const bool close_by : {true, false}) {
        Scenario s;
        s.copy(16 * rows, 20 * ms, {.source = Memory::pinned, .height = rows, .pitch = close_by ? 24u : 48u});
        const Finding finding = lone(s, "UMA-104");
        BOOST_TEST(finding.saving_ns == 20e6 - (close_by ? 24.0 : 16.0) * rows / 55.5, nearly);
        BOOST_TEST(contains(finding.advice, close_by ? "small gaps between them in one piece" : "contiguous"));
    }
}

BOOST_FIXTURE_TEST_CASE(pageable_rows_are_told_of_once, Scenario) {
    copy(16 * rows, 20 * ms, {.height = rows, .pitch = 4096});
    lone(*this, "UMA-104");
}

BOOST_FIXTURE_TEST_CASE(rows_of_asynchronous_copies_are_priced_by_the_devices_time, Scenario) {
    for (std::uint64_t sample = 1; sample <= 4; ++sample)
        copy(16 * rows, 4000,
             {.source = Memory::pinned,
              .sample = sample == 4 ? 4u : 0u,
              .asynchronous = true,
              .height = rows,
              .pitch = 4096});
    device_time(4, 20 * ms);
    synchronize({.duration = 79 * ms});
    const Finding finding = lone(*this, "UMA-104");
    BOOST_TEST(evidence(finding, "time_ns") == 80e6, close);
}

BOOST_AUTO_TEST_CASE(rows_that_are_not_a_fault) {
    Scenario s;
    // As wide as a packet, contiguous, inside the device, of an array, or few.
    const auto copy = [&s](std::uint64_t bytes, std::uint64_t pitch, std::uint64_t height, Memory source,
                           Memory destination) {
        s.copy(bytes, 20 * ms,
               {.source = source,
                .destination = destination,
                .stack = s.stack(),
                .height = height,
                .pitch = pitch});
        s.synchronize();
    };
    copy(256 * rows, 512, rows, Memory::pinned, Memory::device);
    copy(16 * rows, 16, rows, Memory::pinned, Memory::device);
    copy(16 * rows, 4096, rows, Memory::device, Memory::device);
    copy(16 * rows, 4096, rows, Memory::pinned, Memory::array);
    copy(16 * 999, 4096, 999, Memory::pinned, Memory::device);
    nothing_in(s);
}

BOOST_FIXTURE_TEST_CASE(narrow_rows_do_not_show_the_rate_of_the_link, Scenario) {
    copy(16 * 16 * rows, 200 * ms, {.source = Memory::pinned, .height = 16 * rows, .pitch = 4096});
    reader::Trace trace(path());
    const rules::Profile profile(trace);
    BOOST_TEST(profile.copies().link(facts::Direction::HtoD).bytes == 0u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(managed_copied, *umadvisor::test::on_rules("UMA-101 UMA-105"))

BOOST_FIXTURE_TEST_CASE(from_the_heap_to_managed_memory, Scenario) {
    const auto line = stack();
    for (int i = 0; i < 10; ++i)
        copy(256 * mib, 26 * ms, {.destination = Memory::managed, .stack = line});
    const Finding finding = lone(*this, "UMA-105");
    BOOST_TEST(finding.stack == line);
    BOOST_TEST(evidence(finding, "copies") == 10);
    BOOST_TEST(finding.saving_ns == 10 * (26e6 - 256 * mib / 51.0 - 2700), close);
    BOOST_TEST(contains(finding.advice, "cudaMemPrefetchAsync"));
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_FIXTURE_TEST_CASE(from_managed_memory_to_the_host, Scenario) {
    copy(256 * mib, 60 * ms,
         {.symbol = "cuMemcpyDtoH_v2", .source = Memory::managed, .destination = Memory::pageable});
    BOOST_TEST(lone(*this, "UMA-105").saving_ns == 60e6 - 256 * mib / 24.0 - 2700, close);
}

BOOST_FIXTURE_TEST_CASE(between_managed_memories_across_the_link, Scenario) {
    copy(256 * mib, 30 * ms, {.symbol = "cuMemcpy", .source = Memory::managed, .destination = Memory::managed});
    const Finding finding = lone(*this, "UMA-105");
    BOOST_TEST((finding.confidence == Confidence::low));
}

BOOST_FIXTURE_TEST_CASE(copies_of_managed_memory_that_are_right, Scenario) {
    // With device memory, inside the device, at the rate of the link, or few bytes.
    copy(256 * mib, 26 * ms, {.symbol = "cuMemcpy", .source = Memory::device, .destination = Memory::managed});
    copy(256 * mib, 26 * ms, {.symbol = "cuMemcpy", .source = Memory::managed, .destination = Memory::device});
    copy(256 * mib, ms, {.symbol = "cuMemcpy", .source = Memory::managed, .destination = Memory::managed});
    copy(256 * mib, 5 * ms, {.source = Memory::pinned, .destination = Memory::managed, .stack = stack()});
    copy(4096, 30'000, {.destination = Memory::managed, .stack = stack()});
    nothing_in(*this);
}

BOOST_FIXTURE_TEST_CASE(device_memory_that_umadvisor_made_managed_is_copied_rightly, Scenario) {
    allocate(256 * mib, Memory::managed, {.origin = trace::Origin::umadvisor});
    copy_often(256 * mib, 26 * ms, {.destination = Memory::managed});
    lone(*this, "UMA-101");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(allocation_churn, *umadvisor::test::on_rules("UMA-401 UMA-407 UMA-410"))

BOOST_AUTO_TEST_CASE(a_buffer_for_every_round) {
    Scenario s;
    const auto allocated = s.stack(), freed = s.stack(), function = s.function("step");
    for (int i = 0; i < 100; ++i) {
        const auto buffer = s.allocate(mib, Memory::device, {.stack = allocated, .duration = 80'000});
        s.launch(function, {buffer});
        s.synchronize();
        s.free(buffer, 120'000, freed);
    }
    const Finding finding = lone(s, "UMA-401");
    BOOST_TEST(finding.stack == allocated);
    BOOST_TEST(place(finding) == freed);
    BOOST_TEST(evidence(finding, "pairs") == 100);
    BOOST_TEST(evidence(finding, "free_wait_ns") == 0);
    BOOST_TEST(finding.saving_ns == 99 * 200'000.0, nearly);
    BOOST_TEST(contains(finding.advice, "cudaMallocAsync"));
    BOOST_TEST((finding.confidence == Confidence::high));
}

BOOST_AUTO_TEST_CASE(what_a_free_waits_for_kernels_is_not_saved) {
    Scenario s;
    const auto function = s.function("step");
    for (int i = 0; i < 100; ++i) {
        const auto buffer = s.allocate(mib, Memory::device, {.stack = 1, .duration = 80'000});
        s.launch(function, {buffer});
        s.free(buffer, i == 0 ? 120'000 : 1'120'000);
    }
    const Finding finding = lone(s, "UMA-401");
    // What the free takes itself may lie within its wait.
    BOOST_TEST(finding.saving_ns >= 99 * 80'000.0);
    BOOST_TEST(finding.saving_ns <= 99 * 200'000.0);
    BOOST_TEST(evidence(finding, "free_wait_ns") == 99e6, close);
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_FIXTURE_TEST_CASE(allocations_that_are_not_churn, Scenario) {
    std::vector<std::uint64_t> kept;
    for (int i = 0; i < 200; ++i) {
        // From a pool, and those that stay to the end.
        free(allocate(mib, Memory::device, {.stack = 1, .duration = 80'000, .symbol = "cuMemAllocAsync"}),
             120'000);
        kept.push_back(allocate(mib, Memory::device, {.stack = 2, .duration = 80'000}));
    }
    for (const auto buffer : kept)
        free(buffer, 120'000);
    // One round of many at once, rounds that take less than a thousandth of the run, and host memory.
    std::vector<std::uint64_t> together;
    for (int i = 0; i < 200; ++i)
        together.push_back(allocate(mib, Memory::device, {.stack = 5, .duration = 80'000}));
    for (const auto buffer : together)
        free(buffer, 120'000);
    for (int i = 0; i < 4; ++i)
        free(allocate(mib, Memory::device, {.stack = 3, .duration = 80'000}), 120'000);
    now += 600 * ms;
    for (int i = 0; i < 100; ++i)
        free(allocate(mib, Memory::pinned, {.stack = 4, .duration = 80'000}), 120'000);
    nothing_in(of_rule(findings_of(*this), "UMA-401"));
}

BOOST_FIXTURE_TEST_CASE(two_rounds_are_enough_where_they_take_long, Scenario) {
    for (int i = 0; i < 2; ++i)
        free(allocate(mib, Memory::device, {.stack = 1, .duration = 20 * ms}));
    BOOST_TEST(among(findings_of(*this), "UMA-401").saving_ns == 20e6,
               close); // nothing uses it: another finding
}

BOOST_AUTO_TEST_CASE(two_rounds_that_take_little_may_be_two_phases) {
    for (const int rounds : {2, 3}) {
        Scenario s;
        for (int i = 0; i < rounds; ++i) {
            s.free(s.allocate(mib, Memory::device, {.stack = 1, .duration = 80'000}), 120'000);
            s.now += 50 * ms;
        }
        BOOST_TEST(tells(findings_of(s), "UMA-401") == (rounds == 3));
    }
}

BOOST_FIXTURE_TEST_CASE(of_growing_rounds_the_largest_stays_and_serves_all, Scenario) {
    for (std::uint64_t round = 1; round <= 4; ++round) {
        std::vector<std::uint64_t> together;
        for (int i = 0; i < 10; ++i)
            together.push_back(allocate(round * mib, Memory::pinned, {.stack = 1, .duration = round * ms}));
        synchronize();
        for (const auto buffer : together)
            free(buffer, round * 100'000);
    }
    const Finding churn = among(findings_of(*this), "UMA-407");
    BOOST_TEST(churn.saving_ns == 10 * (1 + 2 + 3) * 1.1e6, boost::test_tools::tolerance(0.1));
    BOOST_TEST(evidence(churn, "largest_bytes") == 4.0 * mib);
}

BOOST_AUTO_TEST_CASE(ways_to_a_line_that_follow_each_other_need_its_memory_once) {
    const auto of = [](bool in_turn) {
        Scenario s;
        const auto take = [&s](std::uint64_t stack) {
            return s.allocate(mib, Memory::device, {.stack = stack, .duration = 20 * ms});
        };
        const auto first = take(1);
        if (in_turn)
            s.free(first);
        const auto second = take(2);
        if (!in_turn)
            s.free(first);
        s.free(second);
        reader::Trace trace(s.path());
        const rules::Profile profile(trace);
        return rules::uma_401.find(profile, [](ids::StackId) { return ids::StackId(1); });
    };
    BOOST_REQUIRE(of(true).size() == 1u);
    BOOST_TEST(of(true).front().saving_ns == 20e6, close);
    BOOST_TEST(of(false).empty());
}

BOOST_AUTO_TEST_CASE(managed_memory_for_every_round) {
    const auto rounds = [](int count, trace::Origin origin) {
        Scenario s;
        for (int i = 0; i < count; ++i) {
            const auto buffer =
                s.allocate(mib, Memory::managed, {.stack = 1, .duration = ms, .origin = origin});
            s.synchronize();
            s.free(buffer, 2 * ms, 2);
        }
        reader::Trace trace(s.path());
        const rules::Profile profile(trace);
        return rules::uma_410.find(profile, own_line);
    };
    const Finding finding = lone(rounds(10, trace::Origin::program), "UMA-410");
    BOOST_TEST(finding.stack == 1u);
    BOOST_TEST(finding.saving_ns == 27e6, close);
    BOOST_TEST(rounds(1, trace::Origin::program).empty());
    BOOST_TEST(rounds(10, trace::Origin::umadvisor).empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(redundant_sync, *umadvisor::test::on_rules("UMA-501"))

using Sync = Scenario::SyncOptions;

struct Rounds : Scenario {
    std::uint64_t kernel = function("step");
    std::uint64_t needed = stack(), spare = stack();
    std::uint64_t visible = allocate(4096, Memory::pinned);

    /// A launch that the host can see the result of, a wait for it, then `second`, two hundred times.
    void rounds(const Sync& second, Sync first = {.duration = 200'000}) {
        first.stack = needed;
        for (int i = 0; i < 200; ++i) {
            launch(kernel, {visible});
            synchronize(first);
            synchronize(second);
        }
    }
};

BOOST_AUTO_TEST_CASE(a_second_wait_for_the_same) {
    for (const Sync& second :
         {Sync{}, Sync{.kind = SyncKind::stream, .object = 7}, Sync{.kind = SyncKind::event, .object = 8}}) {
        Rounds s;
        Sync spare = second;
        spare.stack = s.spare;
        s.rounds(spare);
        const Finding finding = lone(s, "UMA-501");
        BOOST_TEST(finding.stack == s.spare);
        BOOST_TEST(evidence(finding, "redundant") == 200);
        BOOST_TEST(finding.saving_ns == 200'000.0, close);
        BOOST_TEST(place(finding) == s.needed);
        BOOST_TEST((finding.confidence == Confidence::medium));
    }
}

BOOST_FIXTURE_TEST_CASE(the_same_stream_twice, Rounds) {
    rounds({.kind = SyncKind::stream, .object = 7, .stack = spare},
           {.kind = SyncKind::stream, .object = 7, .duration = 200'000});
    lone(*this, "UMA-501");
}

BOOST_AUTO_TEST_CASE(a_stream_says_nothing_of_the_context_nor_of_another_stream) {
    Rounds context, other, event;
    const Sync stream{.kind = SyncKind::stream, .object = 7, .duration = 200'000};
    context.rounds({.stack = context.spare}, stream);
    nothing_in(context);
    other.rounds({.kind = SyncKind::stream, .object = 9, .stack = other.spare}, stream);
    nothing_in(other);
    event.rounds({.kind = SyncKind::event, .object = 9, .stack = event.spare}, stream);
    nothing_in(event);
}

/// Two hundred rounds with something between two waits.
template <class Between>
void nothing_is_redundant_after(const Between& between) {
    Scenario s;
    for (int i = 0; i < 200; ++i) {
        s.synchronize({.stack = 1});
        between(s);
        s.synchronize({.stack = 2});
        between(s);
    }
    nothing_in(s);
}

BOOST_AUTO_TEST_CASE(whatever_is_queued_has_to_be_waited_for) {
    nothing_is_redundant_after([](Scenario& s) { s.launch(1, {}); });
    nothing_is_redundant_after(
        [](Scenario& s) { s.copy(16 * mib, 3000, {.source = Memory::pinned, .asynchronous = true}); });
    nothing_is_redundant_after([](Scenario& s) {
        s.copy(mib, 3000, {.source = Memory::device}); // inside the device: returns before it is done
    });
    nothing_is_redundant_after([](Scenario& s) { s.prefetch(1, mib, trace::Location::device); });
    // Calls whose names the trace does not tell, so that nothing else is known of them.
    const auto queue = [](auto record) {
        record.duration = 500;
        nothing_is_redundant_after([&record](Scenario& s) {
            record.start = s.now;
            s.builder.add(record);
            s.now += 1000;
        });
    };
    queue(trace::Set{});
    queue(trace::GraphLaunch{});
    queue(trace::HostFunction{});
    queue(trace::Event{.action = trace::EventAction::record});
    queue(trace::Stream{.action = trace::StreamAction::wait_event});
}

BOOST_FIXTURE_TEST_CASE(a_copy_that_is_done_on_return_need_not_be_waited_for, Scenario) {
    for (int i = 0; i < 200; ++i) {
        synchronize({.stack = 1});
        download(mib, 20'000, {});
    }
    const Finding finding = lone(*this, "UMA-501");
    BOOST_TEST(evidence(finding, "redundant") == 199);
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_FIXTURE_TEST_CASE(one_that_waited_was_needed_whatever_the_trace_tells, Rounds) {
    rounds({.stack = spare, .duration = 60'000});
    nothing_in(*this);
}

BOOST_FIXTURE_TEST_CASE(few_are_left_alone, Scenario) {
    for (int i = 0; i < 99; ++i) {
        launch(1, {});
        synchronize({.stack = 1});
        synchronize({.stack = 2, .duration = 20'000});
    }
    nothing_in(*this);
}

BOOST_FIXTURE_TEST_CASE(work_of_another_thread_may_be_in_flight, Scenario) {
    for (int i = 0; i < 200; ++i) {
        // The launch has begun, and nobody knows whether the wait has seen it.
        trace::HostFunction record;
        record.start = now;
        record.duration = 5000;
        builder.add(record, 2);
        now += 1000;
        synchronize({.stack = 1});
        synchronize({.stack = 2, .duration = 20'000});
    }
    nothing_in(*this);
}

BOOST_FIXTURE_TEST_CASE(another_context_was_not_waited_for, Scenario) {
    for (int i = 0; i < 200; ++i) {
        launch(1, {});
        use_device(0, 0xa0);
        synchronize({.stack = 1});
        use_device(0, 0xb0);
        synchronize({.stack = 2});
    }
    nothing_in(*this);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
