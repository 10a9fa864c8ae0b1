#include "interposer/act/action.hpp"
#include "interposer/observe/capture.hpp"
#include "interposer/observe/managed_watch.hpp"
#include "observe_doubles.hpp"
#include "policy/relief_policy.hpp"
#include "tests/unit/interposer/made_allocation.hpp"

#include <boost/test/unit_test.hpp>
#include <memory>

BOOST_AUTO_TEST_SUITE(act_relief)

using namespace umadvisor;
using namespace umadvisor::act;
using namespace umadvisor::policy;
using Kind = ReliefStep::Kind;

namespace {

constexpr std::uint64_t kib = 1024, mib = 1024 * kib;
constexpr std::uint64_t id = 7, base = 0x7000'0000'0000, size = 16 * mib;

} // namespace

/// One allocation whose rounds take 100 us.
struct Turns {
    Turns() { launch(); }

    ReliefStep launch() {
        now += length;
        return policy->launch(id, base, size, now);
    }
    ReliefStep quiet_round() {
        policy->waited(moves);
        return launch();
    }
    ReliefStep faulting_round(std::uint64_t first, std::uint64_t last, std::uint64_t content = 0,
                              bool write = false, std::uint64_t faults = 10) {
        policy->waited(++moves);
        policy->host_fault(id, base + first, base + last, faults, write);
        if (policy->needs_content(id))
            policy->came_back(id, content);
        return launch();
    }
    /// The same table comes back until something is done.
    ReliefStep until_given() {
        ReliefStep step;
        for (int i = 0; i < 10 && step.kind == Kind::none; ++i)
            step = faulting_round(3 * mib, 5 * mib, 99);
        return step;
    }
    ReliefStep after_window(bool ended, bool faults) {
        for (unsigned i = 1; i < ReliefPolicy::window; ++i)
            BOOST_TEST((watched_round(ended, faults).kind == Kind::none));
        return watched_round(ended, faults);
    }
    ReliefStep watched_round(bool ended, bool faults) {
        if (ended)
            policy->copies_ended(id);
        return faults ? faulting_round(3 * mib, 5 * mib) : quiet_round();
    }

    std::unique_ptr<ReliefPolicy> policy = std::make_unique<ReliefPolicy>();
    std::uint64_t now = 1'000'000, length = 100'000, moves = 1;
};

BOOST_FIXTURE_TEST_SUITE(policy_of_relief, Turns)

BOOST_AUTO_TEST_CASE(what_both_read_becomes_read_mostly_in_its_hot_blocks) {
    for (unsigned i = 1; i < ReliefPolicy::least_rounds; ++i)
        BOOST_TEST((faulting_round(3 * mib, 5 * mib, 99).kind == Kind::none));
    const ReliefStep step = faulting_round(3 * mib, 5 * mib, 99);
    BOOST_TEST((step.kind == Kind::give));
    BOOST_TEST((step.remedy == Remedy::read_mostly));
    BOOST_TEST(step.address == base + 2 * mib);
    BOOST_TEST(step.bytes == 4 * mib);
}

BOOST_AUTO_TEST_CASE(what_somebody_writes_is_left_to_prefetches) {
    for (unsigned i = 1; i < ReliefPolicy::least_rounds; ++i)
        faulting_round(0, 8 * mib, 99, i == 2);
    const ReliefStep step = faulting_round(0, 8 * mib, 99);
    BOOST_TEST((step.kind == Kind::leave));
    BOOST_TEST(step.bytes == 8 * mib);
    for (int i = 0; i < 20; ++i)
        BOOST_TEST((faulting_round(0, 8 * mib, 99).kind == Kind::none));
}

BOOST_AUTO_TEST_CASE(what_the_device_changes_is_left_to_prefetches) {
    for (unsigned i = 1; i < ReliefPolicy::least_rounds; ++i)
        faulting_round(0, 8 * mib, i);
    BOOST_TEST((faulting_round(0, 8 * mib, 99).kind == Kind::leave));
}

BOOST_AUTO_TEST_CASE(large_memory_of_unknown_content_is_left_alone) {
    for (int i = 0; i < 40; ++i)
        BOOST_TEST((faulting_round(0, 8 * mib).kind == Kind::none));
}

