/// Findings on what could run side by side.
#include "analyzer/facts/call.hpp"
#include "analyzer/rules/transfers/default_stream_order.hpp"
#include "busy_device.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_overlap_findings)

using namespace umadvisor;
using namespace umadvisor::test;
using test::close;
using trace::SyncKind;

BOOST_AUTO_TEST_SUITE(serial_copies, *umadvisor::test::on_rules("UMA-107 UMA-109"))

struct Serial : BusyDevice {
    std::uint64_t data = memory(), stream = make_stream(), in = stack(), out = stack();

    void rounds(std::uint64_t up_ns, std::uint64_t kernel_ns, std::uint64_t down_ns, std::uint64_t bytes,
                int parts = 1) {
        for (int round = 0; round < 10; ++round) {
            for (int part = 0; part < parts; ++part) {
                upload(data, bytes, {.stream = stream, .ns = up_ns, .stack = in});
                kernel({data}, stream, kernel_ns);
                download(data, bytes, {.stream = stream, .ns = down_ns, .stack = out});
            }
            wait();
        }
    }
    /// The host waits for each copy. Contents: what goes up in the first round, and how far what comes down is
    /// off it.
    void waited_rounds(std::uint64_t up_ns, std::uint64_t down_ns, Memory host = Memory::pinned,
                       std::uint64_t goes_up = 0, std::uint64_t comes_down = 0) {
        for (std::uint64_t round = 0; round < 10; ++round) {
            upload(data, 16 * mib,
                   {.ns = up_ns,
                    .stack = in,
                    .asynchronous = false,
                    .host = host,
                    .content = goes_up == 0 ? 0 : goes_up + round});
            kernel({data}, 0, 110 * us);
            download(data, 16 * mib,
                     {.ns = down_ns,
                      .stack = out,
                      .asynchronous = false,
                      .host = host,
                      .content = comes_down == 0 ? 0 : comes_down + round});
            tell_times();
        }
    }
};

