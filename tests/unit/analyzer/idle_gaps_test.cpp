/// Findings on waits after which the device has nothing to do.
#include "busy_device.hpp"
#include "rendered.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_idle_gaps, *umadvisor::test::on_rules("UMA-102 UMA-502 UMA-503 UMA-505"))

using namespace umadvisor;
using namespace umadvisor::test;
using trace::SyncKind;

const auto close = boost::test_tools::tolerance(0.01);

struct Turns : Scenario {
    std::uint64_t kernel = function("step"), waits = stack(), launches = stack();
    std::uint64_t data = allocate(4096, Memory::device);

    void launch_step() { launch(kernel, {data}, 0, launches); }
    /// What the kernel has made comes to the host, which waits for it.
    void read_back(std::uint64_t to = 0) { download(64 * kib, ms, {.stack = waits, .to = to}); }
    /// What the next kernel reads goes up behind the host's back.
    void send(std::uint64_t bytes = 4096, std::uint64_t from = 0) {
        copy(bytes, 2000, {.source = Memory::pinned, .stack = launches, .asynchronous = true, .from = from});
    }
    std::vector<std::uint64_t> allocate_many(int count) {
        std::vector<std::uint64_t> all;
        for (int i = 0; i < count; ++i)
            all.push_back(allocate(4096, Memory::device));
        return all;
    }
    /// Rounds of a launch, a wait and host work; the last launch ends the last gap.
    template <class Wait>
    Found rounds(std::uint64_t host_work, const Wait& wait, int count = 50) {
        for (int i = 0; i < count; ++i) {
            launch_step();
            wait();
            now += host_work;
        }
        launch_step();
        return findings();
    }
    void waits_for(std::uint64_t duration, SyncKind kind = SyncKind::context, std::uint64_t object = 0) {
        synchronize({.kind = kind, .object = object, .stack = waits, .duration = duration});
    }
    Found findings() { return findings_of(*this); }
};

/// One rule counts what the copy takes beyond its kernel, the other what it takes beyond its bytes.
BOOST_AUTO_TEST_CASE(findings_at_one_call_claim_no_more_than_the_call_took,
                     *umadvisor::test::on_rules("UMA-101 UMA-505")) {
    BusyDevice device;
    const std::uint64_t data = device.memory(), line = device.stack();
    for (int i = 0; i < 30; ++i) {
        device.kernel({data}, 0, 10 * us);
        device.download(data, 2 * mib,
                        {.ns = 350 * us, .stack = line, .asynchronous = false, .host = Memory::pageable});
        device.tell_times();
        device.now += 300 * us;
    }
    device.kernel({data}, 0, 10 * us);
    device.wait();
    const Found all = findings_of(device);
    const Finding &pageable = among(all, "UMA-101"), &turns = among(all, "UMA-505");
    BOOST_TEST(pageable.saving_ns > 30 * 280e3);
    BOOST_TEST(turns.saving_ns > 30 * 20e3);
    BOOST_TEST(pageable.saving_ns + turns.saving_ns <= 30 * 350e3);
    BOOST_TEST(contains(turns.details.back(), "time of the same calls that UMA-101 saves"));
}

BOOST_FIXTURE_TEST_CASE(a_needless_wait_before_host_work, Turns) {
    const Finding finding = lone(rounds(2 * ms, [&] { waits_for(ms); }), "UMA-502");
    BOOST_TEST(finding.stack == waits);
    BOOST_TEST(place(finding) == launches);
    BOOST_TEST(finding.saving_ns == 50 * 1e6, close);
    BOOST_TEST((finding.confidence == Confidence::medium));
    Turns shorter; // the device works on without a break: what a launch takes is saved, too
    const double saving_ns = lone(shorter.rounds(ms / 2, [&] { shorter.waits_for(ms); }), "UMA-502").saving_ns;
    BOOST_TEST(saving_ns > 50 * 0.5e6);
    BOOST_TEST(saving_ns < 50 * 0.51e6);
}

