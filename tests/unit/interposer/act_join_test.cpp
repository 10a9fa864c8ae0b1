#include "policy/given_advice.hpp"
#include "policy/prefetch_run.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(act_join)

using namespace umadvisor::policy;

constexpr std::uint64_t slice = 32u << 10;

struct Slices {
    PrefetchCall slice_at(std::uint64_t number) const { return {1, 7, number * slice, slice, 0, 0}; }
    /// Returns whether it was deferred, else the driver has made it.
    bool prefetch(const PrefetchCall& call) {
        if (run.may_defer(call)) {
            run.defer(call);
            return true;
        }
        taken = run.take();
        run.made(call);
        return false;
    }
    PrefetchRun run;
    PrefetchCall taken{};
};

BOOST_FIXTURE_TEST_CASE(neighbours_are_deferred_from_the_third_on, Slices) {
    BOOST_TEST(!prefetch(slice_at(0)));
    BOOST_TEST(!prefetch(slice_at(1)));
    for (std::uint64_t i = 2; i < 10; ++i)
        BOOST_TEST(prefetch(slice_at(i)));
    const PrefetchCall all = run.take();
    BOOST_TEST(all.address == 2 * slice);
    BOOST_TEST(all.bytes == 8 * slice);
    BOOST_TEST(all.allocation == 7u);
    BOOST_TEST(run.take().bytes == 0u);
}

BOOST_FIXTURE_TEST_CASE(after_a_joined_call_the_driver_makes_one_again, Slices) {
    for (std::uint64_t i = 0; i < 10; ++i)
        prefetch(slice_at(i));
    run.take();
    BOOST_TEST(!prefetch(slice_at(10)));
    BOOST_TEST(prefetch(slice_at(11)));
}

BOOST_FIXTURE_TEST_CASE(a_run_is_of_one_thread_allocation_stream_and_place, Slices) {
    prefetch(slice_at(0));
    prefetch(slice_at(1));
    const PrefetchCall next = slice_at(2);
    for (PrefetchCall other :
         {PrefetchCall{2, 7, next.address, slice, 0, 0}, PrefetchCall{1, 8, next.address, slice, 0, 0},
          PrefetchCall{1, 7, next.address + slice, slice, 0, 0},
          PrefetchCall{1, 7, next.address - 1, slice, 0, 0}, PrefetchCall{1, 7, next.address, slice, 9, 0},
          PrefetchCall{1, 7, next.address, slice, 0, -1}})
        BOOST_TEST(!run.may_defer(other));
    BOOST_TEST(run.may_defer(next));
}

BOOST_FIXTURE_TEST_CASE(what_another_thread_makes_meanwhile_changes_no_run, Slices) {
    for (std::uint64_t i = 0; i < 5; ++i)
        prefetch(slice_at(i));
    run.made({2, 8, 1000 * slice, slice, 0, 0});
    BOOST_TEST(run.take().address == 2 * slice);
}

BOOST_FIXTURE_TEST_CASE(the_device_does_not_wait_for_more_than_a_piece, Slices) {
    std::uint64_t deferred = 0;
    for (std::uint64_t i = 0; i < 4096; ++i)
        deferred += prefetch(slice_at(i));
    BOOST_TEST(taken.bytes == PrefetchRun::most_bytes);
    BOOST_TEST(deferred == 4096u - 2 - (4096 - 2) / (PrefetchRun::most_bytes / slice + 1));
}

BOOST_FIXTURE_TEST_CASE(runs_that_are_hardly_worth_it_are_given_up, Slices) {
    std::uint64_t deferred = 0;
    for (std::uint64_t run_number = 0; run_number < 100; ++run_number)
        for (std::uint64_t i = 0; i < 4; ++i)
            deferred += prefetch(slice_at(run_number * 10 + i));
    BOOST_TEST(deferred == 2u);
}

struct Advised {
    bool give(Advice advice) {
        const bool known = advice_given.in_effect(advice);
        if (!known)
            advice_given.given(advice);
        return known;
    }
    using Kind = Advice::Kind;
    const Advice read_mostly{Kind::read_mostly, true, 7, 0, 100, 0};
    const Advice preferred{Kind::preferred_location, true, 7, 0, 100, 3};
    GivenAdvice advice_given;
};

BOOST_FIXTURE_TEST_CASE(the_same_advice_is_in_effect, Advised) {
    BOOST_TEST(!give(read_mostly));
    BOOST_TEST(!give(preferred));
    BOOST_TEST(give(read_mostly));
    BOOST_TEST(give(preferred));
}

BOOST_FIXTURE_TEST_CASE(the_opposite_and_another_place_end_it, Advised) {
    give(read_mostly);
    Advice back = read_mostly;
    back.set = false;
    BOOST_TEST(!give(back));
    BOOST_TEST(give(back));
    BOOST_TEST(!give(read_mostly));
    give(preferred);
    Advice elsewhere = preferred;
    elsewhere.location = 4;
    BOOST_TEST(!give(elsewhere));
    BOOST_TEST(!give(preferred));
    BOOST_TEST(give(read_mostly));
}

BOOST_FIXTURE_TEST_CASE(advice_for_a_part_ends_that_for_the_whole, Advised) {
    give(read_mostly);
    Advice part = preferred;
    part.address = 50;
    part.bytes = 10;
    give(part);
    BOOST_TEST(!give(read_mostly));
    BOOST_TEST(!give(part));
}

BOOST_FIXTURE_TEST_CASE(freed_memory_has_no_advice, Advised) {
    give(read_mostly);
    advice_given.forget(7);
    BOOST_TEST(!give(read_mostly));
}

BOOST_FIXTURE_TEST_CASE(mappings_change_so_advice_about_them_is_given_again, Advised) {
    const Advice accessed{Kind::accessed_by, true, 7, 0, 10, 3};
    BOOST_TEST(!give(preferred));
    BOOST_TEST(!give(accessed));
    BOOST_TEST(!give(accessed));
    BOOST_TEST(!give(preferred));
    BOOST_TEST(!give(read_mostly));
    BOOST_TEST(give(read_mostly));
}

BOOST_FIXTURE_TEST_CASE(more_than_fits_is_forgotten, Advised) {
    for (int round = 0; round < 3; ++round)
        for (std::uint64_t i = 0; i <= GivenAdvice::most; ++i) {
            Advice other = read_mostly;
            other.allocation = i;
            give(other);
        }
    BOOST_TEST(advice_given.in_effect({Kind::read_mostly, true, GivenAdvice::most, 0, 100, 0}));
}

BOOST_AUTO_TEST_SUITE_END()
