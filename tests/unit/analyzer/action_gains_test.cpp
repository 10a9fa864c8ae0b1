/// What umadvisor's actions gained, by the program's own time with and without them.
#include "analyzer/reports/action_lines.hpp"
#include "rendered.hpp"
#include "scenario.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_action_gains)

using namespace umadvisor;
using namespace umadvisor::test;
using nlohmann::json;

/// What a round takes, milliseconds.
struct Times {
    std::uint64_t wait = 2, host = 3;
};

/// Rounds of a loop: a launch that misses 64 MiB, a wait, and the host takes them back.
struct Loop : Scenario {
    Loop() {
        builder.add(trace::Option{.option = "ACT", .value = "auto"});
        kernel = function("_Z6kernelv");
        site = stack();
        wait_site = stack();
        memory = allocate(64 * mib, trace::Memory::managed);
    }
    void prefetch(trace::Reason reason, std::uint64_t at) {
        const bool home = reason == trace::Reason::host_returns;
        Scenario::prefetch(
            memory, 64 * mib, home ? trace::Location::host : trace::Location::device,
            {.stack = at, .duration = 50 * us, .origin = trace::Origin::umadvisor, .reason = reason});
    }
    void compare(bool leaves, bool whole = true, std::uint64_t at = 0) {
        trace::Comparison record{
            .start = now, .stack = at != 0 ? at : site, .leaves = leaves, .whole = !leaves && whole};
        builder.add(record);
    }
    void advise(trace::Reason reason, std::uint64_t status = 0) {
        trace::Advise record{.bytes = 64 * mib,
                             .allocation = trace::AllocationId{memory},
                             .origin = trace::Origin::umadvisor,
                             .reason = reason};
        record.stack = site;
        record.status = status;
        call(record, "cuMemAdvise");
    }
    void round(Times times, bool brought, int launches = 1) {
        if (brought)
            prefetch(trace::Reason::not_resident, site);
        for (int i = 0; i < launches; ++i)
            launch(kernel, {memory}, 0, site);
        synchronize({.stack = wait_site, .duration = times.wait * ms});
        if (brought && goes_home)
            prefetch(trace::Reason::host_returns, wait_site);
        now += times.host * ms;
    }
    void rounds(int count, Times times, bool brought = true, int launches = 1) {
        for (int i = 0; i < count; ++i)
            round(times, brought, launches);
    }
    void brief_rounds(int count, std::uint64_t microseconds, bool brought) {
        for (int i = 0; i < count; ++i) {
            if (brought)
                prefetch(trace::Reason::not_resident, site);
            launch(kernel, {memory}, 0, site);
            synchronize({.stack = wait_site, .duration = microseconds * 1000});
        }
    }
    void left(Times times, int launches = 1) {
        compare(true);
        round(times, false, launches);
        compare(false);
    }
    json lines() { return json_of(path())["actions"]["lines"]; }
    double gain(std::size_t line = 0) { return lines().at(line)["gain_ns"].get<double>(); }
    /// Nothing is known of it, and the text says why.
    void no_gain(std::string_view why) {
        BOOST_TEST(lines()[0]["gain_ns"].is_null());
        BOOST_TEST(contains(text_of(path()), why));
    }

    std::uint64_t kernel = 0, site = 0, wait_site = 0, memory = 0;
    bool goes_home = false;
};

const auto within = boost::test_tools::tolerance(0.05);

BOOST_FIXTURE_TEST_CASE(rounds_that_were_left_alone_tell_what_prefetches_gain, Loop) {
    rounds(20, {2, 3});
    left({12, 3});
    rounds(20, {2, 3});
    const json line = lines()[0];
    BOOST_TEST(line["action"] == "prefetch_to_device");
    BOOST_TEST(line["gain_ns"].get<double>() == 38 * 9.95e6, within);
    BOOST_TEST(line["places"][0]["gain_ns"] == line["gain_ns"]);
    BOOST_TEST(
        contains(text_of(path()), "from the program's own time: 38 rounds with it, 1 round left without it"));
}

BOOST_FIXTURE_TEST_CASE(of_many_rounds_left_alone_the_mean_counts_but_for_the_first, Loop) {
    rounds(20, {2, 3});
    compare(true);
    for (int i = 0; i < 8; ++i)
        round({i == 0 ? 2u : i % 2 ? 4u : 20u, 3}, false); // each second one is throttled
    round({100, 3}, false);
    for (int i = 0; i < 3; ++i)
        round({12, 3}, false);
    compare(false);
    rounds(20, {2, 3});
    BOOST_TEST(gain() == 38 * 9.15e6, within);
}

BOOST_FIXTURE_TEST_CASE(a_loop_that_prefetches_slow_down_is_told_as_lost, Loop) {
    rounds(20, {6, 3});
    left({2, 3});
    rounds(20, {6, 3});
    BOOST_TEST(gain() == -38 * 4.05e6, within);
    BOOST_TEST(contains(text_of(path()), "; lost about 15"));
}

