/// Findings on slices of one allocation that are prefetched one by one.
#include "found.hpp"

#include <boost/test/unit_test.hpp>
#include <functional>
#include <utility>

BOOST_AUTO_TEST_SUITE(analyzer_small_prefetches, *umadvisor::test::on_rules("UMA-218"))

using namespace umadvisor;
using namespace umadvisor::test;
using trace::Location;

constexpr std::uint64_t slice = 32 * kib, slices = 64, rounds = 10;

/// A program that prefetches 2 MiB in 64 slices in each of ten rounds, and launches a kernel on them.
struct Slicing : Scenario {
    std::uint64_t line = stack(), memory = allocate(64 * mib, Memory::managed),
                  other = allocate(64 * mib, Memory::managed), kernel = function("step");
    trace::Prefetch usual{.allocation = trace::AllocationId{memory}, .location = Location::device};

    void prefetch(trace::Prefetch record, std::uint64_t offset, std::uint64_t bytes = slice,
                  std::uint64_t duration = 30 * us) {
        record.stack = line;
        record.address = address_of(known(record.allocation) ? number(record.allocation) : memory) + offset;
        record.bytes = bytes;
        call(record, "cuMemPrefetchAsync_v2", duration);
    }
    void prefetch(std::uint64_t offset) { prefetch(usual, offset); }

    void each_round(const std::function<void()>& act, std::uint64_t count = rounds) {
        for (std::uint64_t round = 0; round < count; ++round) {
            act();
            launch(kernel, {memory});
            synchronize();
        }
    }
    void each_slice(const std::function<void(std::uint64_t)>& act, std::uint64_t count = slices) {
        each_round([&] {
            for (std::uint64_t i = 0; i < count; ++i)
                act(i);
        });
    }
    /// Slices side by side, with something behind each of them.
    void each_slice_and(const std::function<void()>& act) {
        each_slice([&](std::uint64_t i) {
            prefetch(i * slice);
            act();
        });
    }
    void found_none() { nothing_in(*this); }
};

/// What ten rounds of 64 slices of 30 us each could do without.
static double spared_ns(double bytes_per_ns) {
    return static_cast<double>(rounds * (slices - 1)) * (30e3 - static_cast<double>(slice) / bytes_per_ns);
}

