#include "analyzer/advice/findings.hpp"
/// What remedies would do to the order of a program's work: each fault beside a twin that needs no order.
#include "busy_device.hpp"
#include "command_run.hpp"
#include "transfers.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_order_check)

using namespace umadvisor;
using namespace umadvisor::test;
using rules::Order;
using trace::SyncKind;

namespace {

struct Checked {
    Found shown, stopped;

    bool shows(std::string_view id) const { return !of_rule(shown, id).empty(); }
    bool stops(std::string_view id) const { return !of_rule(stopped, id).empty(); }
    /// Null: it is not shown.
    const Finding* shown_of(std::string_view id) const {
        const auto found = std::ranges::find(shown, id, [](const Finding& each) { return each.rule->id; });
        return found == shown.end() ? nullptr : &*found;
    }
    Order order_of(std::string_view id) const {
        const Finding* const finding = shown_of(id);
        BOOST_REQUIRE(finding != nullptr);
        return finding->order;
    }
};

Checked check(Scenario& scenario) {
    reader::Trace trace(scenario.path());
    const rules::Profile profile(trace);
    advice::Findings found = advice::find_all(profile, own_line);
    return {std::move(found.all), std::move(found.stopped)};
}

constexpr std::uint64_t one = 0x5000, two = 0x6000;

/// Two streams, and waits for one of them.
struct Streams : Scenario {
    std::uint64_t writer = function("_Z4fillPfi"), reader = function("_Z4lookPKfPf");
    std::uint64_t data = allocate(8 * mib, Memory::device, stack()),
                  other = allocate(8 * mib, Memory::device, stack());
    std::uint64_t target = allocate(8 * mib, Memory::pinned, stack());
    std::uint64_t writing = stack(), reading = stack(), waiting = stack();