BOOST_AUTO_TEST_CASE(little_memory_stays_with_the_host) {
    ReliefStep step;
    for (unsigned i = 0; i < ReliefPolicy::least_rounds; ++i)
        step = faulting_round(1 * mib + 4 * kib, 1 * mib + 12 * kib, i + 1, true, 2);
    BOOST_TEST((step.kind == Kind::give));
    BOOST_TEST((step.remedy == Remedy::accessed_by));
    BOOST_TEST(step.address == base + 1 * mib);
    BOOST_TEST(step.bytes == 64 * kib);
}

BOOST_AUTO_TEST_CASE(little_memory_that_is_prefetched_stays_with_nobody) {
    policy->leave_turns_to_prefetches();
    for (unsigned i = 0; i < 2 * ReliefPolicy::least_rounds; ++i)
        BOOST_TEST((faulting_round(0, 8 * kib, i + 1, true).kind != Kind::give));
    policy->forget(id);
    launch();
    unsigned rounds = 0;
    for (ReliefStep step; step.kind != Kind::give && rounds < 20; ++rounds) {
        policy->thrashed(id); // whatever is prefetched
        step = faulting_round(0, 8 * kib, rounds + 1, true);
    }
    BOOST_TEST(rounds == ReliefPolicy::window);
}

BOOST_AUTO_TEST_CASE(contested_memory_stays_with_the_host_unless_it_is_much) {
    for (const auto& [bytes, kind] : {std::pair{1 * mib, Kind::give}, {4 * mib, Kind::leave}}) {
        policy->forget(id);
        launch();
        ReliefStep step;
        for (unsigned i = 0; i < ReliefPolicy::least_rounds; ++i) {
            policy->thrashed(id);
            step = faulting_round(0, bytes, i + 1, true);
        }
        BOOST_TEST((step.kind == kind));
    }
}

BOOST_AUTO_TEST_CASE(filling_and_launches_without_a_wait_are_no_rounds) {
    policy->forget(id);
    policy->host_fault(id, base, base + size, 100, true);
    launch();
    for (int i = 0; i < 20; ++i) {
        policy->host_fault(id, base, base + 4 * kib, 1, true);
        BOOST_TEST((launch().kind == Kind::none));
    }
}

BOOST_AUTO_TEST_CASE(evidence_grows_old) {
    for (unsigned i = 1; i < ReliefPolicy::least_rounds; ++i)
        faulting_round(0, 4 * kib, 0, true);
    for (unsigned i = 0; i < ReliefPolicy::window; ++i)
        quiet_round();
    BOOST_TEST(!policy->needs_content(id));
    BOOST_TEST((faulting_round(0, 4 * kib, 0, true).kind == Kind::none));
}

BOOST_AUTO_TEST_CASE(advice_that_helps_is_kept) {
    BOOST_TEST((until_given().kind == Kind::give));
    for (int i = 0; i < 5; ++i)
        BOOST_TEST((after_window(false, false).kind == Kind::none));
}

BOOST_AUTO_TEST_CASE(a_write_now_and_then_is_no_reason_to_take_it_back) {
    until_given();
    for (unsigned i = 0; i < 10 * ReliefPolicy::window; ++i)
        BOOST_TEST((watched_round(i % 5 == 0, i % 5 == 0).kind == Kind::none));
}

BOOST_AUTO_TEST_CASE(advice_is_taken_back_for_good_where_it_is_written) {
    until_given();
    const ReliefStep step = after_window(true, false);
    BOOST_TEST((step.kind == Kind::withdraw));
    BOOST_TEST((step.remedy == Remedy::read_mostly));
    BOOST_TEST(step.address == base + 2 * mib);
    BOOST_TEST(step.bytes == 4 * mib);
    for (int i = 0; i < 40; ++i)
        BOOST_TEST((faulting_round(3 * mib, 5 * mib, 99).kind == Kind::none));
}

BOOST_AUTO_TEST_CASE(advice_is_taken_back_where_as_much_moves) {
    until_given();
    BOOST_TEST((after_window(false, true).kind == Kind::withdraw));
}