BOOST_AUTO_TEST_CASE(a_wait_that_ends_a_measurement) {
    Turns by_clock; // from a wait with nothing to wait for, at once to the launch
    const std::uint64_t begins = by_clock.stack();
    const auto timed = [&](Turns& t, std::uint64_t between) {
        for (int i = 0; i < 50; ++i) {
            t.synchronize({.stack = begins, .duration = 2000});
            t.now += between;
            t.launch_step();
            t.waits_for(ms);
            t.now += 2 * ms;
        }
        t.launch_step();
        return of_rule(t.findings(), "UMA-502");
    };
    nothing_in(timed(by_clock, 0));
    Turns computes; // the host has something to do between that wait and the launch
    BOOST_TEST(computes.stack() == begins);
    lone(timed(computes, ms), "UMA-502");

    const auto by_events = [](bool before) {
        Turns t;
        for (int i = 0; i < 50; ++i) {
            if (before)
                t.record_event(6);
            t.launch_step();
            t.record_event(7);
            t.waits_for(ms, SyncKind::event, 7);
            t.now += 2 * ms;
        }
        t.launch_step();
        return of_rule(t.findings(), "UMA-502");
    };
    nothing_in(by_events(true));
    lone(by_events(false), "UMA-502");
}

BOOST_AUTO_TEST_CASE(a_wait_whose_result_is_read_next) {
    const auto rounds = [](bool reads) {
        Turns t;
        for (int i = 0; i < 50; ++i) {
            t.launch_step();
            t.waits_for(ms);
            t.now += 2 * ms;
            if (reads)
                t.download(64 * kib, 30 * us, {.stack = t.launches, .from = t.data});
        }
        t.launch_step();
        return of_rule(t.findings(), "UMA-502");
    };
    nothing_in(rounds(true));
    lone(rounds(false), "UMA-502");
}

BOOST_AUTO_TEST_CASE(an_upload_behind_the_kernel_of_another_stream) {
    const auto rounds = [](bool behind, bool reads = false) {
        Turns t;
        const std::uint64_t first = 0x5000, second = 0x6000, event = 7;
        for (int i = 0; i < 50; ++i) {
            t.launch(t.kernel, {t.data}, {.stream = first, .stack = t.launches});
            t.record_event(event, first);
            if (behind)
                t.act_on_stream(second, trace::StreamAction::wait_event, event);
            const Scenario::CopyOptions way{.source = Memory::pinned, .asynchronous = true, .stream = second};
            reads ? t.download(64 * kib, 2000, way) : t.copy(4096, 2000, way);
            t.waits_for(ms, SyncKind::stream, second);
            t.now += 2 * ms;
        }
        return of_rule(t.findings(), "UMA-502");
    };
    BOOST_TEST(contains(lone(rounds(true), "UMA-502").advice, "StreamWaitEvent"));
    nothing_in(rounds(false));      // the wait is for the upload alone
    nothing_in(rounds(true, true)); // for a result
}

BOOST_AUTO_TEST_CASE(the_wait_of_the_last_round_is_needless_like_the_others) {
    // No work comes after it, but the host waits for its kernel at the end.
    Turns t;
    for (int i = 0; i < 10; ++i) {
        t.launch_step();
        t.waits_for(ms);
        t.now += 2 * ms;
    }
    t.synchronize({.stack = t.stack(), .duration = 2000});
    BOOST_TEST(lone(t.findings(), "UMA-502").saving_ns == 10 * 1e6, close);
}

BOOST_FIXTURE_TEST_CASE(of_a_line_that_waits_for_results_as_well_the_needless_waits_count, Turns) {
    const std::uint64_t up = stack();
    int round = 0;
    const auto found = rounds(2 * ms, [&] {
        if (++round % 2 == 0)
            copy(4096, 2000, {.source = Memory::pinned, .stack = up, .asynchronous = true});
        waits_for(ms);
    });
    BOOST_TEST(among(found, "UMA-502").saving_ns == 25 * 1e6, boost::test_tools::tolerance(0.05));
}

BOOST_FIXTURE_TEST_CASE(no_more_than_low_confidence_where_a_replay_does_not_keep_time, Turns) {
    std::uint64_t round = 0;
    const auto found = rounds(2 * ms, [&] { waits_for(++round * 7 % 11 * ms); });
    BOOST_TEST((lone(found, "UMA-502").confidence == Confidence::low));
    const std::string text = text_of(path());
    BOOST_TEST(contains(text, "a replay predicts 24 waits of this run, off by "), text);
    BOOST_TEST(contains(text,
                        "% of its time; savings are of low confidence: "
                        "work of one kind took other times from round to round, or the device had work of "
                        "others to do"),
               text);
}

BOOST_FIXTURE_TEST_CASE(waits_of_the_stream_in_use_and_of_an_event_behind_it, Turns) {
    lone(rounds(2 * ms, [&] { waits_for(ms, SyncKind::stream); }), "UMA-502");
    Turns e;
    lone(e.rounds(2 * ms,
                  [&] {
                      e.record_event(7);
                      e.waits_for(ms, SyncKind::event, 7);
                  }),
         "UMA-502");
    Turns other;
    BOOST_TEST(other.rounds(2 * ms, [&] { other.waits_for(ms, SyncKind::stream, 5); }).empty());
    BOOST_TEST(other.rounds(2 * ms, [&] { other.waits_for(ms, SyncKind::event, 7); }).empty());
}

