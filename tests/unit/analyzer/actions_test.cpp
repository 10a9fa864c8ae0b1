/// What umadvisor did (--act), in reports and as estimates.
#include "analyzer/reports/action_lines.hpp"
#include "analyzer/reports/markdown/markdown.hpp"
#include "managed_life.hpp"
#include "rendered.hpp"
#include "scenario.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

BOOST_AUTO_TEST_SUITE(analyzer_actions)

using namespace umadvisor;
using namespace umadvisor::test;
using managed::WastedPrefetch;
using nlohmann::json;

namespace {

struct Prefetched {
    trace::Reason reason = trace::Reason::not_resident;
    trace::Location location = trace::Location::device;
    std::uint64_t duration = 50'000, stack = 0, status = 0;
};

void umadvisor_prefetches(Scenario& s, std::uint64_t allocation, std::uint64_t bytes,
                          const Prefetched& options) {
    trace::Prefetch record{.address = 0x7f00'0000'0000 + allocation * 0x1'0000'0000,
                           .bytes = bytes,
                           .allocation = trace::AllocationId{allocation},
                           .location = options.location,
                           .origin = trace::Origin::umadvisor,
                           .reason = options.reason};
    record.entry = s.entry("cuMemPrefetchAsync_v2");
    record.start = s.now;
    record.duration = options.duration;
    record.stack = options.stack;
    record.status = options.status;
    s.builder.add(record);
    s.now += options.duration + 1000;
}

json actions_of(const std::string& path) {
    return json_of(path)["actions"];
}

std::uint64_t wasted(Life& life, WastedPrefetch::Why why) {
    std::uint64_t bytes = 0;
    for (const WastedPrefetch& each : managed::wasted_prefetches({life.stays(), life.marks, life.terms}))
        bytes += each.why == why ? each.bytes : 0;
    return bytes;
}

} // namespace

BOOST_FIXTURE_TEST_CASE(prefetches_are_told_by_reason_and_by_the_line_they_were_done_for, Scenario) {
    const auto good = stack(), bad = stack(), wait = stack(), line = stack();
    const auto memory = allocate(256 * mib, trace::Memory::managed, line);
    umadvisor_prefetches(*this, memory, 256 * mib, {.stack = good});
    launch(function("_Z6kernelv"), {memory});
    umadvisor_prefetches(*this, memory, 4096, {.duration = 2 * ms, .stack = bad});
    umadvisor_prefetches(*this, memory, 4096, {.stack = bad, .status = 1});
    synchronize();
    umadvisor_prefetches(
        *this, memory, 256 * mib,
        {.reason = trace::Reason::host_returns, .location = trace::Location::host, .stack = wait});
    now += 100 * ms;
    umadvisor_prefetches(*this, memory, 2 * mib,
                         {.reason = trace::Reason::makes_room, .location = trace::Location::host});
    umadvisor_prefetches(*this, memory, 2 * mib, {.reason = static_cast<trace::Reason>(200)});
    const std::string file = path();
    const json actions = actions_of(file);
    BOOST_TEST_REQUIRE(actions["lines"].size() == 4u);
    const json& device = actions["lines"][0];
    BOOST_TEST(device["action"] == "prefetch_to_device");
    BOOST_TEST(device["count"] == 3);
    BOOST_TEST(device["failed"] == 1);
    BOOST_TEST(device["bytes"] == 256 * mib + 4096);
    BOOST_TEST(device["time_ns"] == 2'100'000);
    BOOST_TEST_REQUIRE(device["places"].size() == 2u);
    BOOST_TEST(device["places"][0]["line"]["text"] == "0x400010");
    BOOST_TEST(device["places"][0]["gain_ns"].is_null());
    BOOST_TEST(actions["lines"][1]["action"] == "prefetch_to_host");
    BOOST_TEST(actions["lines"][2]["action"] == "make_room");
    BOOST_TEST(actions["lines"][3]["action"] == "other");
    BOOST_TEST(actions["lines"][3]["gain_ns"].is_null());
    const std::string text = text_of(file);
    BOOST_TEST(contains(text, "What umadvisor did\n    prefetched to the device before launches: 3 calls (1 "
                              "failed), 256 MiB, 2.1 ms in calls"));
    BOOST_TEST(contains(text, "0x400010   1 call, 256 MiB, 50 us in calls\n"));
    BOOST_TEST(contains(text, "0x400020   2 calls (1 failed), 4 KiB, 2.05 ms in calls"));
    BOOST_TEST(contains(text, "1 call, 2 MiB, 50 us in calls\n        gain unknown: "));
}