BOOST_AUTO_TEST_CASE(advice_that_makes_rounds_much_longer_is_taken_back_at_once) {
    for (unsigned i = 0; i < ReliefPolicy::least_rounds; ++i)
        faulting_round(0, 4 * kib, 0, true);
    length *= 3;
    ReliefStep step;
    unsigned rounds = 0;
    while (step.kind == Kind::none && rounds < ReliefPolicy::window) {
        step = quiet_round();
        ++rounds;
    }
    BOOST_TEST((step.kind == Kind::withdraw));
    BOOST_TEST(rounds <= ReliefPolicy::glance + 1);
}

BOOST_AUTO_TEST_CASE(advice_is_taken_back_where_rounds_become_longer) {
    until_given();
    length += length / 2;
    BOOST_TEST((after_window(false, false).kind == Kind::withdraw));
}

BOOST_AUTO_TEST_CASE(what_is_to_be_left_alone_is_never_forgotten) {
    policy->leave_alone(id);
    BOOST_TEST((until_given().kind == Kind::none));
    const std::uint64_t other = id + 512; // of the same slot
    policy->leave_alone(other);
    policy->forget(id);
    policy->launch(other, base, size, now);
    for (int i = 0; i < 10; ++i) {
        policy->waited(++moves);
        policy->host_fault(other, base, base + 4 * kib, 1, true);
        BOOST_TEST((policy->launch(other, base, size, now).kind == Kind::none));
    }
}

BOOST_AUTO_TEST_CASE(what_is_left_alone_is_of_no_concern_for_a_window) {
    policy->leave_alone(id);
    for (unsigned i = 1; i < ReliefPolicy::window; ++i) {
        faulting_round(0, 4 * kib);
        BOOST_TEST(!policy->has_no_concern());
    }
    faulting_round(0, 4 * kib);
    BOOST_TEST(policy->has_no_concern());
    policy->waited(0); // at rest nobody knows
    BOOST_TEST(policy->has_no_concern());
    policy->launch(id + 1, base + size, size, now);
    policy->waited(0);
    BOOST_TEST(policy->has_no_concern()); // it may go
    policy->launch(id + 1, base + size, size, now);
    BOOST_TEST(!policy->has_no_concern());
}

BOOST_AUTO_TEST_CASE(what_lives_for_one_round_is_of_no_concern) {
    for (unsigned i = 1; i <= ReliefPolicy::window; ++i) {
        policy->launch(id + i, base, size, now);
        policy->waited(++moves);
        policy->host_fault(id + i, base, base + 4 * kib, 1, true);
        policy->forget(id + i);
    }
    BOOST_TEST(policy->has_no_concern());
}

BOOST_AUTO_TEST_CASE(where_nothing_moves_nobody_has_to_rest) {
    policy->leave_alone(id);
    for (unsigned i = 0; i < 3 * ReliefPolicy::window; ++i)
        quiet_round();
    BOOST_TEST(!policy->has_no_concern());
}

BOOST_AUTO_TEST_CASE(what_is_watched_is_a_concern) {
    until_given();
    for (unsigned i = 0; i < 3 * ReliefPolicy::window; ++i) {
        ++moves; // other memory
        watched_round(false, false);
        BOOST_TEST(!policy->has_no_concern());
    }
}

BOOST_AUTO_TEST_CASE(what_is_undecided_is_a_concern_once_it_comes_back) {
    // By prefetches; the first round shows that it stays.
    for (unsigned i = 0; i <= ReliefPolicy::window; ++i) {
        ++moves;
        quiet_round();
    }
    BOOST_TEST(policy->has_no_concern());
    policy->came_back(id, 0); // as its pages show
    BOOST_TEST(!policy->has_no_concern());
}

BOOST_AUTO_TEST_SUITE_END()

