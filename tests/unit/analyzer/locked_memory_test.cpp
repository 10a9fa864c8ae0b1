/// UMA-406 of buffers in turn, and the account of page-locked memory.
#include "command_run.hpp"
#include "found.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_locked_memory, *umadvisor::test::on_rules("UMA-406 UMA-409"))

using namespace umadvisor;
using namespace umadvisor::test;

/// Sixteen buffers of 16 MiB, of which each copy uses the next: two are in flight at once.
struct Ring : Scenario {
    static constexpr std::uint64_t buffers = 16, rounds = 4 * buffers, bytes = 16 * mib, fill_ns = ms;
    std::uint64_t line = stack(), stream = 0x5000, at_once = 2, fills_ns = fill_ns, round = 0;
    bool fresh = true, down = false;
    std::vector<std::uint64_t> ring;
    std::uint64_t data = 0;

    void make(std::uint64_t count = buffers, std::uint64_t last_bytes = bytes) {
        data = allocate(bytes, Memory::device);
        for (std::uint64_t i = 0; i < count; ++i)
            ring.push_back(allocate(i + 1 == count ? last_bytes : bytes, Memory::pinned,
                                    {.stack = line, .duration = 2 * ms}));
        make_stream(stream, true);
    }
    void move(std::uint64_t number) {
        const std::uint64_t host = ring[number % ring.size()];
        CopyOptions options{.asynchronous = true, .stream = stream, .host_address = address_of(host)};
        options.source = down ? Memory::device : Memory::pinned;
        options.destination = down ? Memory::pinned : Memory::device;
        options.from = down ? data : host;
        options.to = down ? host : data;
        options.part = down ? 0 : 1 + (fresh || number % 2 == 0 ? number : number % ring.size());
        copy(bytes, 2 * us, options);
    }
    void turn(std::uint64_t count = rounds) {
        for (const std::uint64_t end = round + count; round < end; ++round) {
            if (round % at_once == 0)
                synchronize({.kind = trace::SyncKind::stream, .object = stream, .duration = 300 * us});
            now += fills_ns;
            move(round);
        }
    }
    Found found() { return of_rule(findings_of(*this), "UMA-406"); }
};

BOOST_FIXTURE_TEST_CASE(buffers_of_which_few_are_in_flight, Ring) {
    make();
    turn();
    const Finding finding = lone(found(), "UMA-406");
    BOOST_TEST(finding.stack == line);
    BOOST_TEST(evidence(finding, "buffers") == buffers);
    BOOST_TEST(evidence(finding, "in_flight") == 2);
    BOOST_TEST(finding.saving_bytes == (buffers - 3) * bytes);
    BOOST_TEST(finding.saving_ns == 0);
}

BOOST_FIXTURE_TEST_CASE(results_that_come_to_the_host_in_turn, Ring) {
    down = true;
    make();
    turn();
    BOOST_TEST(lone(found(), "UMA-406").saving_bytes == (buffers - 3) * bytes);
}

BOOST_FIXTURE_TEST_CASE(all_are_in_flight_at_once, Ring) {
    at_once = buffers;
    make();
    turn();
    nothing_in(found());
}

/// Half of them and the host's are needed.
BOOST_FIXTURE_TEST_CASE(half_of_them_are_in_flight, Ring) {
    at_once = buffers / 2;
    make();
    turn();
    nothing_in(found());
}

BOOST_FIXTURE_TEST_CASE(some_hold_data_that_is_uploaded_again, Ring) {
    fresh = false;
    make();
    turn();
    nothing_in(found());
}

BOOST_FIXTURE_TEST_CASE(what_came_down_goes_up_again, Ring) {
    make();
    for (; round < rounds; round += buffers)
        for (const bool way : {true, false})
            for (std::uint64_t i = 0; i < buffers; ++i) {
                down = way;
                synchronize({.kind = trace::SyncKind::stream, .object = stream});
                now += fill_ns;
                move(round + i);
            }
    nothing_in(found());
}

BOOST_FIXTURE_TEST_CASE(the_host_works_ahead, Ring) {
    fills_ns = 0;
    make();
    for (int again = 0; again < 4; ++again) {
        now += buffers * fill_ns;
        turn(buffers);
    }
    nothing_in(found());
}

BOOST_FIXTURE_TEST_CASE(each_is_used_once, Ring) {
    make();
    turn(buffers);
    nothing_in(found());
}

BOOST_FIXTURE_TEST_CASE(they_differ_in_size, Ring) {
    make(buffers, 2 * bytes);
    turn();
    nothing_in(found());
}

BOOST_FIXTURE_TEST_CASE(few_buffers, Ring) {
    at_once = 1;
    make(7);
    turn();
    nothing_in(found());
}

BOOST_FIXTURE_TEST_CASE(a_kernel_reaches_them, Ring) {
    make();
    launch(function("step"), {ring.front()});
    turn();
    nothing_in(found());
}

BOOST_FIXTURE_TEST_CASE(a_graph_may_use_them, Ring) {
    make();
    turn();
    launch_graph(stream);
    nothing_in(found());
}

/// Then the calls do not show what the device has done.
BOOST_FIXTURE_TEST_CASE(a_stream_waits_for_flags_in_memory, Ring) {
    make();
    act_on_stream(stream, trace::StreamAction::memory_operations);
    turn();
    nothing_in(found());
}

/// By other calls than the streams': an event stands for the copies before it.
BOOST_FIXTURE_TEST_CASE(events_are_waited_for, Ring) {
    make();
    for (; round < rounds; ++round) {
        if (round >= 3)
            synchronize({.kind = trace::SyncKind::event, .object = 0x600 + round % 3, .duration = 300 * us});
        now += fill_ns;
        move(round);
        record_event(0x600 + round % 3, stream);
    }
    BOOST_TEST(evidence(lone(found(), "UMA-406"), "in_flight") == 3);
}