BOOST_FIXTURE_TEST_CASE(refusals_are_told_once_and_in_the_section, Scenario) {
    trace::Notice refused, other;
    refused.text = "--act stage is refused: one core";
    other.text = "no call stacks";
    builder.add(refused).add(other);
    const std::string file = path(), text = text_of(file);
    BOOST_TEST(contains(text, "What umadvisor did\n    ! --act stage is refused: one core\n"));
    BOOST_TEST(text.find("one core") == text.rfind("one core"));
    BOOST_TEST(contains(text, "  - no call stacks\n"));
    BOOST_TEST(actions_of(file)["notices"] == json::array({"--act stage is refused: one core"}));
    advice::Report report(file);
    std::ostringstream markdown;
    reports::write_markdown(report, markdown);
    BOOST_TEST(contains(markdown.str(), "## What umadvisor did\n\n- --act stage is refused"));
}

BOOST_FIXTURE_TEST_CASE(where_nothing_was_done_nothing_is_said, Scenario) {
    copy(mib, ms, {});
    const std::string file = path();
    BOOST_TEST(actions_of(file).is_null());
    BOOST_TEST(lacks(text_of(file), "What umadvisor did"));
}

BOOST_AUTO_TEST_CASE(what_the_host_was_given_for_nothing_is_told) {
    Scenario s;
    const auto wait = s.stack(), line = s.stack();
    const auto memory = s.allocate(256 * mib, trace::Memory::managed, line);
    const auto kernel = s.function("_Z6kernelv");
    for (int round = 0; round < 3; ++round) {
        umadvisor_prefetches(s, memory, 256 * mib, {.stack = line});
        s.launch(kernel, {memory});
        s.synchronize();
        umadvisor_prefetches(
            s, memory, 256 * mib,
            {.reason = trace::Reason::host_returns, .location = trace::Location::host, .stack = wait});
    }
    const json actions = actions_of(s.path());
    BOOST_TEST(actions["lines"][1]["action"] == "prefetch_to_host");
    BOOST_TEST(actions["lines"][1]["unused_bytes"].get<std::uint64_t>() >= 512 * mib);
    BOOST_TEST(contains(text_of(s.path()), "without use"));
}

BOOST_AUTO_TEST_CASE(prefetches_for_nothing_are_told_apart) {
    using Why = WastedPrefetch::Why;
    Life used;
    used.fill().to_device().launch().wait().look_after(0).to_host().wait().host_fault(0, false, 1);
    BOOST_TEST(wasted(used, Why::there) == 0u);
    BOOST_TEST(wasted(used, Why::unused_on_device) == 0u);
    BOOST_TEST(wasted(used, Why::unused_on_host) == 0u);
    Life again;
    again.fill().to_device().launch().to_device().launch().wait().look_after(0);
    BOOST_TEST(wasted(again, Why::there) == 4 * mib);
    Life taken_back;
    taken_back.fill().to_device().to_host().wait();
    BOOST_TEST(wasted(taken_back, Why::unused_on_device) == 4 * mib);
    Life not_waited;
    not_waited.fill().device_round().to_host().to_device().launch();
    BOOST_TEST(wasted(not_waited, Why::unused_on_host) == 4 * mib);
}

BOOST_FIXTURE_TEST_CASE(what_was_evicted_was_not_there, Life) {
    marks.evicted_bytes = 4 * mib;
    fill().to_device().launch().to_device().launch().wait().look_after(0);
    BOOST_TEST(wasted(*this, WastedPrefetch::Why::there) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
