/// Findings on what could run side by side, and on copies that need not cross the link.
#include "analyzer/findings/finding.hpp"
#include "scenario.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_overlap_findings)

using namespace umadvisor;
using findings::Confidence;
using findings::Finding;
using test::mib;
using trace::Memory;
using trace::SyncKind;

namespace {

constexpr std::uint64_t us = 1000;

/// A device with streams, copies and kernels on named memory.
struct Device : test::Scenario {
    std::uint64_t function_id = function("scramble");
    std::uint64_t samples = 0;

    std::uint64_t make_stream(bool non_blocking = false) {
        trace::Stream record;
        record.entry = entry("cuStreamCreate");
        record.start = now;
        record.duration = 1000;
        record.action = trace::StreamAction::create;
        record.stream = 0x5000 + 16 * ++streams_;
        record.flags = non_blocking ? 1 : 0;
        builder.add(record);
        now += 2000;
        return record.stream;
    }

    std::uint64_t memory(std::uint64_t device = 0) {
        trace::Alloc record;
        record.entry = entry("cuMemAlloc_v2");
        record.start = now;
        record.allocation = 100 + ++allocations_;
        record.address = 0x7f00'0000'0000 + (record.allocation << 32);
        record.bytes = 64 * mib;
        record.memory = Memory::device;
        record.device = device;
        builder.add(record);
        now += 2000;
        return record.allocation;
    }

    struct Link {
        std::uint64_t stream = 0, ns = 0, stack = 0; ///< ns: of the device if asynchronous, else of the call
        bool asynchronous = true;
        Memory host = Memory::pinned;
        std::uint64_t host_address = 0x1000'0000;
    };
    void upload(std::uint64_t to, std::uint64_t bytes, const Link& link) {
        trace::Copy copy = across(bytes, link, link.asynchronous ? "cuMemcpyHtoDAsync_v2" : "cuMemcpyHtoD_v2");
        copy.source_memory = link.host;
        copy.source = link.host_address;
        copy.destination_memory = Memory::device;
        copy.destination = 0x7f00'0000'0000 + (to << 32);
        copy.destination_allocation = to;
        give(copy, link);
    }
    void download(std::uint64_t from, std::uint64_t bytes, const Link& link) {
        trace::Copy copy = across(bytes, link, link.asynchronous ? "cuMemcpyDtoHAsync_v2" : "cuMemcpyDtoH_v2");
        copy.source_memory = Memory::device;
        copy.source = 0x7f00'0000'0000 + (from << 32);
        copy.source_allocation = from;
        copy.destination_memory = link.host;
        copy.destination = link.host_address;
        give(copy, link);
    }

    void kernel(std::initializer_list<std::uint64_t> allocations, std::uint64_t stream, std::uint64_t ns,
                std::uint64_t stack = 0) {
        trace::LaunchShape shape;
        shape.shape = 1;
        shape.entry = entry("cuLaunchKernel");
        shape.function = function_id;
        shape.stream = stream;
        shape.stack = stack;
        shape.grid_x = shape.grid_y = shape.grid_z = shape.block_x = shape.block_y = shape.block_z = 1;
        shape.scanned = scanned ? 1 : 0;
        for (const std::uint64_t allocation : allocations)
            shape.touched.add(allocation);
        builder.add(shape);
        trace::Launch launch;
        launch.shape = 1;
        launch.start = now;
        launch.duration = 2400;
        launch.sample = ++samples;
        builder.add(launch);
        pending_.emplace_back(launch.sample, ns);
        now += 3000;
    }

    /// All that was sampled is read after the wait.
    void wait(std::uint64_t duration = 700 * us) {
        synchronize({.duration = duration});
        read_samples();
    }
    void read_samples() {
        for (const auto& [sample, ns] : pending_)
            device_time(sample, ns);
        pending_.clear();
    }