    explicit Streams(bool blocking = false) {
        make_stream(one, !blocking);
        make_stream(two, !blocking);
    }
    void write(std::uint64_t stream, std::uint64_t allocation) {
        launch(writer, {allocation}, {.stream = stream, .stack = writing});
    }
    void read(std::uint64_t stream, std::uint64_t allocation, std::uint64_t into) {
        launch(reader, {allocation, into}, {.stream = stream, .stack = reading});
    }
    void wait(std::uint64_t stream, std::uint64_t duration = 30 * us) {
        synchronize({.kind = SyncKind::stream, .object = stream, .stack = waiting, .duration = duration});
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(waits_left_out) // UMA-506

BOOST_AUTO_TEST_CASE(a_copy_in_the_default_stream_does_not_wait_for_a_stream_that_does_not_block) {
    const auto rounds = [](bool blocking) {
        Streams s(blocking);
        for (int round = 0; round < 200; ++round) {
            s.write(one, s.data);
            s.wait(one);
            s.write(one, s.data);
            s.download(8 * mib, 200 * us, {.stack = s.reading, .from = s.data, .to = s.target});
        }
        return check(s);
    };
    // The copy brings what the first of the two kernels has made; the second may overtake it.
    const Checked race = rounds(false), fine = rounds(true);
    BOOST_TEST(!race.shows("UMA-506"));
    BOOST_REQUIRE(race.stops("UMA-506"));
    const Finding stopped = of_rule(race.stopped, "UMA-506").front();
    BOOST_TEST((stopped.order == Order::named));
    BOOST_TEST(
        std::ranges::any_of(stopped.lost_order, [](const rules::OrderLoss& pair) { return !pair.by_host; }));
    BOOST_TEST((fine.order_of("UMA-506") == Order::kept));
}

BOOST_AUTO_TEST_CASE(a_report_is_the_same_in_one_thread_and_in_several) {
    Streams s;
    constexpr int rounds = 200;
    for (int round = 0; round < rounds; ++round) {
        s.write(one, s.data);
        s.wait(one);
        s.write(one, s.data);
        s.download(8 * mib, 200 * us, {.stack = s.reading, .from = s.data, .to = s.target});
    }
    // Without the finding that the order check stops, the others are replayed anew.
    BOOST_TEST(check(s).stops("UMA-506"));
    const auto report = [&s](const std::string& jobs) {
        return run({"report", "--json", "--jobs", jobs, s.path()}).out;
    };
    const std::string alone = report("1");
    BOOST_TEST(alone.find("\"hidden_waits\"") != std::string::npos);
    for (const char* jobs : {"2", "3", "16"})
        BOOST_TEST(report(jobs) == alone);
}

BOOST_AUTO_TEST_CASE(a_wait_that_orders_two_streams) {
    const auto rounds = [](bool shared) {
        Streams s;
        for (int round = 0; round < 200; ++round) {
            s.write(one, s.data);
            s.wait(one);
            s.read(two, shared ? s.data : s.other, s.other);
            s.wait(two);
        }
        return check(s);
    };
    const Checked shared = rounds(true), apart = rounds(false);
    BOOST_TEST(!shared.shows("UMA-506"));
    BOOST_TEST(shared.stops("UMA-506"));
    BOOST_TEST((apart.order_of("UMA-506") == Order::kept));
}

BOOST_AUTO_TEST_CASE(a_line_that_also_waits_for_what_the_host_reads) {
    const auto rounds = [](bool reads) {
        Streams s;
        for (int round = 0; round < 200; ++round) {
            s.write(one, s.data);
            s.wait(one);
            if (reads && round % 20 == 19) {
                s.download(
                    8 * mib, 3 * us,
                    {.stack = s.reading, .asynchronous = true, .stream = one, .from = s.data, .to = s.target});
                s.wait(one, 200 * us);
                s.now += 300 * us; // the host reads it
            }
        }
        return check(s);
    };
    const Checked reads = rounds(true), goes_on = rounds(false);
    BOOST_TEST((reads.order_of("UMA-506") == Order::named));
    BOOST_TEST(contains(reads.shown_of("UMA-506")->advice, "add a wait: cudaStreamSynchronize(stream)"));
    BOOST_TEST((goes_on.order_of("UMA-506") == Order::kept));
    BOOST_TEST(!contains(goes_on.shown_of("UMA-506")->advice, "add a wait"));
}

/// The copy has read its source when it returns, whether the host waits later or not.
BOOST_AUTO_TEST_CASE(the_source_of_a_staged_upload_may_change_at_once) {
    Streams s;
    for (int round = 0; round < 200; ++round) {
        s.copy(64 * 1024, 10 * us,
               {.stack = s.reading, .asynchronous = true, .stream = one, .to = s.other, .part = 5u + round});
        s.write(one, s.data);
        s.wait(one);
    }
    BOOST_TEST((check(s).order_of("UMA-506") == Order::kept));
}

BOOST_AUTO_TEST_CASE(an_order_that_calls_do_not_show_is_not_known) {
    Streams s;
    s.act_on_stream(two, trace::StreamAction::wait_value);
    for (int round = 0; round < 200; ++round) {
        s.write(one, s.data);
        s.wait(one);
    }
    BOOST_TEST((check(s).order_of("UMA-506") == Order::unknown));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(work_in_the_default_stream_that_orders_two_others) { // UMA-110
    const auto rounds = [](bool shared) {
        BusyDevice s;
        const std::uint64_t data = s.memory(), count = s.memory(), apart = s.memory(), other = s.memory(),
                            line = s.stack();
        const std::uint64_t look = s.function("_Z4lookPKfPf");
        const std::uint64_t first = s.make_stream(), second = s.make_stream();
        s.wait(1000);
        for (int round = 0; round < 40; ++round) {
            s.kernel({data}, first, 140 * us);
            s.kernel({count}, 0, 140 * us, line);
            s.launch(look, {shared ? data : apart, other}, {.stream = second, .ns = 140 * us});
            s.kernel({count}, 0, 140 * us, line);
        }
        s.wait(160 * 140 * us);
        return check(s);
    };
    const Checked shared = rounds(true), apart = rounds(false);
    BOOST_TEST(!shared.shows("UMA-110"));
    BOOST_TEST(shared.stops("UMA-110"));
    BOOST_TEST((apart.order_of("UMA-110") == Order::kept));
}

BOOST_AUTO_TEST_CASE(a_buffer_that_is_kept_is_used_by_the_next_round) { // UMA-401
    const auto rounds = [](bool alternate) {
        Streams s;
        const std::uint64_t making = s.stack(), freeing = s.stack();
        for (int round = 0; round < 200; ++round) {
            const auto buffer = s.allocate(8 * mib, Memory::device, {.stack = making, .duration = 100 * us});
            s.write(alternate && round % 2 == 1 ? two : one, buffer);
            s.free(buffer, 100 * us, freeing);
        }
        return check(s);
    };
    const Checked alternate = rounds(true), same = rounds(false);
    BOOST_TEST((alternate.order_of("UMA-401") == Order::named));
    BOOST_TEST(contains(alternate.shown_of("UMA-401")->advice, "cudaStreamWaitEvent(other, event)"));
    BOOST_TEST((same.order_of("UMA-401") == Order::kept));
}

BOOST_AUTO_TEST_CASE(an_upload_for_nothing_that_orders_two_streams) { // UMA-106
    const auto rounds = [](bool shared) {
        Transfers s;
        for (const std::uint64_t stream : {one, two})
            s.make_stream(stream); // blocking: the copy in the default stream waits for them, and they for it
        const auto line = s.stack();
        const auto data = s.allocate(mib, Memory::device), apart = s.allocate(mib, Memory::device);
        const auto write = s.function("_Z4fillPfi"), read = s.function("_Z4lookPKfPf");
        for (int round = 0; round < 20; ++round) {
            s.launch(write, {data}, {.stream = one, .stack = line});
            s.upload(999, 999);
            s.launch(read, {shared ? data : apart, s.other}, {.stream = two, .stack = line});
            s.upload(999, 999);
        }
        return check(s);
    };
    const Checked shared = rounds(true), apart = rounds(false);
    BOOST_TEST((shared.order_of("UMA-106") == Order::named));
    BOOST_TEST(contains(shared.shown_of("UMA-106")->advice, "cudaEventRecord(event, stream)"));
    BOOST_TEST(shared.shown_of("UMA-106")->order_places != 0);
    BOOST_TEST(contains(shared.shown_of("UMA-106")->places.front().first, "this work must come first"));
    BOOST_TEST((apart.order_of("UMA-106") == Order::kept));
}

BOOST_AUTO_TEST_CASE(a_copy_that_waits_because_it_is_pageable) { // UMA-102
    const auto rounds = [](bool host_waits) {
        Streams s;
        const auto line = s.stack();
        for (int round = 0; round < 40; ++round) {
            s.copy(8 * mib, 1500 * us,
                   {.stack = line, .asynchronous = true, .stream = one, .to = s.data, .part = 5u + round});
            s.read(one, s.data, s.other);
            if (host_waits)
                s.wait(one, 50 * us);
            s.now += 100 * us; // the host fills the buffer anew
        }
        return check(s);
    };
    const Checked trusts = rounds(false), waits = rounds(true);
    BOOST_TEST((trusts.order_of("UMA-102") == Order::named));
    BOOST_TEST(contains(trusts.shown_of("UMA-102")->advice,
                        "before the host reads or changes memory that these calls use"));
    BOOST_TEST((waits.order_of("UMA-102") == Order::kept));
}

BOOST_AUTO_TEST_CASE(memory_that_two_streams_use_is_freed_in_the_order_of_one) { // UMA-503
    const auto rounds = [](bool both) {
        Streams s;
        const std::uint64_t freeing = s.stack();
        for (int round = 0; round < 20; ++round) {
            const auto buffer = s.allocate(8 * mib, Memory::device, s.stack());
            s.write(one, buffer);
            if (both)
                s.launch(s.reader, {buffer, s.other}, {.stream = two, .stack = s.reading});
            s.free(buffer, ms, freeing);
            s.now += 2 * ms;
        }
        s.write(one, s.data);
        return check(s);
    };
    const Checked both = rounds(true), alone = rounds(false);
    BOOST_TEST(!both.shows("UMA-503"));
    BOOST_TEST(both.stops("UMA-503"));
    BOOST_TEST((alone.order_of("UMA-503") == Order::kept));
}

BOOST_AUTO_TEST_CASE(lines_that_need_an_order_come_first_and_once) {
    Finding larger, part;
    larger.rule = part.rule = &rules::uma_106;
    larger.places = {{"another", ids::StackId(7)}};
    part.places = {{"left out", ids::StackId(3)}};
    for (int pair = 0; pair < 2; ++pair) {
        rules::add_order_place(part, "first", ids::StackId(1));
        rules::add_order_place(part, "second", ids::StackId(2));
    }
    rules::add_order_place(larger, "first", ids::StackId(1));
    rules::fold(larger, part);
    const std::vector<std::pair<std::string, ids::StackId>> expected{
        {"first", ids::StackId(1)}, {"second", ids::StackId(2)}, {"another", ids::StackId(7)}};
    BOOST_TEST((larger.places == expected));
}

BOOST_AUTO_TEST_CASE(an_edit_that_was_not_followed_is_not_offered) { // UMA-501
    constexpr int lines = 70;
    Streams s;
    s.write(one, s.data);
    s.wait(one);
    for (int line = 0; line < lines; ++line) {
        const std::uint64_t again = s.stack();
        for (int call = 0; call < 110; ++call)
            s.synchronize({.kind = SyncKind::stream, .object = one, .stack = again, .duration = 5 * us});
    }
    int followed = 0, left = 0;
    for (const Finding& finding : of_rule(check(s).shown, "UMA-501")) {
        const bool unknown = finding.order == Order::unknown;
        ++(unknown ? left : followed);
        BOOST_TEST(finding.code_edits.empty() == unknown);
        BOOST_TEST((!unknown || finding.confidence == Confidence::low));
    }
    BOOST_TEST(followed == 64);
    BOOST_TEST(left == lines - 64);
}

BOOST_AUTO_TEST_SUITE_END()