BOOST_FIXTURE_TEST_CASE(slices_side_by_side_could_be_one_prefetch, Slicing) {
    each_slice([&](std::uint64_t i) { prefetch(i * slice); });
    const Finding finding = lone(*this, "UMA-218");
    BOOST_TEST(finding.stack == line);
    BOOST_TEST(evidence(finding, "prefetches") == 640);
    BOOST_TEST(evidence(finding, "groups") == 10);
    BOOST_TEST(evidence(finding, "calls_spared") == 630);
    BOOST_TEST(evidence(finding, "largest_group_bytes") == 2. * mib);
    BOOST_TEST(finding.saving_ns == spared_ns(51), nearly);
    BOOST_TEST(contains(finding.advice, "{cudaMemLocationTypeDevice, 0}"));
    BOOST_TEST(contains(finding.advice, "2 MiB"));
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_FIXTURE_TEST_CASE(slices_that_go_to_the_host_cost_as_much, Slicing) {
    usual.location = Location::host;
    each_slice([&](std::uint64_t i) { prefetch(i * slice); });
    const Finding finding = lone(*this, "UMA-218");
    BOOST_TEST(finding.saving_ns == spared_ns(24), nearly);
    BOOST_TEST(contains(finding.advice, "{cudaMemLocationTypeHost, 0}"));
}

BOOST_FIXTURE_TEST_CASE(slices_may_come_from_the_last_to_the_first, Slicing) {
    each_slice([&](std::uint64_t i) { prefetch((slices - i) * slice); });
    BOOST_TEST(evidence(lone(*this, "UMA-218"), "calls_spared") == 630);
}

BOOST_FIXTURE_TEST_CASE(slices_that_meet_in_a_page_adjoin, Slicing) {
    each_slice([&](std::uint64_t i) { prefetch(usual, i * 6000, 4000); });
    BOOST_TEST(evidence(lone(*this, "UMA-218"), "calls_spared") == 630);
}

BOOST_FIXTURE_TEST_CASE(the_last_round_counts_without_a_call_behind_it, Slicing) {
    for (std::uint64_t i = 0; i < 640; ++i)
        prefetch(i * slice);
    BOOST_TEST(evidence(lone(*this, "UMA-218"), "calls_spared") == 639);
}

BOOST_FIXTURE_TEST_CASE(slices_with_gaps_leave_memory_where_it_is, Slicing) {
    each_slice([&](std::uint64_t i) { prefetch(i * 2 * slice); });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(a_page_between_two_slices_is_a_gap, Slicing) {
    each_slice([&](std::uint64_t i) { prefetch(i * (slice + 2 * 4096)); });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(one_slice_again_and_again_is_no_range, Slicing) {
    each_slice([&](std::uint64_t) { prefetch(0); });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(slices_of_two_allocations_in_turn, Slicing) {
    each_slice([&](std::uint64_t i) {
        trace::Prefetch record = usual;
        record.allocation = trace::AllocationId{i % 2 == 0 ? memory : other};
        prefetch(record, i / 2 * slice);
    });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(allocations_side_by_side_are_no_range, Slicing) {
    each_slice([&](std::uint64_t i) {
        trace::Prefetch record = usual;
        record.allocation = trace::AllocationId{memory + i % 2};
        record.stack = line;
        record.address = address_of(memory) + i * slice;
        record.bytes = slice;
        call(record, "cuMemPrefetchAsync_v2", 30 * us);
    });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(slices_to_the_device_and_the_host_in_turn, Slicing) {
    each_slice([&](std::uint64_t i) {
        usual.location = i % 2 == 0 ? Location::device : Location::host;
        prefetch(i * slice);
    });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(slices_to_two_devices_in_turn, Slicing) {
    each_slice([&](std::uint64_t i) {
        usual.location_id = i % 2;
        prefetch(i * slice);
    });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(slices_in_two_streams_in_turn, Slicing) {
    each_slice([&](std::uint64_t i) {
        usual.stream = trace::StreamId{0x100u + i % 2};
        prefetch(i * slice);
    });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(lines_in_turn_are_no_loop_over_slices, Slicing) {
    const std::uint64_t lines[] = {line, stack()};
    each_slice([&](std::uint64_t i) {
        line = lines[i % 2];
        prefetch(i * slice);
    });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(a_kernel_works_on_each_slice, Slicing) {
    each_slice_and([&] { launch(kernel, {memory}); });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(another_thread_launches_between_the_slices, Slicing) {
    each_slice_and([&] { host_function(0, 2); });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(a_wait_of_another_thread_needs_no_slice, Slicing) {
    each_slice_and([&] { synchronize({.object = 0x900, .thread = 2}); });
    lone(*this, "UMA-218");
}

BOOST_FIXTURE_TEST_CASE(the_program_waits_for_each_slice, Slicing) {
    each_slice_and([&] { synchronize(); });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(an_event_stands_for_each_slice, Slicing) {
    each_slice_and([&] { record_event(0x700); });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(each_slice_gets_advice_of_its_own, Slicing) {
    each_slice_and([&] {
        call(trace::Advise{.address = address_of(memory),
                           .bytes = slice,
                           .allocation = trace::AllocationId{memory}},
             "cuMemAdvise_v2");
    });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(the_host_prepares_each_slice, Slicing) {
    each_slice_and([&] { now += 25 * us; });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(calls_between_the_slices_may_be_in_a_pause, Slicing) {
    each_slice_and([&] { pause(); });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(slices_of_a_block_cost_what_they_move, Slicing) {
    each_slice([&](std::uint64_t i) { prefetch(usual, i * 2 * mib, 2 * mib, 60 * us); }, 32);
    found_none();
}

BOOST_FIXTURE_TEST_CASE(calls_that_take_as_long_as_their_bytes_spare_nothing, Slicing) {
    each_slice([&](std::uint64_t i) { prefetch(usual, i * mib, mib, 20 * us); });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(a_call_that_waited_is_not_worth_its_wait, Slicing) {
    bool waited = false;
    each_slice([&](std::uint64_t i) {
        prefetch(usual, i * slice, slice, i == 32 && !std::exchange(waited, true) ? 100 * ms : us);
    });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(a_few_arrays_side_by_side, Slicing) {
    each_slice([&](std::uint64_t i) { prefetch((i + i / 7) * slice); });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(few_slices_in_all, Slicing) {
    each_round(
        [&] {
            for (std::uint64_t i = 0; i < 50; ++i)
                prefetch(usual, i * slice, slice, 90 * us);
        },
        2);
    found_none();
}

BOOST_FIXTURE_TEST_CASE(prefetches_of_umadvisor_do_not_count, Slicing) {
    usual.origin = trace::Origin::umadvisor;
    each_slice([&](std::uint64_t i) { prefetch(i * slice); });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(prefetches_that_fail_move_nothing, Slicing) {
    usual.status = 1;
    each_slice([&](std::uint64_t i) { prefetch(i * slice); });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(pageable_memory_has_a_rule_of_its_own, Slicing) {
    usual.allocation = {};
    usual.host_range = 1;
    each_slice([&](std::uint64_t i) { prefetch(i * slice); });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(slices_in_batches_are_one_call_already, Slicing) {
    each_slice([&](std::uint64_t i) {
        usual.batch = i + 1;
        prefetch(i * slice);
    });
    found_none();
}

BOOST_FIXTURE_TEST_CASE(lost_records_may_be_launches_between_the_slices, Slicing) {
    each_slice([&](std::uint64_t i) { prefetch(i * slice); });
    builder.dropped[trace::DropReason::size_cap] = 1;
    found_none();
}

BOOST_AUTO_TEST_SUITE_END()