    bool scanned = true;

private:
    trace::Copy across(std::uint64_t bytes, const Link& link, std::string_view symbol) {
        trace::Copy copy;
        copy.entry = entry(symbol);
        copy.start = now;
        copy.duration = link.asynchronous ? 1300 : link.ns;
        copy.stack = link.stack;
        copy.bytes = bytes;
        copy.asynchronous = link.asynchronous ? 1 : 0;
        copy.stream = link.stream;
        return copy;
    }
    void give(trace::Copy& copy, const Link& link) {
        if (link.asynchronous && link.ns != 0) {
            copy.sample = ++samples;
            pending_.emplace_back(copy.sample, link.ns);
        }
        builder.add(copy);
        now += copy.duration + 1000;
    }

    std::uint64_t streams_ = 0, allocations_ = 0;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pending_; ///< samples and their time
};

std::vector<Finding> advice_on(Device& device) {
    reader::Trace trace(device.path());
    const model::Profile profile(trace);
    auto found = findings::find_all(profile, [](std::uint64_t stack) { return stack; });
    // What the memory of these programs is for is not their point.
    std::erase_if(found, [](const Finding& finding) { return finding.rule->id >= "UMA-3"; });
    return found;
}

Finding lone_finding(Device& device, std::string_view rule) {
    const auto found = advice_on(device);
    BOOST_REQUIRE_EQUAL(found.size(), 1u);
    BOOST_TEST(found.front().rule->id == rule);
    return found.front();
}

void nothing_is_found(Device& device) {
    for (const Finding& finding : advice_on(device))
        BOOST_ERROR("found " << finding.rule->id << ": " << finding.summary);
}

double number(const Finding& finding, std::string_view key) {
    const auto found = std::ranges::find(finding.evidence, key, &std::pair<std::string_view, double>::first);
    BOOST_REQUIRE(found != finding.evidence.end());
    return found->second;
}

const auto close = boost::test_tools::tolerance(0.001);

} // namespace

BOOST_AUTO_TEST_SUITE(serial_copies)

namespace {

struct Serial : Device {
    std::uint64_t data = memory(), stream = make_stream(), in = stack(), out = stack();
    Memory host = Memory::pinned;