BOOST_FIXTURE_TEST_CASE(an_action_that_does_nothing_gains_nothing, Loop) {
    for (int i = 0; i < 10; ++i)
        rounds(2, {i % 2 ? 2u : 4u, 3});
    left({5, 3}); // no further off than rounds are from each other
    rounds(10, {3, 3});
    no_gain("no difference: ");
}

BOOST_FIXTURE_TEST_CASE(of_brief_rounds_nothing_is_told, Loop) {
    brief_rounds(20, 300, true);
    compare(true);
    brief_rounds(8, 100, false);
    compare(false);
    brief_rounds(20, 300, true);
    no_gain("gain unknown: in rounds of less than 1 ms");
}

BOOST_FIXTURE_TEST_CASE(of_brief_rounds_relief_tells_nothing_either, Loop) {
    brief_rounds(6, 800, false);
    advise(trace::Reason::small_and_shared);
    brief_rounds(30, 100, false);
    no_gain("gain unknown: in rounds of less than 1 ms");
}

BOOST_FIXTURE_TEST_CASE(without_a_round_left_alone_nothing_is_told, Loop) {
    rounds(20, {2, 3});
    compare(true); // and the next round never comes
    round({12, 3}, false);
    compare(false, false);
    rounds(5, {2, 3});
    no_gain("gain unknown: nothing in this run was left unchanged");
    BOOST_TEST(lacks(text_of(path()), "saved about"));
    BOOST_TEST(lacks(text_of(path()), "lost about"));
}

BOOST_FIXTURE_TEST_CASE(waits_gain_by_what_is_brought_to_the_device_and_the_host_by_what_comes_home, Loop) {
    goes_home = true;
    rounds(20, {2, 3});
    left({12, 8});
    rounds(20, {2, 3});
    const json told = lines();
    BOOST_TEST(told[0]["gain_ns"].get<double>() == 38 * 9.95e6, within);
    BOOST_TEST(told[1]["action"] == "prefetch_to_host");
    BOOST_TEST(told[1]["gain_ns"].get<double>() == 38 * 4.95e6, within);
}

BOOST_FIXTURE_TEST_CASE(launches_between_two_waits_are_one_round, Loop) {
    rounds(20, {2, 3}, true, 5);
    left({12, 3}, 5);
    rounds(20, {2, 3}, true, 5);
    BOOST_TEST(gain() == 38 * 9.95e6, within);
}

BOOST_FIXTURE_TEST_CASE(a_loop_with_two_launch_sites_gains_once, Loop) {
    const auto second = stack();
    const auto reach = [&](std::uint64_t at, bool brought) {
        if (brought)
            prefetch(trace::Reason::not_resident, at);
        launch(kernel, {memory}, 0, at);
    };
    const auto rest = [&](std::uint64_t wait) {
        synchronize({.stack = wait_site, .duration = wait * ms});
        now += 3 * ms;
    };
    for (int i = 0; i < 40; ++i) {
        const bool first_left = i == 20, second_left = i == 30, second_ends = i == 31;
        if (first_left)
            compare(true);
        if (i == 21)
            compare(false);
        reach(site, !first_left && !second_ends);
        if (second_left)
            compare(true, true, second);
        if (second_ends)
            compare(false, true, second);
        reach(second, !first_left && !second_left);
        rest(first_left || second_left ? 12 : 2);
    }
    const json line = lines()[0];
    BOOST_TEST(line["places"].size() == 2u);
    BOOST_TEST(line["gain_ns"].get<double>() > 35 * 9.8e6);
    BOOST_TEST(line["gain_ns"].get<double>() < 40 * 10e6);
}

BOOST_FIXTURE_TEST_CASE(relief_gains_what_rounds_take_less_after_it, Loop) {
    rounds(6, {5, 5}, false);
    advise(trace::Reason::read_by_both);
    rounds(30, {1, 1}, false);
    const json line = lines()[0];
    BOOST_TEST(line["action"] == "relieve");
    BOOST_TEST(line["gain_ns"].get<double>() == 29 * 8e6, within);
    BOOST_TEST(contains(text_of(path()), "29 rounds with it, 5 rounds before it"));
}

BOOST_FIXTURE_TEST_CASE(relief_that_was_taken_back_tells_of_the_rounds_that_had_it, Loop) {
    rounds(6, {5, 5}, false);
    advise(trace::Reason::small_and_shared);
    rounds(8, {6, 6}, false);
    advise(trace::Reason::no_relief);
    rounds(50, {5, 5}, false);
    BOOST_TEST(gain() == -8 * 2e6, within);
}

BOOST_FIXTURE_TEST_CASE(relief_that_failed_or_comes_first_gains_nothing, Loop) {
    rounds(6, {5, 5}, false);
    advise(trace::Reason::read_by_both, 1);
    rounds(10, {1, 1}, false);
    BOOST_TEST(lines()[0]["gain_ns"].is_null());
    Loop early;
    early.round({5, 5}, false);
    early.advise(trace::Reason::read_by_both);
    early.rounds(10, {1, 1}, false);
    BOOST_TEST(early.lines()[0]["gain_ns"].is_null());
}

