#include "command_run.hpp"
#include "managed_scenario.hpp"
#include "rendered.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_managed_report)

using namespace umadvisor;
using namespace umadvisor::test;
using nlohmann::json;
using Kind = trace::ManagedEventKind;

namespace {

json managed_of(const std::string& path) {
    return json_of(path)["managed"];
}

/// The section alone; empty where there is none.
std::string section_of(const std::string& path) {
    const std::string text = text_of(path);
    const std::size_t at = text.find("\nmanaged memory\n");
    return at == std::string::npos ? "" : text.substr(at + 1);
}

trace::ManagedSource queue() {
    return {.source = trace::ManagedSourceKind::queue,
            .parameters_known = 1,
            .prefetch = 1,
            .prefetch_threshold = 51,
            .thrashing = 1,
            .thrashing_threshold = 3,
            .thrashing_pin_threshold = 10,
            .thrashing_lapse = 500,
            .thrashing_nap = 500,
            .thrashing_epoch = 2000,
            .thrashing_pin = 300'000,
            .driver_release = "580.159.04"};
}

/// Two allocations of one line that a kernel and the host take from each other, seen half of the time.
std::string ping_pong() {
    Managed s;
    s.builder.add(queue());
    const auto line = s.stack(), launch_line = s.stack(), read_line = s.stack();
    const auto step = s.function("_Z4stepPf"), other = s.function("_Z5otherPf");
    s.counters(0, 0);
    s.tell(all_kinds);
    const auto one = s.managed(4 * mib, line), two = s.managed(4 * mib, line);
    s.launch(step, {one}, 0, launch_line);
    s.fault(Kind::device_fault, address_of(one), 31);
    s.migrate(address_of(one), 2 * mib, device);
    s.synchronize();
    s.fault(Kind::host_fault, address_of(one), 0, read_line);
    s.migrate(address_of(one), mib, host);
    s.launch(step, {two}, 0, launch_line);
    s.launch(other, {two});
    s.migrate(address_of(two), 2 * mib, device, trace::MigrationCause::prefetch);
    trace::ManagedEvent event{.kind = Kind::throttling, .address = address_of(two), .duration = ms / 2};
    s.event(event);
    event.kind = Kind::host_fault;
    event.address = 0x1000; // nobody's
    s.event(event);
    s.now += 10;
    trace::ManagedCounters counters{.start = s.now,
                                    .bytes_to_device = 4 * mib,
                                    .bytes_to_host = mib,
                                    .host_faults = 2,
                                    .device_faults = 40};
    s.builder.add(counters);
    s.now += 10;
    s.tell(light_kinds);
    s.launch(step, {s.managed(4 * mib, s.stack())}, 0, launch_line); // so that it may have been this one's
    s.now += 10;
    counters.start = s.now;
    counters.bytes_to_device = 8 * mib;
    counters.bytes_to_host = 2 * mib;
    s.builder.add(counters);
    return s.path();
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_trace_without_managed_activity_has_no_section, Managed) {
    managed(mib);
    copy(1, 1, {});
    const std::string file = path();
    BOOST_TEST(section_of(file) == "");
    BOOST_TEST(managed_of(file).is_null());
}

BOOST_AUTO_TEST_CASE(the_section_says_what_moved_it_and_how_that_is_known) {
    BOOST_TEST(
        section_of(ping_pong()) ==
        "managed memory\n"
        "    from: the driver's own events and totals: they do not identify the kernel; the "
        "kernels named ran at that time\n"
        "    driver 580.159.04: prefetches regions that are needed by more than 51%; thrashing: from 3 "
        "events within 500 us each, throttled for 500 us, pinned after 10 throttlings for 300 ms, "
        "forgotten after 2 ms\n"
        "    in all: 8 MiB to the device, 2 MiB to the host; 2 host faults, 40 device faults\n"
        "    the driver reported 50% of these bytes; the rest is inferred, as the brackets say\n"
        "    1 event at addresses of no recorded allocation, counted at no line\n"
        "    0x400010   cudaMallocManaged 4 MiB x 2: 8 MiB to the device, 2 MiB to the host "
        "(inferred: sampled residency of pages); 1 host fault; 40 device faults; throttled 1 time for 500 us; "
        "1 round "
        "trip of "
        "blocks\n"
        "      ! read-back storm: the host page-faulted back 1 MiB of what kernels had written, 1 time\n"
        "        migrated to the device by step, launched at 0x400020: 6 MiB, one of several candidates\n"
        "        migrated to the device by other, launched at an unknown place: 2 MiB, one of several "
        "candidates\n"
        "        migrated back by the host at 0x400030: 1 fault, 2 MiB\n"
        "        where it was, over 1.01 ms: [" +
            std::string(63, 'D') + "*]  h host, D device, * both in turn\n");
}

BOOST_AUTO_TEST_CASE(the_document_holds_the_same_in_numbers) {
    const json managed = managed_of(ping_pong());
    BOOST_TEST(managed["source"] == "queue");
    BOOST_TEST(managed["trouble"] == "");
    BOOST_TEST(managed["driver_release"] == "580.159.04");
    BOOST_TEST(managed["parameters"]["thrashing_lapse_us"] == 500);
    BOOST_TEST(managed["parameters"]["prefetch_threshold"] == 51);
    BOOST_TEST(managed["totals"]["exact"] == true);
    BOOST_TEST(managed["totals"]["bytes_to_device"] == 8 * mib);
    BOOST_TEST(managed["totals"]["device_faults"] == 40);
    BOOST_TEST(managed["totals"]["told"]["bytes_to_device"] == 4 * mib);
    BOOST_TEST(managed["totals"]["told"]["device_faults"] == 32);
    BOOST_TEST(managed["told_share"] == 0.5);
    BOOST_TEST(managed["lost_events"] == 0);
    BOOST_TEST(managed["unattributed"]["events"] == 1);
    BOOST_TEST(managed["unattributed"]["host_faults"] == 1);
    BOOST_TEST(managed["unattributed"]["untold_bytes_to_device"] == 0);
    BOOST_TEST_REQUIRE(managed["allocations"].size() == 1u);
    const json& line = managed["allocations"][0];
    BOOST_TEST(line["line"]["text"] == "0x400010");
    BOOST_TEST(line["memory"] == "managed");
    BOOST_TEST(line["call"] == "cudaMallocManaged");
    BOOST_TEST(line["count"] == 2);
    BOOST_TEST(line["bytes_to_device"] == 8 * mib);
    BOOST_TEST(line["bytes_to_host"] == 2 * mib);
    BOOST_TEST(line["basis"] == "stays");
    BOOST_TEST(line["by_cause"]["to_device"] == json({{"coherence", 2 * mib}, {"prefetch", 2 * mib}}));
    BOOST_TEST(line["by_cause"]["to_host"] == json({{"coherence", mib}}));
    BOOST_TEST(line["host_faults"] == 1);
    BOOST_TEST(line["device_faults_by_access"] == json({{"write", 32}}));
    BOOST_TEST(line["throttled_ns"] == ms / 2);
    BOOST_TEST_REQUIRE(line["kernels"].size() == 2u);
    BOOST_TEST(line["kernels"][0]["function"] == "step(float*)");
    BOOST_TEST(line["kernels"][0]["line"]["text"] == "0x400020");
    BOOST_TEST(line["kernels"][0]["share"] == 0.75);
    BOOST_TEST(line["kernels"][0]["bytes"] == 6 * mib);
    BOOST_TEST(line["kernels"][0]["faults"] == 40.0);
    BOOST_TEST(line["kernels"][0]["candidates"] == true);
    BOOST_TEST_REQUIRE(line["host_lines"].size() == 1u);
    BOOST_TEST(line["host_lines"][0]["line"]["text"] == "0x400030");
    BOOST_TEST(line["host_lines"][0]["faults"] == 1);
    BOOST_TEST(line["host_lines"][0]["bytes"] == 2 * mib);
    BOOST_TEST(line["blocks_seen"] == 2);
    BOOST_TEST(line["blocks"][0]["offset"] == 0);
    BOOST_TEST(line["blocks"][0]["bytes_to_host"] == mib);
    BOOST_TEST(line["blocks"][0]["round_trips"] == 1);
    BOOST_TEST(line["blocks"][0]["place"] == "host");
    BOOST_TEST(line["blocks"][1]["place"] == "device");
}

BOOST_AUTO_TEST_CASE(what_was_never_told_is_not_zero) {
    Managed s;
    s.tell(1 << static_cast<int>(Kind::migration));
    const auto memory = s.managed(4 * mib, s.stack());
    s.migrate(address_of(memory), mib, device);
    const std::string path = s.path();
    const json managed = managed_of(path);
    BOOST_TEST(managed["source"] == "none");
    BOOST_TEST(managed["parameters"].is_null());
    BOOST_TEST(managed["totals"]["exact"] == false);
    BOOST_TEST(managed["totals"]["bytes_to_device"] == mib);
    BOOST_TEST(managed["totals"]["host_faults"].is_null());
    BOOST_TEST(managed["allocations"][0]["device_faults"].is_null());
    BOOST_TEST(managed["allocations"][0]["basis"] == "counted");
    const json stats = json::parse(run({"stats", "--format", "json", "--table", "managed", path}).out);
    BOOST_TEST(stats["tables"]["managed"][0]["bytes_to_device"] == mib);
    BOOST_TEST(stats["tables"]["managed"][0]["host_faults"].is_null());
    BOOST_TEST(stats["tables"]["managed"][0]["device_faults"].is_null());
    BOOST_TEST(contains(section_of(path), "host faults unknown, device faults unknown"));
}

BOOST_AUTO_TEST_CASE(each_source_says_what_it_cannot_see) {
    const auto section = [](trace::ManagedSourceKind kind, std::string_view trouble) {
        Managed s;
        s.builder.add(trace::ManagedSource{.source = kind, .trouble = trouble});
        return section_of(s.path());
    };
    BOOST_TEST(
        section(trace::ManagedSourceKind::pagemap, "this driver is not known") ==
        "managed memory\n    from: the host's page table, sampled around launches and synchronisations: no "
        "faults, no causes, and no moves in between (this driver is not known)\n");
    BOOST_TEST(contains(section(trace::ManagedSourceKind::none, "no /dev/nvidia-uvm"),
                        "from: nothing reports what happens to it (no /dev/nvidia-uvm)\n"));
    BOOST_TEST(contains(section(trace::ManagedSourceKind::queue, ""), "without single moves"));
    BOOST_TEST(contains(section(trace::ManagedSourceKind::cupti, ""),
                        "from: CUPTI's unified-memory counters: totals are the sums of its records"));
    BOOST_TEST(contains(section(static_cast<trace::ManagedSourceKind>(200), ""), "newer than this version"));
}

BOOST_FIXTURE_TEST_CASE(the_five_lines_with_most_bytes_come_first, Managed) {
    builder.add(queue());
    tell(all_kinds);
    for (std::uint64_t i = 0; i < 7; ++i) {
        const auto memory = managed(8 * mib, stack());
        migrate(address_of(memory), (i + 1) * mib, host);
    }
    tell(all_kinds, 3);
    const std::string text = section_of(path());
    const auto at = [&](const char* part) { return text.find(part); };
    BOOST_TEST(at("7 MiB to the host") < at("6 MiB to the host"), text);
    BOOST_TEST(at("3 MiB to the host (") != std::string::npos, text);
    BOOST_TEST(at(" 2 MiB to the host (") == std::string::npos, text);
    BOOST_TEST(contains(text, "    and 2 further lines\n"));
    BOOST_TEST(contains(text, "  ! the driver dropped 3 events\n"));
}

BOOST_AUTO_TEST_SUITE_END()
