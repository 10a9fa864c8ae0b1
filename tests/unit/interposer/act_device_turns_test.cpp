#include "policy/round_trials.hpp"

#include <boost/test/unit_test.hpp>
#include <functional>

BOOST_AUTO_TEST_SUITE(act_device_turns)

using namespace umadvisor::policy;
using Step = DeviceTurns::Step;

constexpr std::uint64_t mib = 1u << 20, ms = 1'000'000;

enum class Way { left, brought, copied };

/// Rounds of two devices, each of which launches once and is waited for.
struct Devices {
    /// `times`: what a launch takes by the way in which the memory moves. Launches run in order, or beside each
    /// other.
    void rounds(int count, const std::function<std::uint64_t(Way)>& times, bool in_order = true) {
        for (int i = 0; i < count; ++i) {
            for (const std::uint32_t device : {0u, 1u}) {
                const Step step = turns.launch(7, bytes, device, waits, now);
                copies = (copies || step == Step::begin_copies) && step != Step::end_copies &&
                         step != Step::end_and_bring;
                const bool moves =
                    step == Step::bring || step == Step::begin_copies || step == Step::end_and_bring;
                brought += moves;
                begun += step == Step::begin_copies;
                now += times(copies ? Way::copied : moves ? Way::brought : Way::left);
                waits += in_order;
            }
            waits += !in_order;
        }
    }
    DeviceTurns turns;
    std::uint64_t bytes = 64 * mib, waits = 1, now = ms;
    bool copies = false;
    int brought = 0, begun = 0;
};

BOOST_FIXTURE_TEST_CASE(what_devices_take_from_each_other_in_turn_is_brought, Devices) {
    const auto times = [](Way way) { return way == Way::left ? 11 * ms : way == Way::brought ? ms : 12 * ms; };
    rounds(4, times);
    BOOST_TEST(brought == 0); // faults show what they take
    rounds(60, times);
    BOOST_TEST(brought >= 110);
    BOOST_TEST(begun == 1); // and copies turned out to be no better
    BOOST_TEST(!copies);
    BOOST_TEST((turns.take_change(7) == DeviceTurns::Change::brings));
}

BOOST_FIXTURE_TEST_CASE(what_all_read_in_turn_ends_as_copies, Devices) {
    rounds(60, [](Way way) { return way == Way::left ? 11 * ms : way == Way::brought ? 2 * ms : ms; });
    BOOST_TEST(copies);
    BOOST_TEST((turns.take_change(7) == DeviceTurns::Change::copies));
}

BOOST_FIXTURE_TEST_CASE(what_is_reached_side_by_side_is_never_brought_but_may_be_copied, Devices) {
    rounds(
        60, [](Way way) { return way == Way::copied ? ms : 11 * ms; }, false);
    BOOST_TEST(copies);
    BOOST_TEST(begun == 1);
}

BOOST_FIXTURE_TEST_CASE(where_nothing_is_better_two_rounds_are_tried_and_no_more, Devices) {
    rounds(100, [](Way) { return 11 * ms; });
    BOOST_TEST(!copies);
    BOOST_TEST(begun == 1);
    BOOST_TEST(brought <= 8);
    BOOST_TEST(!turns.concerns(7));
    Devices beside;
    beside.rounds(
        100, [](Way way) { return way == Way::copied ? 13 * ms : 11 * ms; }, false);
    BOOST_TEST(!beside.copies);
    BOOST_TEST(beside.brought <= 4);
    BOOST_TEST(!beside.turns.concerns(7));
}

BOOST_FIXTURE_TEST_CASE(what_is_much_slower_ends_after_one_round, Devices) {
    rounds(5, [](Way way) { return way == Way::left ? 11 * ms : 50 * ms; });
    const int so_far = brought;
    BOOST_TEST(so_far <= 4);
    rounds(1, [](Way way) { return way == Way::left ? 11 * ms : 50 * ms; });
    BOOST_TEST(brought <= so_far + 2);
}

BOOST_FIXTURE_TEST_CASE(rounds_too_short_for_faults_are_left_alone, Devices) {
    // Each device has its own half, which stays with it.
    const auto times = [](Way way) { return way == Way::left ? ms : 3 * ms; };
    rounds(20, times);
    BOOST_TEST(turns.concerns(7));
    rounds(20, times);
    BOOST_TEST(brought == 0);
    BOOST_TEST(!turns.concerns(7)); // nor are launches asked about it for ever
}

BOOST_FIXTURE_TEST_CASE(what_becomes_as_slow_as_before_is_given_up, Devices) {
    rounds(10, [](Way way) { return way == Way::left ? 11 * ms : ms; });
    BOOST_TEST(brought > 0);
    rounds(6, [](Way) { return 12 * ms; });
    BOOST_TEST(!turns.concerns(7));
    turns.forget(7);
    BOOST_TEST(!turns.concerns(7));
    rounds(10, [](Way way) { return way == Way::left ? 11 * ms : ms; });
    BOOST_TEST(turns.concerns(7)); // another allocation at its place
}

BOOST_FIXTURE_TEST_CASE(what_the_program_has_placed_is_left_and_copies_are_taken_back, Devices) {
    rounds(
        60, [](Way way) { return way == Way::copied ? ms : 11 * ms; }, false);
    BOOST_TEST(turns.leave(7));
    BOOST_TEST(!turns.leave(7));
    const int so_far = brought;
    rounds(60, [](Way) { return 11 * ms; });
    BOOST_TEST(brought == so_far);
    BOOST_TEST(!turns.leave(8)); // before it was ever shared
    BOOST_TEST((turns.launch(8, bytes, 0, 1, now) == Step::leave));
    BOOST_TEST(!turns.concerns(8));
}

BOOST_FIXTURE_TEST_CASE(one_allocation_is_tried_at_a_time, Devices) {
    const auto times = [](Way way) { return way == Way::left ? 11 * ms : ms; };
    int other = 0;
    for (int i = 0; i < 40; ++i)
        for (const std::uint32_t device : {0u, 1u}) {
            const bool first = turns.launch(7, bytes, device, waits, now) == Step::bring;
            const bool tries = turns.tries();
            const bool second = turns.launch(9, bytes, device, waits, now) == Step::bring;
            BOOST_TEST(!(tries && second && other == 0));
            other += second;
            now += times(first ? Way::brought : Way::left) + times(second ? Way::brought : Way::left);
            ++waits;
        }
    BOOST_TEST(other > 40);
}

BOOST_AUTO_TEST_SUITE_END()