BOOST_AUTO_TEST_CASE(turns_that_are_none) {
    Turns t; // short gaps, short waits, or few
    BOOST_TEST(t.rounds(30'000, [&] { t.waits_for(ms); }).empty());
    BOOST_TEST(t.rounds(2 * ms, [&] { t.waits_for(10'000); }).empty());
    BOOST_TEST(t.rounds(
                    2 * ms, [&] { t.waits_for(ms); }, 4)
                   .empty());
}

BOOST_FIXTURE_TEST_CASE(work_of_another_thread_may_fill_the_gap, Turns) {
    trace::Set set{.memory = Memory::device};
    set.entry = entry("cuMemsetD8Async");
    set.start = now;
    builder.add(set, 2);
    BOOST_TEST(rounds(2 * ms, [&] { waits_for(ms); }).empty());
}

BOOST_FIXTURE_TEST_CASE(results_make_it_a_turn, Turns) {
    const Finding finding = lone(rounds(2 * ms, [&] { read_back(); }), "UMA-505");
    BOOST_TEST(finding.stack == waits);
    BOOST_TEST(finding.saving_ns == 50 * (1e6 - 8.3e3), close);
    BOOST_TEST((finding.confidence == Confidence::low));

    Turns upload; // which the host may overwrite when the wait is over
    const auto found = upload.rounds(2 * ms, [&] {
        upload.send();
        upload.waits_for(ms);
    });
    lone(found, "UMA-505");
}

BOOST_AUTO_TEST_CASE(a_host_that_waits_for_many_steps_at_once_runs_ahead) {
    for (const int launches : {120, 130}) {
        Turns t;
        const auto found = t.rounds(2 * ms, [&] {
            for (int i = 0; i < launches; ++i)
                t.launch_step();
            t.read_back();
        });
        BOOST_TEST(tells(found, "UMA-505") == (launches == 120));
    }
}

BOOST_AUTO_TEST_CASE(results_that_the_next_call_may_depend_on_save_a_range) {
    const auto rounds = [](Turns& t, bool asks) {
        t.rounds(2 * ms, [&] {
            t.read_back();
            if (asks)
                t.record_event(7);
        });
        return lone(t.findings(), "UMA-505");
    };
    Turns asks; // right behind the copy: what is asked may be what the copy brought
    const Finding open = rounds(asks, true);
    BOOST_TEST(open.saving_at_least_ns < 1e6);
    BOOST_TEST(open.saving_at_most_ns == open.saving_ns);
    const nlohmann::json report = json_of(asks.path());
    BOOST_TEST(report["findings"][0]["saving_at_most_ns"].get<double>() == open.saving_at_most_ns);
    BOOST_TEST(contains(text_of(asks.path()), "it may save "));

    Turns works; // the host's own work hides the wait, whether or not the next call needs the result
    const Finding decided = rounds(works, false);
    BOOST_TEST(decided.saving_at_most_ns == 0);
    BOOST_TEST(!json_of(works.path())["findings"][0].contains("saving_at_most_ns"));
}

BOOST_AUTO_TEST_CASE(what_is_freed_behind_a_turn_is_freed_a_round_later) {
    // The free does not wait in the place of the copy.
    Turns t;
    const auto scratch = t.allocate_many(50);
    std::size_t next = 0;
    const auto found = t.rounds(2 * ms, [&] {
        t.read_back();
        t.free(scratch[next++], 2000);
    });
    BOOST_TEST(among(found, "UMA-505").saving_ns == 50 * (1e6 - 8.3e3), close);
}

BOOST_AUTO_TEST_CASE(results_that_the_host_gives_back_keep_the_device_waiting) {
    for (const bool given_back : {true, false}) {
        Turns t;
        const std::uint64_t results = t.allocate(64 * 1024, Memory::pinned);
        const std::uint64_t sent = given_back ? results : t.allocate(64 * 1024, Memory::pinned);
        const auto found = t.rounds(2 * ms, [&] {
            t.read_back(results);
            t.now += 2 * ms;
            t.send(64 * kib, sent);
        });
        BOOST_TEST(tells(found, "UMA-505") != given_back);
    }
}

BOOST_FIXTURE_TEST_CASE(a_long_gap_makes_up_for_a_short_one, Turns) {
    int round = 0;
    const Finding finding = lone(rounds(0,
                                        [&] {
                                            waits_for(ms);
                                            now += ++round % 2 == 0 ? 2 * ms : ms / 2;
                                        }),
                                 "UMA-502");
    BOOST_TEST(finding.saving_ns == 49.5e6, close); // one by one they would be 37.5 ms
}

BOOST_FIXTURE_TEST_CASE(work_on_managed_memory_is_left_to_others, Turns) {
    data = allocate(mib, Memory::managed);
    BOOST_TEST(rounds(2 * ms, [&] { waits_for(ms); }).empty());
}

BOOST_FIXTURE_TEST_CASE(calls_that_other_rules_speak_of_are_no_host_work, Turns) {
    const auto found = rounds(
        0,
        [&] {
            waits_for(ms);
            free(data, 2 * ms);
            data = allocate(mib, Memory::device, {.duration = ms});
        },
        10);
    nothing_in(found);
}

BOOST_FIXTURE_TEST_CASE(a_free_waits_unasked, Turns) {
    const auto scratch = allocate_many(12);
    free(scratch.back(), 50'000); // what one takes by itself
    std::size_t next = 0;
    const Finding finding = lone(rounds(
                                     2 * ms, [&] { free(scratch[next++], ms, waits); }, 10),
                                 "UMA-503");
    BOOST_TEST(finding.stack == waits);
    BOOST_TEST(finding.saving_ns == 10 * 0.95e6, close);
    BOOST_TEST((finding.confidence == Confidence::medium));
    BOOST_TEST(contains(finding.advice, "cudaFreeAsync(ptr, stream)"));
    BOOST_TEST(lacks(finding.advice, "cop")); // it copies nothing
}

BOOST_AUTO_TEST_CASE(how_long_a_free_waited_is_known_from_the_kernels_before_it) {
    // A quick one comes late and takes longer by itself than others do; when the kernels' times are told, all
    // is over.
    const auto saved = [](std::uint64_t kernel_ns) {
        Turns t;
        const auto scratch = t.allocate_many(20);
        for (std::uint64_t i = 0; i < 20; ++i) {
            t.launch(t.kernel, {t.data}, i + 1, t.launches);
            t.free(scratch[i], 500'000, t.waits);
            t.now += ms;
        }
        t.synchronize({.stack = t.stack(), .duration = 1000});
        for (std::uint64_t i = 0; i < 8; ++i)
            t.device_time(i + 1, kernel_ns);
        return among(t.findings(), "UMA-503").saving_ns;
    };
    BOOST_TEST(saved(450'000) == 20 * 450e3, boost::test_tools::tolerance(0.02));
    BOOST_TEST(saved(100'000) == 20 * 100e3, boost::test_tools::tolerance(0.1)); // the rest is the free's own
}

BOOST_AUTO_TEST_CASE(looking_at_what_is_copied_is_no_host_work) {
    // Upload, kernel, download, one after the other; the bytes are looked at for 2 ms a round.
    const auto rounds = [](std::uint64_t up_look, std::uint64_t down_look) {
        Turns t;
        const std::uint64_t host = t.allocate(16 * mib, Memory::pinned);
        const auto round = [&] {
            t.now += up_look;
            t.copy(16 * mib, ms,
                   {.source = Memory::pinned, .from = host, .to = t.data, .look_duration = up_look});
            t.launch_step();
            t.download(16 * mib, 3 * ms, {.from = t.data, .to = host, .look_duration = down_look});
            t.now += down_look;
        };
        for (int i = 0; i < 20; ++i)
            round();
        return tells(t.findings(), "UMA-505");
    };
    BOOST_TEST(!rounds(2 * ms, 0));
    BOOST_TEST(!rounds(0, 2 * ms));
}

BOOST_AUTO_TEST_CASE(a_pageable_copy_that_waits_is_told_of_once) {
    Turns t;
    const std::uint64_t data = t.allocate(16 * mib, Memory::device);
    const auto found = t.rounds(
        2 * ms,
        [&] {
            t.download(16 * mib, 3 * ms,
                       {.destination = Memory::pageable, .stack = t.waits, .asynchronous = true, .from = data});
        },
        10);
    const Finding finding = lone(found, "UMA-102");
    BOOST_REQUIRE(finding.parts.size() == 1u);
    BOOST_TEST(finding.parts.front().rule->id == "UMA-503");
    BOOST_TEST(contains(finding.parts.front().advice, "cudaMemcpyAsync"));
    BOOST_TEST(lacks(finding.parts.front().advice, "ree")); // it frees nothing
}

BOOST_AUTO_TEST_SUITE_END()