BOOST_FIXTURE_TEST_CASE(staged_copies_are_held_against_those_that_the_driver_made, Loop) {
    const auto wait = stack();
    const auto copies = [&](int count, std::uint64_t bytes, std::uint64_t duration, CopyOptions options) {
        options.stack = wait;
        for (int i = 0; i < count; ++i)
            copy(bytes, duration, options);
    };
    // Work before them took most of the time of both.
    copies(10, 8 * mib, 5 * ms, {.staged = true, .wait_duration = 4 * ms});
    copies(1, 8 * mib, 24 * ms, {.reason = trace::Reason::compared, .wait_duration = 20 * ms});
    copies(10, 8 * mib, 5 * ms, {.staged = true, .wait_duration = 4 * ms});
    copies(2, 64 * mib, ms, {.reason = trace::Reason::compared}); // of another length
    const json line = lines()[0];
    BOOST_TEST(line["action"] == "stage_to_device");
    BOOST_TEST(line["gain_ns"].get<double>() == 20 * 3e6, within);
    BOOST_TEST(contains(text_of(path()), "20 copies with it, 1 copy that the driver made"));
}

BOOST_FIXTURE_TEST_CASE(copies_that_the_driver_makes_as_fast_gain_nothing, Loop) {
    for (int i = 0; i < 10; ++i)
        copy(8 * mib, ms, {.staged = true});
    BOOST_TEST(lines()[0]["gain_ns"].is_null());
    copy(8 * mib, ms, {.reason = trace::Reason::compared});
    BOOST_TEST(lines()[0]["gain_ns"].is_null());
    BOOST_TEST(contains(text_of(path()), "no difference: 10 copies with it, 1 copy that the driver made"));
    copy(8 * mib, ms / 2, {.reason = trace::Reason::compared});
    copy(8 * mib, ms / 2, {.reason = trace::Reason::slower_staged});
    BOOST_TEST(gain() == -5e6, within);
}

BOOST_AUTO_TEST_CASE(what_staging_takes_is_no_fault_of_the_program) {
    const auto saving = [](bool staged) {
        Scenario s;
        const auto at = s.stack();
        for (int i = 0; i < 8; ++i)
            s.copy(256 * mib, 200 * ms, {.stack = at, .staged = staged});
        const json report = json_of(s.path());
        double most = 0;
        for (const json& finding : report["findings"])
            most = std::max(most, finding["saving_ns"].get<double>());
        return most;
    };
    BOOST_TEST(saving(false) > 1e9);
    BOOST_TEST(saving(true) < 8 * 27e6); // by the driver it would take 26 ms
}

namespace {

/// Rounds that allocate in the order of a stream, with `took` each.
struct PoolRounds : Scenario {
    PoolRounds() { builder.add(trace::Option{.option = "ACT", .value = "pools"}); }
    void allocate_in_order(int count, std::uint64_t took) {
        for (int i = 0; i < count; ++i) {
            trace::Alloc record{.allocation = trace::AllocationId{++allocations},
                                .bytes = 8 * mib,
                                .memory = trace::Memory::device};
            record.stack = site;
            call(record, "cuMemAllocAsync", took);
        }
    }
    void raise() {
        trace::Pool record{.action = trace::PoolAction::set_attribute,
                           .origin = trace::Origin::umadvisor,
                           .reason = trace::Reason::pool_refills};
        record.stack = wait;
        call(record, "cuMemPoolSetAttribute");
    }
    json line() { return json_of(path())["actions"]["lines"][0]; }

    std::uint64_t site = stack(), wait = stack(), allocations = 0;
};

} // namespace

BOOST_FIXTURE_TEST_CASE(a_pool_gains_what_allocations_take_less_after_it_was_raised, PoolRounds) {
    allocate_in_order(4, 50 * us);
    raise();
    allocate_in_order(100, 2 * us);
    const json shown = line();
    BOOST_TEST(shown["action"] == "hold_pool");
    BOOST_TEST(shown["gain_ns"] == 100 * 48 * us);
    BOOST_TEST(contains(text_of(path()), "the program's own time: 100 calls with it, 4 calls before it"));
}

BOOST_FIXTURE_TEST_CASE(a_pool_whose_allocations_take_as_long_gains_nothing, PoolRounds) {
    allocate_in_order(4, 50 * us);
    raise();
    allocate_in_order(100, 50 * us);
    BOOST_TEST(line()["gain_ns"].is_null());
    BOOST_TEST(
        contains(text_of(path()), "no difference: 100 calls with it, 4 calls before it took equally long"));
}

BOOST_FIXTURE_TEST_CASE(of_a_pool_that_was_raised_at_once_no_gain_is_known, PoolRounds) {
    raise();
    allocate_in_order(100, 2 * us);
    BOOST_TEST(line()["gain_ns"].is_null());
}

BOOST_AUTO_TEST_SUITE_END()
