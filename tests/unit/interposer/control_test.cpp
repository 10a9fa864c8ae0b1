/// What clients ask and are answered, and when a trigger fires: without a process around it.
#include "interposer/control/json.hpp"
#include "interposer/control/program_name.hpp"
#include "interposer/control/request.hpp"
#include "interposer/control/steps.hpp"
#include "interposer/control/trigger_watch.hpp"
#include "interposer/record/clock.hpp"
#include "interposer/record/totals.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <string>

BOOST_AUTO_TEST_SUITE(control)

using namespace umadvisor;
using namespace umadvisor::control;
using policy::Order;

namespace {

/// A line as the server has it: in memory that ends with it.
struct Parsed {
    std::string line;
    Request request;
    const char* error;
    explicit Parsed(std::string text)
        : line(std::move(text)), error(parse(line.data(), line.size(), request)) {}
};

std::string escaped(std::string_view text) {
    char buffer[256];
    JsonText json(buffer, sizeof buffer);
    json.text("", text);
    const std::string_view line = json.finish();
    return std::string(line.substr(0, line.size() - 1));
}

Trigger read(std::string_view text) {
    Trigger trigger;
    policy::Misread misread;
    BOOST_TEST(parse(text, trigger, misread), text);
    return trigger;
}

bool refuses(std::string_view text) {
    Trigger trigger;
    policy::Misread misread;
    return !parse(text, trigger, misread);
}

/// The part that is not understood, and why.
std::string misread(std::string_view text) {
    Trigger trigger;
    policy::Misread misread;
    BOOST_TEST(!parse(text, trigger, misread), text);
    return std::string(misread.part) + " " + misread.why;
}

constexpr std::uint64_t second = 1'000'000'000;

/// A watch that sees one sample a second.
struct Watched {
    TriggerWatch watch;
    Sample sample{};
    double steps[Trigger::most] = {};