    void rounds(std::uint64_t up_ns, std::uint64_t kernel_ns, std::uint64_t down_ns, std::uint64_t bytes) {
        for (int round = 0; round < 10; ++round) {
            upload(data, bytes, {.stream = stream, .ns = up_ns, .stack = in, .host = host});
            kernel({data}, stream, kernel_ns);
            download(data, bytes, {.stream = stream, .ns = down_ns, .stack = out, .host = host});
            wait();
        }
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(in_kernel_and_out_on_one_stream) {
    Serial s;
    s.rounds(303 * us, 110 * us, 303 * us, 16 * mib);
    const Finding finding = lone_finding(s, "UMA-109");
    BOOST_TEST(finding.stack == s.in);
    BOOST_REQUIRE(finding.places.size() == 2u);
    BOOST_TEST(finding.places.back().second == s.out);
    BOOST_TEST(number(finding, "rounds") == 10);
    BOOST_TEST(number(finding, "streams") == 4);
    BOOST_TEST(number(finding, "bytes_to_device") == 160.0 * mib);
    // Handed over twice.
    BOOST_TEST(number(finding, "serial_ns") == 10 * (303e3 + 110e3 + 303e3 + 6e3), close);
    // Measured on an H200: 734.6 us in series, 459 per stream, 455 phase by phase.
    BOOST_TEST(number(finding, "per_stream_ns") == 10 * 459e3, boost::test_tools::tolerance(0.05));
    BOOST_TEST(number(finding, "phase_wise_ns") == 10 * 455e3, boost::test_tools::tolerance(0.05));
    BOOST_TEST(finding.saving_ns == number(finding, "serial_ns") - std::min(number(finding, "per_stream_ns"),
                                                                            number(finding, "phase_wise_ns")),
               close);
    BOOST_TEST(finding.advice.find("split the data in 4 chunks") != std::string::npos, finding.advice);
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(parts_that_are_there_get_streams) {
    Serial s;
    for (int round = 0; round < 10; ++round) {
        for (int part = 0; part < 4; ++part) {
            s.upload(s.data, 4 * mib, {.stream = s.stream, .ns = 80 * us, .stack = s.in});
            s.kernel({s.data}, s.stream, 20 * us);
            s.download(s.data, 4 * mib, {.stream = s.stream, .ns = 80 * us});
        }
        s.wait();
    }
    const Finding finding = lone_finding(s, "UMA-109");
    BOOST_TEST(number(finding, "chains") == 40);
    BOOST_TEST(finding.advice.find("each of the 4 parts") != std::string::npos, finding.advice);
}

BOOST_AUTO_TEST_CASE(synchronous_copies_are_priced_by_their_calls) {
    Serial s;
    for (int round = 0; round < 10; ++round) {
        s.upload(s.data, 16 * mib, {.ns = 310 * us, .stack = s.in, .asynchronous = false});
        s.kernel({s.data}, 0, 110 * us);
        s.download(s.data, 16 * mib, {.ns = 420 * us, .asynchronous = false});
        s.read_samples();
    }
    // The download waited for the kernel.
    BOOST_TEST(number(lone_finding(s, "UMA-109"), "serial_ns") == 10 * (310e3 + 110e3 + 310e3 + 6e3), close);
}

BOOST_AUTO_TEST_CASE(pageable_memory_is_predicted_as_if_it_were_pinned) {
    Serial s;
    s.host = Memory::pageable;
    for (int round = 0; round < 10; ++round) {
        s.upload(s.data, 16 * mib,
                 {.ns = 1600 * us, .stack = s.in, .asynchronous = false, .host = Memory::pageable});
        s.kernel({s.data}, 0, 110 * us);
        s.download(s.data, 16 * mib,
                   {.ns = 900 * us, .stack = s.out, .asynchronous = false, .host = Memory::pageable});
        s.read_samples();
    }
    const auto found = advice_on(s);
    const auto overlap = std::ranges::find(found, "UMA-109", [](const Finding& f) { return f.rule->id; });
    BOOST_REQUIRE(overlap != found.end());
    BOOST_TEST(number(*overlap, "serial_ns") < 10 * 740e3);
    BOOST_TEST(overlap->advice.find("cudaMallocHost") != std::string::npos, overlap->advice);
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
    nothing_is_found(one_way);
    for (int repeat = 0; repeat < 50; ++repeat)
        small.rounds(3 * us, 2 * us, 3 * us, 64 * 1024);
    nothing_is_found(small);
    const std::uint64_t elsewhere = other.memory();
    for (int round = 0; round < 10; ++round) {
        other.upload(other.data, 16 * mib, {.stream = other.stream, .ns = 303 * us});
        other.kernel({elsewhere}, other.stream, 110 * us);
        other.download(elsewhere, 16 * mib,
                       {.stream = other.stream, .ns = 303 * us, .host_address = 0x2000'0000});
        other.wait();
    }
    nothing_is_found(other);
}

BOOST_AUTO_TEST_CASE(what_overlaps_already) {
    Serial s;
    const std::uint64_t second = s.make_stream(true);
    for (int round = 0; round < 10; ++round)
        for (const std::uint64_t stream : {s.stream, second}) {
            // Waits for the round before on this stream while the other works on.
            s.synchronize({.kind = SyncKind::stream, .object = stream, .duration = 300 * us});
            s.read_samples();
            s.upload(s.data, 16 * mib, {.stream = stream, .ns = 303 * us});
            s.kernel({s.data}, stream, 110 * us);
            s.download(s.data, 16 * mib, {.stream = stream, .ns = 303 * us});
        }
    s.wait();
    for (const Finding& finding : advice_on(s))
        BOOST_TEST(number(finding, "rounds") <= 1, finding.summary); // the first had nothing beside it
}

BOOST_AUTO_TEST_CASE(kernels_of_which_too_little_is_known) {
    Serial unscanned, unmeasured;
    unscanned.scanned = false;
    unscanned.rounds(303 * us, 110 * us, 303 * us, 16 * mib);
    nothing_is_found(unscanned);
    for (int round = 0; round < 10; ++round) {
        unmeasured.upload(unmeasured.data, 16 * mib, {.stream = unmeasured.stream});
        unmeasured.launch(unmeasured.function_id, {unmeasured.data});
        unmeasured.download(unmeasured.data, 16 * mib, {.stream = unmeasured.stream});
        unmeasured.synchronize();
    }
    nothing_is_found(unmeasured);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(default_stream)

namespace {

struct Streams : Device {
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

} // namespace

BOOST_AUTO_TEST_CASE(a_kernel_on_the_default_stream_between_copies) {
    Streams s;
    s.rounds(0, s.current);
    const Finding finding = lone_finding(s, "UMA-110");
    BOOST_TEST(finding.stack == s.line);
    BOOST_TEST(number(finding, "streams") == 2);
    BOOST_TEST(number(finding, "recorded_ns") == 10 * (303e3 + 50e3 + 303e3 + 6e3), close);
    // Both copies at once, the second given two calls later.
    BOOST_TEST(number(finding, "side_by_side_ns") == 10 * 303e3 * 1.16, boost::test_tools::tolerance(0.02));
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(what_waits_for_nothing_or_has_to) {
    Streams non_blocking(true), own, dependent;
    non_blocking.rounds(0, non_blocking.current);
    nothing_is_found(non_blocking);
    own.rounds(own.first, own.current);
    nothing_is_found(own);
    dependent.last = dependent.current = dependent.next;
    dependent.rounds(0, dependent.next);
    nothing_is_found(dependent);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(through_host)

namespace {

struct Detour : Device {
    std::uint64_t from = memory(), to = memory(), there = memory(1), down = stack(), up = stack();

    void rounds(std::uint64_t target, std::uint64_t gap, Memory host = Memory::pageable,
                std::uint64_t up_bytes = 64 * mib) {
        for (int round = 0; round < 10; ++round) {
            download(from, 64 * mib, {.ns = 4000 * us, .stack = down, .asynchronous = false, .host = host});
            now += gap;
            upload(target, up_bytes, {.ns = 5000 * us, .stack = up, .asynchronous = false, .host = host});
        }
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(to_the_same_device_by_way_of_the_host) {
    Detour s;
    s.rounds(s.to, 0);
    const Finding finding = lone_finding(s, "UMA-111");
    BOOST_TEST(finding.stack == s.down);
    BOOST_REQUIRE(finding.places.size() == 1u);
    BOOST_TEST(finding.places.front().second == s.up);
    BOOST_TEST(number(finding, "pairs") == 10);
    BOOST_TEST(finding.saving_ns == 10 * (9000e3 - 64 * mib / 1170.0), close);
    BOOST_TEST(finding.advice.find("cudaMemcpyDeviceToDevice") != std::string::npos, finding.advice);
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(to_another_device) {
    Detour s;
    s.rounds(s.there, 0);
    const Finding finding = lone_finding(s, "UMA-111");
    BOOST_TEST(finding.saving_ns == 10 * (9000e3 - 64 * mib / 55.5), close);
    BOOST_TEST(finding.advice.find("cudaMemcpyPeerAsync") != std::string::npos, finding.advice);
    BOOST_TEST(finding.advice.find("cudaDeviceEnablePeerAccess") != std::string::npos, finding.advice);
    BOOST_TEST((finding.confidence == Confidence::low));
}

BOOST_AUTO_TEST_CASE(kernels_that_a_download_waits_for_are_not_saved) {
    Detour s;
    s.rounds(s.to, 0);
    s.download(s.from, 64 * mib,
               {.ns = 90'000 * us, .stack = s.down, .asynchronous = false, .host = Memory::pageable});
    s.upload(s.to, 64 * mib, {.ns = 5000 * us, .stack = s.up, .asynchronous = false, .host = Memory::pageable});
    BOOST_TEST(lone_finding(s, "UMA-111").saving_ns == 11 * (9000e3 - 64 * mib / 1170.0), close);
}

BOOST_AUTO_TEST_CASE(streams_order_what_the_host_does_not_wait_for) {
    Detour s;
    const std::uint64_t stream = s.make_stream();
    for (int round = 0; round < 10; ++round) {
        s.download(s.from, 64 * mib, {.stream = stream, .ns = 1200 * us, .stack = s.down});
        s.upload(s.to, 64 * mib, {.stream = stream, .ns = 1200 * us, .stack = s.up});
        s.wait(2500 * us);
    }
    BOOST_TEST(lone_finding(s, "UMA-111").saving_ns == 10 * (2400e3 - 64 * mib / 1170.0), close);
}

BOOST_AUTO_TEST_CASE(what_the_host_may_have_looked_at) {
    Detour looked, part, back, other;
    looked.rounds(looked.to, 3000 * us, Memory::pinned);
    nothing_is_found(looked);
    part.rounds(part.to, 0, Memory::pinned, 32 * mib);
    nothing_is_found(part);
    back.rounds(back.from, 0, Memory::pinned);
    nothing_is_found(back);
    const std::uint64_t first = other.make_stream(), second = other.make_stream();
    other.download(other.from, 64 * mib, {.stream = first, .ns = 1200 * us});
    other.upload(other.to, 64 * mib, {.stream = second, .ns = 1200 * us});
    other.wait();
    nothing_is_found(other);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(scalar_download)

namespace {

struct Loop : Device {
    std::uint64_t loss = memory(), line = stack(), waited = stack();

    /// Rounds of two kernels of 2 us each and a scalar.
    template <class Read>
    void rounds(int count, const Read& read) {
        for (int round = 0; round < count; ++round) {
            kernel({loss}, 0, 2 * us);
            kernel({loss}, 0, 2 * us);
            read();
        }
    }
    void read_scalar(std::uint64_t ns = 17 * us) {
        download(loss, 4, {.ns = ns, .stack = line, .asynchronous = false});
        read_samples();
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_scalar_in_each_round) {
    Loop s;
    s.rounds(251, [&] { s.read_scalar(); });
    const Finding finding = lone_finding(s, "UMA-112");
    BOOST_TEST(finding.stack == s.line);
    BOOST_TEST(number(finding, "rounds") == 250); // the first began with the program
    BOOST_TEST(number(finding, "kernel_ns") == 250 * 4e3, close);
    BOOST_TEST(finding.saving_ns == 250 * 17e3, close);
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(an_asynchronous_one_that_is_waited_for_at_once) {
    Loop s;
    s.rounds(251, [&] {
        s.download(s.loss, 4, {.stack = s.line});
        s.synchronize({.kind = SyncKind::stream, .stack = s.waited, .duration = 17 * us});
        s.read_samples();
    });
    const Finding finding = lone_finding(s, "UMA-112");
    BOOST_TEST(finding.stack == s.line);
    BOOST_REQUIRE(finding.places.size() == 1u);
    BOOST_TEST(finding.places.front().second == s.waited);
    BOOST_TEST(finding.saving_ns == 250 * 18.3e3, close);
}

BOOST_AUTO_TEST_CASE(kernels_keep_the_device_busy_all_the_same) {
    Loop s;
    for (int round = 0; round < 251; ++round) {
        s.kernel({s.loss}, 0, 1000 * us);
        s.read_scalar(1015 * us);
    }
    nothing_is_found(s);
}

BOOST_AUTO_TEST_CASE(rounds_that_wait_for_more) {
    // A scalar behind a synchronisation, or behind results, waits for nothing: it costs its call.
    Loop synchronized, results, few;
    synchronized.rounds(251, [&] {
        synchronized.synchronize({.duration = 20 * us});
        synchronized.read_scalar();
    });
    lone_finding(synchronized, "UMA-103");
    results.rounds(251, [&] {
        results.download(results.loss, mib, {.ns = 30 * us, .asynchronous = false});
        results.read_scalar();
    });
    lone_finding(results, "UMA-103");
    few.rounds(100, [&] { few.read_scalar(); });
    nothing_is_found(few);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