nlohmann::json json_of(Scenario& scenario, std::vector<std::string> command) {
    command.push_back(scenario.path());
    const Result result = run(std::move(command));
    BOOST_TEST_REQUIRE(result.status == 0, result.err);
    return nlohmann::json::parse(result.out);
}

/// The section, the table and the findings count the same.
BOOST_FIXTURE_TEST_CASE(one_account_of_a_line, Ring) {
    make();
    turn();
    for (const std::uint64_t buffer : ring)
        free(buffer, 100 * us);
    const Finding finding = lone(found(), "UMA-406");
    const auto report = json_of(*this, {"report", "--json"});
    const auto& locked = report["page_locked"];
    BOOST_TEST_REQUIRE(locked["lines"].size() == 1u);
    const auto& counted = locked["lines"][0];
    BOOST_TEST(counted["count"] == buffers);
    BOOST_TEST(counted["bytes"] == buffers * bytes);
    BOOST_TEST(counted["copied_bytes"] == buffers * bytes);
    BOOST_TEST(counted["peak_count"].get<double>() == evidence(finding, "buffers"));
    BOOST_TEST(counted["peak_bytes"].get<double>() == evidence(finding, "bytes"));
    BOOST_TEST(counted["in_flight_count"].get<double>() == evidence(finding, "in_flight"));
    BOOST_TEST(counted["in_flight_bytes"].get<double>() == evidence(finding, "in_flight_bytes"));
    BOOST_TEST(counted["lock_time_ns"].get<double>() == evidence(finding, "lock_time_ns"));
    BOOST_TEST(counted["lock_time_ns"] == buffers * 2 * ms);
    // The first free may wait for the last copy.
    BOOST_TEST(counted["unlock_time_ns"] == (buffers - 1) * 100 * us);
    BOOST_TEST(locked["peak_bytes"] == buffers * bytes);
    BOOST_TEST(locked["lock_limit_bytes"].is_null());

    const auto table =
        json_of(*this, {"stats", "--table", "page-locked", "--format", "json"})["tables"]["page-locked"];
    BOOST_TEST_REQUIRE(table.size() == 1u);
    BOOST_TEST(table[0]["peak_bytes"] == counted["peak_bytes"]);
    BOOST_TEST(table[0]["in_flight_bytes"] == counted["in_flight_bytes"]);
    BOOST_TEST(table[0]["lock_ns"] == counted["lock_time_ns"]);
}

/// Times of UMA-409 are those of the section.
BOOST_FIXTURE_TEST_CASE(one_account_of_memory_that_is_copied_once, Scenario) {
    const auto line = stack(), data = allocate(64 * mib, Memory::device),
               host = allocate(64 * mib, Memory::pinned, {.stack = line, .duration = 30 * ms});
    copy(64 * mib, 1'200'000,
         {.source = Memory::pinned, .from = host, .to = data, .host_address = address_of(host)});
    free(host, 5 * ms);
    const Finding finding = among(findings_of(*this), "UMA-409");
    const auto locked = json_of(*this, {"report", "--json"})["page_locked"]["lines"][0];
    BOOST_TEST(locked["count"].get<double>() == evidence(finding, "allocations"));
    BOOST_TEST(locked["bytes"].get<double>() == evidence(finding, "bytes"));
    BOOST_TEST(locked["lock_time_ns"].get<double>() == evidence(finding, "lock_time_ns"));
    BOOST_TEST(locked["unlock_time_ns"].get<double>() == evidence(finding, "unlock_time_ns"));
}

/// The text has one line of it, and with --all one for each line of the program.
BOOST_FIXTURE_TEST_CASE(the_limits_stand_beside_the_peak, Ring) {
    trace::Process process;
    process.lock_limit = 8 * mib + 1;
    process.memory_limit = 64 * 1024 * mib + 1;
    builder.add(process);
    make();
    turn();
    const std::string text = run({"report", path()}).out;
    BOOST_TEST(text.find("page-locked memory: 256 MiB at once, 32 ms to lock and unlock it (--all: by line)") !=
                   std::string::npos,
               text);
    const std::string all = run({"report", "--all", path()}).out;
    BOOST_TEST(
        all.find("256 MiB at once; 256 MiB copied; 32 MiB of 2 allocations in flight at once; 32 ms to lock") !=
            std::string::npos,
        all);
}

/// Beyond four times the price of making the pages and locking them.
BOOST_AUTO_TEST_CASE(slow_locking_says_what_helps) {
    const auto slow = [](std::uint64_t count, std::uint64_t bytes, std::uint64_t duration) {
        Scenario s;
        const auto line = s.stack();
        for (std::uint64_t i = 0; i < count; ++i)
            s.allocate(bytes, Memory::registered, {.stack = line, .duration = duration});
        const std::string text = run({"report", "--all", s.path()}).out;
        const std::size_t at = text.find("; locking took ");
        return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
    };
    BOOST_TEST(slow(1, 256 * mib, 300 * ms) == "");
    BOOST_TEST(slow(1, 256 * mib, 1000 * ms).ends_with("touch them before page-locking them"));
    // Its own prices do not make it usual.
    BOOST_TEST(slow(16, 256 * mib, 1000 * ms)
                   .starts_with("; locking took 12 times as long as at the rates of an H200: huge pages"));
    BOOST_TEST(slow(1000, 4 * kib, ms).ends_with("one call for many of these pieces takes less"));
    BOOST_TEST(slow(300, 4 * kib, 300 * us) == ""); // 90 ms
}

BOOST_AUTO_TEST_SUITE_END()