BOOST_FIXTURE_TEST_CASE(in_kernel_and_out_on_one_stream, Serial) {
    rounds(303 * us, 110 * us, 303 * us, 16 * mib);
    const Finding finding = lone(*this, "UMA-109");
    BOOST_TEST(finding.stack == in);
    BOOST_REQUIRE(finding.places.size() == 2u);
    BOOST_TEST(finding.places.back().second == out);
    BOOST_TEST(evidence(finding, "rounds") == 10);
    BOOST_TEST(evidence(finding, "streams") == 4);
    BOOST_TEST(evidence(finding, "bytes_to_device") == 160.0 * mib);
    // Handed over twice.
    BOOST_TEST(evidence(finding, "serial_ns") == 10 * (303e3 + 110e3 + 303e3 + 6e3), close);
    // Measured on an H200: 734.6 us in series, 459 per stream, 455 phase by phase.
    BOOST_TEST(evidence(finding, "per_stream_ns") == 10 * 459e3, boost::test_tools::tolerance(0.05));
    BOOST_TEST(evidence(finding, "phase_wise_ns") == 10 * 455e3, boost::test_tools::tolerance(0.05));
    BOOST_TEST(finding.saving_ns ==
                   evidence(finding, "serial_ns") -
                       std::min(evidence(finding, "per_stream_ns"), evidence(finding, "phase_wise_ns")),
               close);
    BOOST_TEST(contains(finding.advice, "split the data into 4 chunks"));
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(results_that_feed_the_next_round_by_way_of_the_host) {
    for (const bool changed : {false, true}) {
        Serial s;
        s.waited_rounds(310 * us, 420 * us, Memory::pinned, changed ? 101 : 1, 2);
        // What goes is not to overlap: the uploads, and the downloads that the host has no time to look at.
        BOOST_TEST(rules_of(s) == (changed ? "UMA-109" : "UMA-107 UMA-107"));
    }
}

BOOST_FIXTURE_TEST_CASE(parts_that_are_there_get_streams, Serial) {
    rounds(80 * us, 20 * us, 80 * us, 4 * mib, 4);
    const Finding finding = lone(*this, "UMA-109");
    BOOST_TEST(evidence(finding, "chains") == 40);
    BOOST_TEST(contains(finding.advice, "each of the 4 parts"));
}

BOOST_FIXTURE_TEST_CASE(synchronous_copies_are_priced_by_their_calls, Serial) {
    waited_rounds(310 * us, 420 * us);
    // The download waited for the kernel.
    BOOST_TEST(evidence(lone(*this, "UMA-109"), "serial_ns") == 10 * (310e3 + 110e3 + 310e3 + 6e3), close);
}

BOOST_FIXTURE_TEST_CASE(pageable_memory_is_predicted_as_if_it_were_pinned, Serial) {
    waited_rounds(1600 * us, 900 * us, Memory::pageable);
    const Finding overlap = among(findings_of(*this), "UMA-109");
    BOOST_TEST(evidence(overlap, "serial_ns") < 10 * 740e3);
    BOOST_TEST(contains(overlap.advice, "page-lock the host buffers"));
}

BOOST_AUTO_TEST_CASE(what_would_not_overlap) {
    // One copy takes all the time; chunks that cost more than they gain; and a kernel on other memory.
    Serial one_way, small, other;
    for (int round = 0; round < 10; ++round) {
        one_way.upload(one_way.data, 16 * mib, {.stream = one_way.stream, .ns = 303 * us, .stack = one_way.in});
        one_way.kernel({one_way.data}, one_way.stream, 6 * us);
        one_way.download(one_way.data, 1024, {.stream = one_way.stream, .ns = 2 * us});
        one_way.wait();
    }
    nothing_in(one_way);
    for (int repeat = 0; repeat < 50; ++repeat) {
        small.rounds(3 * us, 2 * us, 3 * us, 64 * 1024);
        small.builder.next_chunk();
    }
    nothing_in(small);
    const std::uint64_t elsewhere = other.memory();
    for (int round = 0; round < 10; ++round) {
        other.upload(other.data, 16 * mib, {.stream = other.stream, .ns = 303 * us});
        other.kernel({elsewhere}, other.stream, 110 * us);
        other.download(elsewhere, 16 * mib,
                       {.stream = other.stream, .ns = 303 * us, .host_address = 0x2000'0000});
        other.wait();
    }
    nothing_in(other);
}

BOOST_AUTO_TEST_CASE(what_overlaps_already) {
    Serial s;
    const std::uint64_t second = s.make_stream(true);
    for (int round = 0; round < 10; ++round)
        for (const std::uint64_t stream : {s.stream, second}) {
            // Waits for the round before on this stream while the other works on.
            s.synchronize({.kind = SyncKind::stream, .object = stream, .duration = 300 * us});
            s.tell_times();
            s.upload(s.data, 16 * mib, {.stream = stream, .ns = 303 * us});
            s.kernel({s.data}, stream, 110 * us);
            s.download(s.data, 16 * mib, {.stream = stream, .ns = 303 * us});
        }
    s.wait();
    for (const Finding& finding : findings_of(s))
        BOOST_TEST(evidence(finding, "rounds") <= 1, finding.summary); // the first had nothing beside it
}

BOOST_AUTO_TEST_CASE(what_may_not_be_divisible) {
    // Two buffers in, one out: a sum of vectors goes over them once, a product of matrices many times.
    const auto confidence = [](std::uint64_t kernel_ns) {
        Serial s;
        const std::uint64_t second = s.memory();
        for (int round = 0; round < 10; ++round) {
            s.upload(s.data, 16 * mib, {.stream = s.stream, .ns = 303 * us, .stack = s.in});
            s.upload(second, 16 * mib, {.stream = s.stream, .ns = 303 * us, .host_address = 0x2000'0000});
            s.kernel({s.data, second}, s.stream, kernel_ns);
            s.download(s.data, 16 * mib, {.stream = s.stream, .ns = 303 * us});
            s.wait(3 * 303 * us + kernel_ns);
        }
        return lone(s, "UMA-109").confidence;
    };
    BOOST_TEST((confidence(100 * us) == Confidence::medium));
    BOOST_TEST((confidence(900 * us) == Confidence::low));
}

BOOST_AUTO_TEST_CASE(kernels_of_which_too_little_is_known) {
    Serial unscanned, unmeasured;
    unscanned.scanned = false;
    unscanned.rounds(303 * us, 110 * us, 303 * us, 16 * mib);
    nothing_in(unscanned);
    for (int round = 0; round < 10; ++round) {
        unmeasured.upload(unmeasured.data, 16 * mib, {.stream = unmeasured.stream});
        unmeasured.launch(unmeasured.function_id, {unmeasured.data});
        unmeasured.download(unmeasured.data, 16 * mib, {.stream = unmeasured.stream});
        unmeasured.synchronize();
    }
    nothing_in(unmeasured);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(default_stream, *umadvisor::test::on_rules("UMA-110"))

struct Streams : BusyDevice {
    std::uint64_t first, second, next = memory(), current = memory(), last = memory(), line = stack();
    explicit Streams(bool non_blocking = false)
        : first(make_stream(non_blocking)), second(make_stream(non_blocking)) {}

    void rounds(std::uint64_t kernel_stream, std::uint64_t on) {
        for (int round = 0; round < 10; ++round) {
            upload(next, 16 * mib, {.stream = first, .ns = 303 * us});
            kernel({on}, kernel_stream, 50 * us, line);
            download(last, 16 * mib, {.stream = second, .ns = 303 * us, .host_address = 0x2000'0000});
            wait();
        }
    }
};

BOOST_FIXTURE_TEST_CASE(a_kernel_on_the_default_stream_between_copies, Streams) {
    rounds(0, current);
    const Finding finding = lone(*this, "UMA-110");
    BOOST_TEST(finding.stack == line);
    BOOST_TEST(evidence(finding, "streams") == 2);
    BOOST_TEST(evidence(finding, "default_stream_operations") == 10);
    // Both copies at once. The wait of 700 us makes all a little longer than it was measured.
    BOOST_TEST(finding.saving_ns == 10 * (303e3 + 50e3), boost::test_tools::tolerance(0.1));
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(a_launch_on_the_default_stream_after_each_of_many_streams) {
    // More launches than a pattern may have, and no copy.
    BusyDevice s;
    const std::uint64_t data = s.memory(), count = s.memory(), line = s.stack();
    std::vector<std::uint64_t> streams;
    for (int i = 0; i < 8; ++i)
        streams.push_back(s.make_stream());
    s.wait(1000);
    for (int round = 0; round < 20; ++round)
        for (const std::uint64_t stream : streams) {
            s.kernel({data}, stream, 140 * us);
            s.kernel({count}, 0, 140 * us, line); // the device has one time for both, of one function
        }
    s.wait(320 * 140 * us);
    const Finding finding = lone(s, "UMA-110");
    BOOST_TEST(finding.stack == line);
    BOOST_TEST(evidence(finding, "streams") == 8);
    BOOST_TEST(evidence(finding, "default_stream_operations") == 159); // behind the last comes nothing
    BOOST_TEST(finding.saving_ns == 160 * 140e3, boost::test_tools::tolerance(0.05));
}

BOOST_AUTO_TEST_CASE(kernels_that_fill_the_device_gain_nothing) {
    const auto is_told = [](std::uint64_t x, std::uint64_t y, std::uint64_t z) {
        Streams s;
        s.grid = {x, y, z};
        for (int round = 0; round < 10; ++round) {
            s.kernel({s.next}, s.first, 300 * us);
            s.kernel({s.current}, 0, 300 * us, s.line);
            s.kernel({s.last}, s.second, 300 * us);
            s.wait(910 * us);
        }
        return tells(findings_of(s), "UMA-110");
    };
    BOOST_TEST(is_told(15, 1, 1));
    BOOST_TEST(!is_told(4, 2, 2));
    BOOST_TEST(!is_told(1 << 22, 1 << 21, 1 << 21)); // 2^64 blocks
}

/// What is known of work that never runs.
struct Order {
    rules::DefaultStreamOrder seen;

    void work(std::uint64_t stack, std::uint32_t stream, std::uint64_t allocation, bool told = true) {
        facts::Call call;
        call.site = {ids::StackId(stack), 1};
        call.queues = facts::Queues::work;
        call.stream = {stream, 0, stream == 0, stream != 0};
        const trace::AllocationId reached{allocation};
        seen.add(call, std::span(&reached, 1), told);
    }
    void wait() {
        facts::Call call;
        call.waits = facts::Waits::device;
        seen.add(call, {}, true);
    }
    std::ptrdiff_t free_of_order() const {
        return std::ranges::count_if(
            seen.sites(), [](const auto& site) { return site.second.between != 0 && !site.second.shares; });
    }
};

BOOST_FIXTURE_TEST_CASE(what_many_lines_have_in_the_default_stream_is_kept_up_to_a_bound, Order) {
    work(1, 1, 10);
    for (std::uint64_t line = 0; line < 20'000; ++line)
        work(100 + line, 0, 20);
    work(1, 1, 10);
    BOOST_TEST(free_of_order() == 256);
    for (int launch = 0; launch < 20'000; ++launch) // which may reach anything
        work(2, 1, 10, false);
    BOOST_TEST(free_of_order() == 0);
}

BOOST_FIXTURE_TEST_CASE(order_that_was_needed_once_may_be_needed_again, Order) {
    for (const std::uint64_t allocation : {10, 20, 30}) {
        work(1, 1, 10);
        work(100, 0, allocation); // shared in the first stretch alone
        if (allocation == 30)
            work(101, 0, 30);
        work(1, 1, 10);
        wait();
        BOOST_TEST(free_of_order() == (allocation == 30 ? 1 : 0));
    }
    work(1, 1, 10);
    work(101, 0, 30);
    work(1, 1, 10);
    work(1, 1, 30); // behind it
    BOOST_TEST(free_of_order() == 0);
}

BOOST_AUTO_TEST_CASE(work_whose_order_may_be_needed) {
    Streams unknown, waited, behind;
    unknown.scanned = false;
    unknown.rounds(0, unknown.current);
    nothing_in(unknown);
    for (int round = 0; round < 10; ++round) { // the host waits in between
        waited.upload(waited.next, 16 * mib, {.stream = waited.first, .ns = 303 * us});
        waited.wait(310 * us);
        waited.kernel({waited.current}, 0, 50 * us, waited.line);
        waited.wait(60 * us);
    }
    nothing_in(waited);
    for (int round = 0; round < 10; ++round) { // a later one reads what it wrote
        behind.kernel({behind.next}, behind.first, 300 * us);
        behind.kernel({behind.current}, 0, 300 * us, behind.line);
        behind.kernel({behind.next}, behind.second, 300 * us);
        behind.kernel({behind.current}, behind.second, 300 * us);
        behind.wait(1210 * us);
    }
    nothing_in(behind);
}

BOOST_AUTO_TEST_CASE(variables_of_a_module_that_no_parameter_shows) {
    const auto rounds_with = [](std::uint64_t symbol, bool copy, Memory memory = Memory::device) {
        Streams s;
        const std::uint64_t variable =
            s.allocate(64 * mib, memory, {.symbol = "cuModuleGetGlobal_v2", .id = 99, .variable = symbol});
        for (int round = 0; round < 10; ++round) {
            s.upload(s.next, 16 * mib, {.stream = s.first, .ns = 303 * us});
            if (copy)
                s.upload(variable, mib, {.ns = 50 * us, .stack = s.line});
            else
                s.set(variable, 32 * mib, {.stack = s.line, .memory = memory, .asynchronous = true});
            s.kernel({s.last}, s.second, 303 * us);
            s.wait();
        }
        return tells(findings_of(s), "UMA-110");
    };
    for (const bool copy : {false, true}) {
        BOOST_TEST(rounds_with(0, copy)); // the program's own allocation
        BOOST_TEST(!rounds_with(7, copy));
    }
    BOOST_TEST(rounds_with(7, false, Memory::managed)); // launches list these
}

BOOST_AUTO_TEST_CASE(kernels_without_parameters_work_on_variables) {
    for (const bool in_default_stream : {false, true}) {
        Streams s;
        for (int round = 0; round < 10; ++round) {
            s.upload(s.next, 16 * mib, {.stream = s.first, .ns = 303 * us});
            if (in_default_stream) {
                s.kernel({}, 0, 50 * us, s.line);
                s.kernel({s.last}, s.second, 303 * us);
            } else {
                s.kernel({s.current}, 0, 50 * us, s.line);
                s.kernel({}, s.second, 303 * us);
            }
            s.wait();
        }
        nothing_in(s);
    }
}

BOOST_AUTO_TEST_CASE(what_waits_for_nothing_or_has_to) {
    Streams non_blocking(true), own, dependent;
    non_blocking.rounds(0, non_blocking.current);
    nothing_in(non_blocking);
    own.rounds(own.first, own.current);
    nothing_in(own);
    dependent.last = dependent.current = dependent.next;
    dependent.rounds(0, dependent.next);
    nothing_in(dependent);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