/// Flags that host and device share, with the driver and its queue replaced.
struct Relieving {
    Relieving() {
        using namespace observe;
        install_driver();
        driver().managed_watched = true;
        observe::managed_watch().begin();
        runtime::Options options;
        runtime::parse_actions("relieve", options);
        initialize(options);
        static std::uint64_t address = 0x6100'0000'0000;
        address += 1ull << 30;
        allocation = made_allocation(address, 4 * kib, trace::Memory::managed);
        allocations().insert(allocation);
        touched.scanned = true;
        touched.managed_count = 1;
        touched.managed[0] = allocation;
        launch();
    }
    ~Relieving() {
        erase_allocation(allocation.address);
        notify_started<&Action::on_free>(allocation);
        observe::driver().managed_watched = observe::driver().managed_at_rest = false;
    }
    void rounds(int count) {
        for (int i = 0; i < count; ++i) {
            ++observe::driver().managed_activity;
            notify<&Action::end_round>();
            trace::ManagedEvent fault{.kind = trace::ManagedEventKind::host_fault,
                                      .address = allocation.address,
                                      .bytes = 4 * kib,
                                      .cause = static_cast<std::uint64_t>(trace::FaultAccess::write)};
            observe::driver().managed_events.push_back(fault);
            launch();
        }
    }
    void launch() { notify<&Action::before_launch>(LaunchScope{.touched = touched}); }
    observe::Allocation allocation{};
    observe::Touched touched;
};

BOOST_FIXTURE_TEST_SUITE(executor_of_relief, Relieving)

BOOST_AUTO_TEST_CASE(shared_flags_get_their_advice_and_lose_it) {
    rounds(4);
    const auto& made = observe::recorder().advices;
    BOOST_REQUIRE(made.size() == 1u);
    BOOST_TEST(made[0].advice == std::uint64_t{CU_MEM_ADVISE_SET_ACCESSED_BY});
    BOOST_TEST((made[0].location == trace::Location::device));
    BOOST_TEST((made[0].origin == trace::Origin::umadvisor));
    BOOST_TEST((made[0].reason == trace::Reason::small_and_shared));
    BOOST_TEST(made[0].address == allocation.address);
    BOOST_TEST(made[0].bytes == allocation.bytes);
    BOOST_TEST(number(made[0].allocation) == allocation.id);
    rounds(8); // no better
    BOOST_REQUIRE(made.size() == 2u);
    BOOST_TEST(made[1].advice == std::uint64_t{CU_MEM_ADVISE_UNSET_ACCESSED_BY});
    BOOST_TEST((made[1].reason == trace::Reason::no_relief));
    BOOST_REQUIRE(observe::recorder().notes.size() == 2u);
    // Why is a matter of the real clock: rounds this short may become longer by chance.
    BOOST_TEST(observe::recorder().notes[1].find("took SetAccessedBy") != std::string::npos);
    rounds(20);
    BOOST_TEST(made.size() == 2u);
}

BOOST_AUTO_TEST_CASE(the_queue_rests_when_all_that_moves_is_left_alone) {
    rounds(12); // advice given and taken back
    BOOST_TEST(!observe::driver().managed_at_rest);
    rounds(10);
    BOOST_TEST(observe::driver().managed_at_rest);
}

BOOST_AUTO_TEST_CASE(the_programs_own_advice_wins) {
    notify<&Action::on_advice>(
        trace::Advise{.address = allocation.address, .advice = CU_MEM_ADVISE_UNSET_READ_MOSTLY});
    rounds(10);
    BOOST_TEST(observe::driver().advices == 0u);
}

BOOST_AUTO_TEST_CASE(so_does_its_attachment) {
    notify<&Action::on_attachment>(trace::Attach{.address = allocation.address});
    rounds(10);
    BOOST_TEST(observe::driver().advices == 0u);
}

BOOST_AUTO_TEST_CASE(rewritten_memory_is_left_alone) {
    touched.managed[0].rewritten = true;
    rounds(10);
    BOOST_TEST(observe::driver().advices == 0u);
}

BOOST_AUTO_TEST_CASE(nothing_is_relieved_during_capture) {
    observe::captures_under_way = 1;
    rounds(10);
    observe::captures_under_way = 0;
    BOOST_TEST(observe::driver().advices == 0u);
}

BOOST_AUTO_TEST_CASE(without_the_queue_it_is_off_and_says_so) {
    observe::driver().managed_watched = false;
    rounds(10);
    BOOST_TEST(observe::driver().advices == 0u);
    observe::check_noted("tools queue");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
