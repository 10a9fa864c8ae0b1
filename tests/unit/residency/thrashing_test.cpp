#include "tests/unit/residency/fixture.hpp"

BOOST_AUTO_TEST_SUITE(thrashing)

using namespace umadvisor::residency;

namespace {
constexpr Nanoseconds quick = 100'000;
constexpr Nanoseconds slow = 600'000;

/// Host and device write the first granule in turn.
void alternate(Fixture& fixture, unsigned times, Nanoseconds step, Nanoseconds& now) {
    for (unsigned index = 0; index < times; ++index) {
        fixture.touch(index % 2 ? host_processor : device, 0, 1, Access::write, now);
        now += step;
    }
}

/// The same of its first byte, each as soon as the other is done.
void take_turns(AddressSpace& memory, unsigned times, Nanoseconds& now) {
    for (unsigned index = 0; index < times; ++index)
        now += memory.touch(index % 2 ? host_processor : device, base, 1, Access::write, now).time + quick / 10;
}

/// Makes `pages` thrash. Returns a time soon after.
Nanoseconds fought_over(BlockThrashing& block, const PageMask& pages) {
    for (unsigned index = 0; index < 6; ++index)
        block.record({}, index % 2 ? host_processor : device, pages, index * quick);
    BOOST_TEST((block.thrashing() == pages));
    return 6 * quick;
}
} // namespace

// The first event of a block is not counted at page level, the second gives the page its first time: so the
// fifth is the third that follows within a lapse.
BOOST_FIXTURE_TEST_CASE(is_found_at_the_third_event_within_a_lapse, Fixture) {
    touch(host_processor, 0, 1);
    Nanoseconds now = 1'000'000;
    alternate(*this, 4, quick, now);
    BOOST_TEST(memory.counters().thrashing_pages == 0u);
    alternate(*this, 1, quick, now);
    BOOST_TEST(memory.counters().thrashing_pages == pages_per_granule);
    BOOST_TEST(recorder.thrashing == granule_bytes);
}

BOOST_FIXTURE_TEST_CASE(slow_alternation_is_never_found, Fixture) {
    touch(host_processor, 0, 1);
    Nanoseconds now = 1'000'000;
    alternate(*this, 100, slow, now);
    BOOST_TEST(memory.counters().thrashing_pages == 0u);
    BOOST_TEST(memory.counters().throttlings == 0u);
}

BOOST_FIXTURE_TEST_CASE(one_processor_alone_never_thrashes, Fixture) {
    BlockThrashing block;
    for (Nanoseconds now = 0; now < 10 * quick; now += quick)
        BOOST_TEST(block.record({}, device, page_range(0, 16), now).none());
}

BOOST_AUTO_TEST_CASE(one_goes_free_and_the_other_waits_for_the_end_of_the_nap) {
    BlockThrashing block;
    const ThrashingParameters parameters;
    const PageMask page = page_range(0, 1);
    const Nanoseconds now = fought_over(block, page);
    BOOST_TEST(block.throttle(parameters, host_processor, page, now) == 0u);
    BOOST_TEST(block.throttle(parameters, device, page, now + quick) == parameters.nap - quick);
    BOOST_TEST(block.throttle(parameters, host_processor, page, now + quick) == 0u);
    // Nobody has moved it meanwhile: it has come to rest.
    BOOST_TEST(block.throttle(parameters, device, page, now + parameters.nap) == 0u);
    BOOST_TEST(block.throttle(parameters, host_processor, page, now + parameters.nap) == 0u);
}

BOOST_AUTO_TEST_CASE(who_goes_free_after_enough_waits_pins) {
    BlockThrashing block;
    const ThrashingParameters parameters;
    const PageMask page = page_range(0, 1);
    Nanoseconds now = fought_over(block, page);
    BOOST_TEST(block.throttle(parameters, host_processor, page, now) == 0u);
    block.record(parameters, host_processor, page, now);
    for (unsigned waits = 1; waits <= parameters.pin_threshold; ++waits) {
        BOOST_TEST(block.pinned(now).none());
        const Processor waiter = waits % 2 ? device : host_processor;
        const Nanoseconds wait = block.throttle(parameters, waiter, page, now + quick);
        BOOST_TEST(wait == parameters.nap - quick);
        now += parameters.nap;
        BOOST_TEST(block.throttle(parameters, waiter, page, now) == 0u);
        block.record(parameters, waiter, page, now);
    }
    BOOST_TEST((block.pinned(now) == page));
    BOOST_TEST(block.pinned(now + parameters.pin).none());
}

BOOST_FIXTURE_TEST_CASE(those_that_take_turns_wait_but_are_not_pinned, Fixture) {
    touch(host_processor, 0, 1);
    Nanoseconds now = 1'000'000;
    take_turns(memory, 60, now);
    BOOST_TEST(memory.counters().throttlings > 0u);
    BOOST_TEST(memory.counters().bytes_remote_mapped == 0u);
}

BOOST_AUTO_TEST_CASE(a_pinned_page_stays_with_the_host) {
    Parameters parameters;
    parameters.thrashing.lapse = 600'000; // longer than a nap: a wait does not bring it to rest
    AddressSpace memory{Prices(), parameters};
    memory.add_range(base, block_bytes);
    Nanoseconds now = 1'000'000;
    take_turns(memory, 40, now);
    BOOST_TEST(memory.counters().throttlings == parameters.thrashing.pin_threshold);
    BOOST_TEST(memory.counters().bytes_remote_mapped > 0u);
    // No fault on a thrashing page is grown to its granule: only the page touched is pinned.
    BOOST_TEST(memory.count_resident(host_processor, base, page_bytes) == 1u);
    const auto faults = memory.counters().device_fault_groups;
    memory.touch(device, base, 1, Access::write, now);
    BOOST_TEST(memory.counters().device_fault_groups == faults);
}

BOOST_FIXTURE_TEST_CASE(a_user_prefetch_clears_the_marks, Fixture) {
    touch(host_processor, 0, 1);
    Nanoseconds now = 1'000'000;
    alternate(*this, 6, quick, now);
    BOOST_TEST(memory.find_block(base)->thrashing.thrashing().any());
    memory.prefetch(device, base, block_bytes, now);
    BOOST_TEST(memory.find_block(base)->thrashing.thrashing().none());
}

BOOST_FIXTURE_TEST_CASE(quiet_for_an_epoch_forgets, Fixture) {
    BlockThrashing block;
    const ThrashingParameters parameters;
    for (unsigned index = 0; index < 6; ++index)
        block.record(parameters, index % 2, page_range(0, 1), index * quick);
    BOOST_TEST(block.thrashing().any());
    block.record(parameters, device, page_range(0, 1), 6 * quick + parameters.epoch + 1);
    BOOST_TEST(block.thrashing().none());
}

BOOST_AUTO_TEST_SUITE_END()