    Watched(std::string_view text, std::uint64_t limit) {
        sample.time_ns = 100 * second;
        watch.begin(text, limit, sample.time_ns);
        watch.judge(sample, steps, true);
    }
    bool next(bool idle = true) {
        sample.time_ns += second;
        return !watch.judge(sample, steps, idle).empty();
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_request_has_a_command_and_values) {
    const Parsed start("start\tfor=5\toutput=/a b/c=d\thold=");
    BOOST_TEST(start.error == nullptr);
    BOOST_TEST(start.request.command == "start");
    BOOST_TEST(start.request.value("for") == "5");
    BOOST_TEST(start.request.value("output") == "/a b/c=d");
    BOOST_TEST(start.request.value("output").data()[8] == '\0');
    BOOST_TEST(start.request.value("hold") == "");
    BOOST_TEST(start.request.value("none") == "");
    BOOST_TEST(start.request.check("for output hold") == nullptr);
    BOOST_TEST(start.request.check("for outputs hold") != nullptr);
    BOOST_TEST(Parsed("status").error == nullptr);
}

BOOST_AUTO_TEST_CASE(what_is_no_request_is_refused) {
    for (const std::string line :
         {"", "\t", "a\tb", "a\t=b", "a\tb=1\tb=2", "a\t", "a\x01", "a\tb=\x7f", "a\r"})
        BOOST_TEST(Parsed(line).error != nullptr, line);
    BOOST_TEST(Parsed(std::string("a\0b", 3)).error != nullptr);
    std::string many = "a";
    for (int i = 0; i < 9; ++i)
        many += "\tk" + std::to_string(i) + "=1";
    BOOST_TEST(Parsed(many).error != nullptr);
}

BOOST_AUTO_TEST_CASE(any_bytes_are_read_within_their_bounds) {
    std::mt19937 random(1);
    for (int i = 0; i < 20'000; ++i) {
        std::string line(random() % 60, 'a');
        for (char& c : line)
            c = "a=\t\n\0x\xff"[random() % 7];
        const Parsed parsed(line);
        BOOST_TEST((parsed.error != nullptr || !parsed.request.command.empty()));
    }
}

BOOST_AUTO_TEST_CASE(texts_are_escaped) {
    BOOST_TEST(escaped("a/b\"c\\d") == R"("a/b\"c\\d")");
    BOOST_TEST(escaped("\n\t\x1b\x7f") == R"("\u000a\u0009\u001b\u007f")");
    BOOST_TEST(escaped(std::string_view("\0", 1)) == R"("\u0000")");
    BOOST_TEST(escaped("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80") == "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
    for (const std::string_view bad : {"\xc3", "\x80", "\xc0\xaf", "\xf5", "\xff"})
        BOOST_TEST(escaped(bad).find("\\ufffd") == 1u);
    BOOST_TEST(escaped("\xed\xa0\x80") == R"("\ufffd\ufffd\ufffd")");
    BOOST_TEST(escaped("\xe2\x82z") == R"("\ufffd\ufffdz")");
}

BOOST_AUTO_TEST_CASE(answers_are_objects_on_one_line) {
    char buffer[256];
    JsonText json(buffer, sizeof buffer);
    json.begin_object();
    json.flag("ok", true);
    json.number("n", 18446744073709551615u);
    json.seconds("s", 12'345'678'901);
    json.begin_list("act");
    json.begin_object();
    json.text("mode", "x");
    json.end_object();
    json.begin_object();
    json.end_object();
    json.end_list();
    json.number("zero", 0);
    json.end_object();
    BOOST_TEST(
        json.finish() ==
        "{\"ok\":true,\"n\":18446744073709551615,\"s\":12.345,\"act\":[{\"mode\":\"x\"},{}],\"zero\":0}\n");
    JsonText small(buffer, 8);
    small.text("", "12345678");
    BOOST_TEST(small.finish() == "");
}

BOOST_AUTO_TEST_CASE(a_program_has_the_name_that_a_user_calls_it) {
    using namespace std::string_view_literals;
    BOOST_TEST(name_in("/usr/bin/app\0-x\0"sv) == "app");
    BOOST_TEST(name_in("/usr/bin/python3.11\0-u\0-W\0ignore\0/a/train.py\0--x\0"sv) == "train.py");
    BOOST_TEST(name_in("python\0-m\0torch.run\0x\0"sv) == "torch.run");
    BOOST_TEST(name_in("python\0-c\0print()\0"sv) == "python");
    BOOST_TEST(name_in("python\0"sv) == "python");
    BOOST_TEST(name_in(""sv) == "");
}

BOOST_AUTO_TEST_CASE(conditions_are_read) {
    const Trigger trigger = read("um.bytes/s > 1.5GiB for 5s; waits.share>=0.9 ;step.time(my step) < 120ms");
    BOOST_TEST(trigger.count == 3u);
    BOOST_TEST((trigger.conditions[0].metric == Metric::moved));
    BOOST_TEST(trigger.conditions[0].limit == 1.5 * (1 << 30));
    BOOST_TEST(trigger.conditions[0].for_ns == 5 * second);
    BOOST_TEST(trigger.conditions[0].text == "um.bytes/s > 1.5GiB for 5s");
    BOOST_TEST((trigger.conditions[1].order == Order::at_least));
    BOOST_TEST(trigger.conditions[1].limit == 0.9);
    BOOST_TEST(trigger.conditions[2].step == "my step");
    BOOST_TEST(trigger.conditions[2].limit == 120e6);
    BOOST_TEST(trigger.needs_calls());
    BOOST_TEST(!read("mem.pinned > 4M; alloc.refused > 0").needs_calls());
    BOOST_TEST(read("").count == 0u);
    BOOST_TEST(read("mem.device <= 7 for 250ms").conditions[0].for_ns == second / 4);
}

BOOST_AUTO_TEST_CASE(what_is_no_condition_is_refused) {
    for (const char* const text : {"x",
                                   " ; ",
                                   "um.faults/s",
                                   "um.faults/s >",
                                   "um.faults/s = 1",
                                   "um.faults/s > x",
                                   "um.faults/s > 1K",
                                   "um.bytes/s > 1 parsec",
                                   "um.bytes/s > 1s",
                                   "step.time(a) > 1",
                                   "step.time() > 1s",
                                   "step.time(a > 1s",
                                   "mem.device > 1G for",
                                   "mem.device > 1G for 5",
                                   "mem.device > 1G for x",
                                   "mem.device > -1",
                                   "mem.device > 1..2",
                                   "mem.device > .",
                                   "mem.device > 1.",
                                   "mem.device > 1e9",
                                   "mem.device mem.device > 1",
                                   "launches/s > 1;;x",
                                   "waits.share > 0.9;1;2;3;4;5;6;7;8;9"})
        BOOST_TEST(refuses(text), text);
    BOOST_TEST(refuses("step.time(" + std::string(64, 'x') + ") > 1s"));
    std::string many;
    for (int i = 0; i < 9; ++i)
        many += "mem.device > 1;";
    BOOST_TEST(refuses(many));
}

BOOST_AUTO_TEST_CASE(what_is_not_understood_of_a_condition_is_named) {
    BOOST_TEST(misread("waits.share > 0.5; foo > 1")
                   .starts_with("foo is no metric; the metrics are um.faults/s, um.bytes/s, "));
    BOOST_TEST(misread("foo > 1").ends_with(", alloc.refused, step.time(NAME)"));
    BOOST_TEST(misread("mem.devices > 1").starts_with("mem.devices is no metric"));
    BOOST_TEST(misread("waits.share > 50%") == "50% is no number for it: a number such as 0.5 or 1000");
    BOOST_TEST(misread("mem.device > 1 parsec").starts_with("1 parsec is no number of bytes: "));
    BOOST_TEST(misread("mem.device > 1G for 5").starts_with("5 is no time: "));
    BOOST_TEST(misread("step.time(a) > 1").starts_with("1 is no time: "));
    BOOST_TEST(misread("step.time() > 1s").starts_with("step.time() needs the name of an NVTX range"));
    BOOST_TEST(misread("waits.share = 1").starts_with("= 1 lacks an operator: "));
    BOOST_TEST(misread("waits.share").starts_with("waits.share lacks an operator: "));
    BOOST_TEST(misread("waits.share >").starts_with("waits.share > lacks a number"));
    BOOST_TEST(misread(" ; ").find("has no condition") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_condition_fires_once_it_has_held_for_long_enough) {
    Watched watched("copy.h2d.bytes/s > 1000 for 3s", 10);
    const auto move = [&](std::uint64_t bytes) {
        watched.sample.totals.copies[0].bytes += bytes;
        return watched.next();
    };
    BOOST_TEST(!move(1001));
    BOOST_TEST(!move(1001));
    BOOST_TEST(!move(1000)); // not more
    BOOST_TEST(!move(5000));
    BOOST_TEST(!move(5000));
    BOOST_TEST(move(5000));
    BOOST_TEST(!move(5000)); // it has to hold anew
    BOOST_TEST(!move(5000));
    BOOST_TEST(move(5000));
}

BOOST_AUTO_TEST_CASE(levels_and_shares_are_no_rates) {
    Watched memory("mem.device >= 100", 10);
    memory.sample.device_bytes = 99;
    BOOST_TEST(!memory.next());
    memory.sample.device_bytes = 100;
    BOOST_TEST(memory.next());
    Watched waits("waits.share > 0.5", 10);
    waits.sample.totals.wait_ns += second / 2;
    BOOST_TEST(!waits.next());
    waits.sample.totals.wait_ns += second * 6 / 10;
    BOOST_TEST(waits.next());
    Watched refused("alloc.refused > 0", 10);
    refused.sample.totals.refused = 5;
    BOOST_TEST(refused.next());
    BOOST_TEST(!refused.next());
}

BOOST_AUTO_TEST_CASE(it_fires_as_often_an_hour_as_it_may) {
    Watched watched("mem.device > 0", 2);
    watched.sample.device_bytes = 1;
    BOOST_TEST(!watched.next(false)); // not while a recording is under way
    BOOST_TEST(watched.next());
    BOOST_TEST(watched.next());
    BOOST_TEST(!watched.next());
    watched.sample.time_ns += 3600 * second;
    BOOST_TEST(watched.next());
    Watched never("mem.device > 0", 0);
    never.sample.device_bytes = 1;
    BOOST_TEST(!never.next());
}

BOOST_AUTO_TEST_CASE(steps_are_ranges_of_their_name) {
    using trace::RangeAction;
    const std::size_t number = measure_steps("step");
    BOOST_TEST(longest_step(number) == 0u);
    note_range(RangeAction::push, "other", 0);
    note_range(RangeAction::push, "step", 0);
    note_range(RangeAction::push, "inner", 0);
    note_range(RangeAction::pop, "", 0);
    BOOST_TEST(longest_step(number) == 0u); // not ended
    note_range(RangeAction::pop, "", 0);
    BOOST_TEST(longest_step(number) > 0u);
    BOOST_TEST(longest_step(number) == 0u);
    note_range(RangeAction::pop, "", 0);
    note_range(RangeAction::start, "step", 7);
    note_range(RangeAction::end, "", 8);
    BOOST_TEST(longest_step(number) == 0u);
    note_range(RangeAction::end, "", 7);
    BOOST_TEST(longest_step(number) > 0u);
    // Ranges that never end are not measured, and nothing is written beyond what is kept.
    for (std::uint64_t id = 100; id < 200; ++id)
        note_range(RangeAction::start, "step", id);
    // No step has ended: a condition about steps neither begins nor ends to hold.
    Watched watched("step.time(x) > 1s for 2s", 10);
    watched.steps[0] = 2e9;
    BOOST_TEST(!watched.next());
    watched.steps[0] = std::nan("");
    BOOST_TEST(!watched.next());
    BOOST_TEST(!watched.next());
    watched.steps[0] = 2e9;
    BOOST_TEST(watched.next());
}

BOOST_AUTO_TEST_CASE(totals_count_what_the_program_did) {
    record::Totals before{}, after{};
    const auto crosses = [](std::uint64_t source, std::uint64_t) noexcept { return source == 2; };
    const auto write = [](record::CopyWay, trace::Memory from, trace::Memory to, auto change) {
        trace::Copy copy{.bytes = 10, .source_memory = from, .destination_memory = to};
        change(copy);
        if (record::counts<trace::Copy>())
            record::count(copy);
    };
    const auto nothing = [](trace::Copy&) {};
    using enum trace::Memory;
    write({}, pageable, device, nothing); // calls are not counted
    record::watch(true, crosses);
    record::read_totals(before);
    write({}, pageable, device, nothing);
    write({}, device, pinned, nothing);
    write({}, device, device, nothing);
    write({}, device, device, [](trace::Copy& copy) { copy.source = 2; });
    write({}, pinned, pageable, nothing);
    write({}, pageable, managed, nothing);
    write({}, pageable, device, [](trace::Copy& copy) { copy.status = 1; });
    write({}, pageable, device, [](trace::Copy& copy) { copy.captured = 1; });
    write({}, pageable, device, [](trace::Copy& copy) { copy.batch = 2; });
    write({}, pageable, device, [](trace::Copy& copy) { copy.staged = 1; });
    write({}, pinned, device, [](trace::Copy& copy) { copy.origin = trace::Origin::umadvisor; });
    trace::Sync wait{.kind = trace::SyncKind::stream}, query{.kind = trace::SyncKind::event_query};
    record::count(wait);
    record::count(query);
    record::count(trace::LaunchShape{}, trace::Launch{});
    record::count(trace::LaunchShape{.captured = 1}, trace::Launch{});
    record::count(trace::LaunchShape{}, trace::Launch{.status = 1});
    record::count(trace::ManagedEvent{.kind = trace::ManagedEventKind::thrashing, .count = 2});
    record::watch(false, crosses);
    trace::Alloc refused;
    refused.status = 2;
    BOOST_TEST(record::counts<trace::Alloc>());
    record::count(refused);
    record::read_totals(after);
    const auto grown = [&](record::CopyWay way) {
        const std::size_t i = static_cast<std::size_t>(way);
        return record::Totals::Copies{after.copies[i].calls - before.copies[i].calls,
                                      after.copies[i].bytes - before.copies[i].bytes,
                                      after.copies[i].pageable_bytes - before.copies[i].pageable_bytes};
    };
    BOOST_TEST(grown(record::CopyWay::host_to_device).calls == 2u); // the second part of a batch is no call
    BOOST_TEST(grown(record::CopyWay::host_to_device).bytes == 30u);
    BOOST_TEST(grown(record::CopyWay::host_to_device).pageable_bytes == 30u);
    BOOST_TEST(grown(record::CopyWay::device_to_host).bytes == 10u);
    BOOST_TEST(grown(record::CopyWay::device_to_host).pageable_bytes == 0u);
    for (const record::CopyWay way : {record::CopyWay::device_to_device, record::CopyWay::peer,
                                      record::CopyWay::host_to_host, record::CopyWay::managed})
        BOOST_TEST(grown(way).calls == 1u);
    BOOST_TEST(after.waits - before.waits == 1u);
    BOOST_TEST(after.launches - before.launches == 1u);
    BOOST_TEST(after.thrashing - before.thrashing == 3u);
    BOOST_TEST(after.refused - before.refused == 1u);
    BOOST_TEST(after.actions - before.actions == 2u);
    BOOST_TEST(after.act_bytes - before.act_bytes == 20u);
    BOOST_TEST(after.watched_ns > 0u);
}

BOOST_AUTO_TEST_SUITE_END()
