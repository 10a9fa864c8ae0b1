/// Findings on memory that the program could do without at its peak.
#include "analyzer/findings/finding.hpp"
#include "scenario.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_lifetimes)

using namespace umadvisor;
using findings::Confidence;
using findings::Finding;
using test::mib;
using test::ms;
using trace::Memory;

namespace {

struct Program : test::Scenario {
    std::uint64_t kernel = function("step");
    std::uint64_t first_line = stack(), second_line = stack();

    std::uint64_t take(std::uint64_t bytes, std::uint64_t line, Memory memory = Memory::device) {
        return allocate(bytes, memory, line, trace::Origin::program,
                        memory == Memory::pinned ? "cuMemHostAlloc" : "cuMemAlloc_v2", 50'000);
    }
    /// A hundred milliseconds of kernels on these.
    void use_for_long(std::initializer_list<std::uint64_t> allocations) {
        for (int i = 0; i < 10; ++i) {
            launch(kernel, allocations);
            synchronize({.duration = 10 * ms});
        }
    }
    void copy_to(std::uint64_t allocation, std::uint64_t offset, std::uint64_t bytes,
                 Memory memory = Memory::device) {
        trace::Set set;
        set.entry = entry("cuMemsetD8_v2");
        set.start = now;
        set.duration = 2000;
        set.address = 0x7f00'0000'0000 + (allocation << 32) + offset;
        set.bytes = bytes;
        set.memory = memory;
        set.allocation = allocation;
        builder.add(set);
        now += 3000;
    }
    std::vector<Finding> findings() {
        reader::Trace trace(path());
        const model::Profile profile(trace);
        auto found = findings::find_all(profile, [](std::uint64_t stack) { return stack; }).all;
        // Its waits separate uses; another test asks what they are for.
        std::erase_if(found, [](const Finding& finding) { return finding.rule->id == "UMA-506"; });
        return found;
    }
    Finding lone_finding(std::string_view rule) {
        const auto found = findings();
        BOOST_REQUIRE_EQUAL(found.size(), 1u);
        BOOST_TEST(found.front().rule->id == rule);
        return found.front();
    }
    void nothing_is_found() {
        for (const Finding& finding : findings())
            BOOST_ERROR("found " << finding.rule->id << ": " << finding.summary);
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(allocated_long_before_its_use) {
    Program p;
    const auto late = p.take(64 * mib, p.first_line), early = p.take(32 * mib, p.second_line);
    p.use_for_long({early});
    p.free(early);
    p.use_for_long({late});
    p.free(late);
    const Finding finding = p.lone_finding("UMA-301");
    BOOST_TEST(finding.stack == p.first_line);
    BOOST_TEST(finding.saving_bytes == 32 * mib); // the peak is 96 MiB, and 64 are in use later
    BOOST_TEST(finding.saving_ns == 0);
    // What the device has is not told: it may be all of it.
    BOOST_TEST((finding.confidence == Confidence::medium));
}

BOOST_AUTO_TEST_CASE(memory_that_is_used_before_and_after_the_peak_is_held_for_that) {
    Program p;
    const auto held = p.take(64 * mib, p.first_line);
    p.use_for_long({held});
    const auto other = p.take(32 * mib, p.second_line);
    p.use_for_long({other});
    p.free(other);
    p.use_for_long({held});
    p.nothing_is_found();
}

BOOST_AUTO_TEST_CASE(memory_that_waits_for_a_kernel_that_uses_all_of_it) {
    Program p;
    std::vector<std::uint64_t> all;
    for (int i = 0; i < 6; ++i)
        all.push_back(p.take(64 * mib, p.first_line));
    p.now += 100 * ms;
    p.launch(p.kernel, {all[0], all[1], all[2], all[3], all[4], all[5]});
    p.synchronize();
    for (const auto each : all)
        p.free(each);
    p.nothing_is_found();
}

BOOST_AUTO_TEST_CASE(memory_that_is_in_use_with_as_much_at_another_time) {
    Program p;
    const auto late = p.take(64 * mib, p.first_line), early = p.take(32 * mib, p.second_line);
    p.use_for_long({early});
    p.free(early);
    const auto beside = p.take(32 * mib - 1, p.second_line);
    p.use_for_long({late, beside});
    p.nothing_is_found();
}

BOOST_AUTO_TEST_CASE(idle_memory_counts_as_a_share_of_the_device) {
    const auto of_device = [](std::uint64_t device_bytes) {
        Program p;
        p.builder = test::TraceBuilder();
        trace::Device device;
        device.memory_bytes = device_bytes;
        p.builder.add(device);
        trace::Function function;
        function.id = p.kernel;
        function.symbol = "step";
        p.builder.add(function);
        const auto late = p.take(64 * mib, p.first_line), early = p.take(32 * mib, p.second_line);
        p.use_for_long({early});
        p.free(early);
        p.use_for_long({late});
        return p.findings();
    };
    BOOST_TEST(of_device(3200 * mib).size() == 1u);
    BOOST_TEST(of_device(3201 * mib).empty());
}

BOOST_AUTO_TEST_CASE(what_is_spared_is_shared_out_among_all_that_is_idle) {
    Program p;
    const auto a = p.take(64 * mib, p.first_line), b = p.take(64 * mib, p.second_line);
    const auto early = p.take(96 * mib, p.stack());
    p.use_for_long({early});
    p.free(early);
    p.use_for_long({a, b}); // 128 MiB, of 224 at the peak
    const auto found = p.findings();
    BOOST_REQUIRE(found.size() == 2u);
    for (const Finding& finding : found)
        BOOST_TEST(finding.saving_bytes == 48 * mib);
}

BOOST_AUTO_TEST_CASE(what_is_used_all_the_time_is_not_idle) {
    Program p;
    const auto a = p.take(64 * mib, p.first_line), b = p.take(32 * mib, p.second_line);
    for (int i = 0; i < 4; ++i) {
        p.use_for_long({b});
        p.launch(p.kernel, {a});
        p.synchronize();
    }
    p.nothing_is_found();
}

BOOST_AUTO_TEST_CASE(a_kernel_uses_memory_until_somebody_waits) {
    Program p;
    const auto a = p.take(64 * mib, p.first_line);
    p.launch(p.kernel, {a});
    const auto b = p.take(32 * mib, p.second_line);
    p.launch(p.kernel, {b});
    p.synchronize({.duration = 200 * ms});
    p.free(a);
    p.free(b);
    p.nothing_is_found();
}

BOOST_AUTO_TEST_CASE(memory_of_its_size_is_made_beside_what_is_done_with) {
    Program p;
    const auto first = p.take(64 * mib, p.first_line);
    p.use_for_long({first});
    const auto second = p.take(64 * mib, p.second_line);
    p.use_for_long({second});
    p.free(first);
    p.free(second);
    const Finding finding = p.lone_finding("UMA-302");
    BOOST_TEST(finding.stack == p.first_line);
    BOOST_REQUIRE(finding.places.size() == 1u);
    BOOST_TEST(finding.places.front().second == p.second_line);
    BOOST_TEST(finding.saving_bytes == 64 * mib);
}

BOOST_AUTO_TEST_CASE(rounds_of_it_are_counted_once) {
    Program p;
    for (int i = 0; i < 5; ++i) {
        const auto first = p.take(64 * mib, p.first_line);
        p.use_for_long({first});
        const auto second = p.take(64 * mib, p.second_line);
        p.use_for_long({second});
        p.free(first);
        p.free(second);
    }
    BOOST_TEST(p.lone_finding("UMA-302").saving_bytes == 64 * mib);
}

BOOST_AUTO_TEST_CASE(never_reached) {
    Program p;
    const auto unused = p.take(64 * mib, p.first_line), used = p.take(32 * mib, p.second_line);
    p.use_for_long({used});
    p.free(unused);
    const Finding finding = p.lone_finding("UMA-402");
    BOOST_TEST(finding.stack == p.first_line);
    BOOST_TEST(finding.saving_bytes == 64 * mib);
    BOOST_TEST((finding.confidence == Confidence::low));
}

BOOST_AUTO_TEST_CASE(little_that_is_never_reached) {
    Program p;
    p.take(mib - 1, p.first_line);
    p.use_for_long({p.take(32 * mib, p.second_line)});
    p.nothing_is_found();
    Program q;
    q.take(2 * mib, q.first_line);
    q.use_for_long({q.take(300 * mib, q.second_line)});
    q.nothing_is_found();
}

BOOST_AUTO_TEST_CASE(what_kernels_may_have_reached_unseen_is_not_judged) {
    const auto with = [](const auto& act) {
        Program p;
        const auto unused = p.take(64 * mib, p.first_line), used = p.take(32 * mib, p.second_line);
        p.use_for_long({used});
        act(p);
        p.free(unused);
        p.nothing_is_found();
    };
    with([](Program& p) {
        trace::LaunchShape shape;
        shape.shape = 2;
        shape.entry = p.entry("cuLaunchKernel");
        p.builder.add(shape);
        trace::Launch launch;
        launch.shape = 2;
        launch.start = p.now;
        p.builder.add(launch);
    });
    with([](Program& p) {
        trace::GraphLaunch launch;
        launch.entry = p.entry("cuGraphLaunch");
        launch.start = p.now;
        p.builder.add(launch);
    });
    with([](Program& p) {
        trace::Pause pause;
        pause.start = p.now;
        p.builder.add(pause);
    });
    with([](Program& p) { p.builder.counters[p.entry("cuTexObjectCreate", false)] = 1; });
    with([](Program& p) { p.builder.dropped[trace::DropReason::size_cap] = 1; });
}

BOOST_AUTO_TEST_CASE(used_in_one_moment) {
    Program p;
    const auto input = p.take(64 * mib, p.first_line);
    p.launch(p.kernel, {input});
    p.synchronize({.duration = 10'000});
    p.use_for_long({p.take(32 * mib, p.second_line)});
    p.free(input);
    const Finding finding = p.lone_finding("UMA-403");
    BOOST_TEST(finding.stack == p.first_line);
    BOOST_TEST(finding.saving_bytes == 32 * mib);
}

BOOST_AUTO_TEST_CASE(made_anew_and_never_freed) {
    const auto rounds = [](int count, bool closed) {
        Program p;
        p.builder.closed = closed;
        for (int i = 0; i < count; ++i)
            p.use_for_long({p.take(64 * mib, p.first_line)});
        return p.findings();
    };
    const auto found = rounds(9, true);
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found.front().rule->id == "UMA-404");
    BOOST_TEST(found.front().saving_bytes == 8 * 64 * mib);
    for (const Finding& finding : rounds(8, true))
        BOOST_TEST(finding.rule->id != "UMA-404");
    for (const Finding& finding : rounds(9, false))
        BOOST_TEST(finding.rule->id != "UMA-404");
}

BOOST_AUTO_TEST_CASE(many_that_stay_in_use_are_not_leaked) {
    Program p;
    std::vector<std::uint64_t> all;
    for (int i = 0; i < 20; ++i) {
        all.push_back(p.take(8 * mib, p.first_line));
        for (const auto each : all)
            p.launch(p.kernel, {each});
        p.synchronize({.duration = 10 * ms});
    }
    p.nothing_is_found();
}

BOOST_AUTO_TEST_CASE(less_than_half_is_used) {
    const auto reached = [](std::uint64_t bytes, Memory memory, bool by_kernel) {
        Program p;
        const auto stage = p.take(64 * mib, p.first_line, memory);
        p.copy_to(stage, 4 * mib, bytes / 2, memory);
        p.copy_to(stage, 4 * mib + bytes / 2, bytes / 2, memory);
        if (by_kernel)
            p.launch(p.kernel, {stage});
        p.free(stage);
        return p.findings();
    };
    for (const Memory memory : {Memory::device, Memory::pinned}) {
        const auto found = reached(16 * mib, memory, false);
        BOOST_REQUIRE(found.size() == 1u);
        BOOST_TEST(found.front().rule->id == "UMA-405");
        BOOST_TEST(found.front().saving_bytes == 48 * mib);
        BOOST_TEST(reached(32 * mib, memory, false).empty());
        BOOST_TEST(reached(16 * mib, memory, true).empty());
    }
}

BOOST_AUTO_TEST_CASE(locked_and_never_copied) {
    Program p;
    const auto table =
        p.allocate(64 * mib, Memory::pinned, p.first_line, trace::Origin::program, "cuMemHostAlloc", 20 * ms);
    p.free(table, 5 * ms);
    const Finding finding = p.lone_finding("UMA-406");
    BOOST_TEST(finding.saving_bytes == 64 * mib);
    BOOST_TEST(finding.saving_ns == 0); // the heap's pages cost theirs at the first touch
    Program copied;
    copied.copy_to(copied.take(64 * mib, copied.first_line, Memory::pinned), 0, 64 * mib, Memory::pinned);
    copied.nothing_is_found();
}

BOOST_AUTO_TEST_CASE(locked_again_and_again) {
    const auto rounds = [](int count) {
        Program p;
        for (int i = 0; i < count; ++i) {
            const auto buffer = p.allocate(64 * mib, Memory::registered, p.first_line, trace::Origin::program,
                                           "cuMemHostRegister_v2", 2 * ms);
            p.copy_to(buffer, 0, 64 * mib, Memory::registered);
            p.synchronize();
            p.free(buffer, ms, p.second_line);
        }
        return p.findings();
    };
    const auto found = rounds(10);
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found.front().rule->id == "UMA-407");
    BOOST_TEST(found.front().stack != 0u);
    BOOST_TEST(found.front().saving_ns == 9 * 3e6, boost::test_tools::tolerance(0.03));
    BOOST_TEST((found.front().confidence == Confidence::high));
    BOOST_TEST(rounds(2).size() == 1u);
    BOOST_TEST(rounds(1).empty());
}

namespace {

/// 64 MiB are page-locked in 20 ms, copied to the device so many times, and unlocked in 5 ms.
struct Locked : Program {
    std::uint64_t buffer =
        allocate(64 * mib, Memory::pinned, first_line, trace::Origin::program, "cuMemHostAlloc", 20 * ms);
    std::uint64_t data = take(64 * mib, second_line);

    void upload(bool asynchronous = false) {
        copy(64 * mib, 1'200'000,
             {.symbol = asynchronous ? "cuMemcpyHtoDAsync_v2" : "cuMemcpyHtoD_v2",
              .source = Memory::pinned,
              .asynchronous = asynchronous,
              .from = buffer,
              .to = data});
        launch(kernel, {data});
        synchronize();
    }
    std::vector<Finding> found() {
        free(buffer, 5 * ms);
        reader::Trace trace(path());
        const model::Profile profile(trace);
        return findings::find_pinned_once(profile, [](std::uint64_t stack) { return stack; });
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(locked_for_one_copy) {
    Locked p;
    p.upload();
    const auto found = p.found();
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found.front().rule->id == "UMA-409");
    BOOST_TEST(found.front().stack == p.first_line);
    const double touch = 64 * mib / 4.4, slower = 64 * mib / 10.3 - 64 * mib / 55.5; // GB/s: nanoseconds
    BOOST_TEST(found.front().saving_ns == 25e6 - touch - slower, boost::test_tools::tolerance(0.001));
    BOOST_TEST((found.front().confidence == Confidence::low)); // a sixth of the time of page-locking
}

BOOST_AUTO_TEST_CASE(locked_for_one_copy_and_left_to_the_end) {
    Locked p;
    p.upload();
    reader::Trace trace(p.path());
    const model::Profile profile(trace);
    const auto found = findings::find_pinned_once(profile, [](std::uint64_t stack) { return stack; });
    BOOST_REQUIRE(found.size() == 1u);
    const double touch = 64 * mib / 4.4, slower = 64 * mib / 10.3 - 64 * mib / 55.5, unlock = 64 * mib / 15.0;
    BOOST_TEST(found.front().saving_ns == 20e6 + unlock - touch - slower, boost::test_tools::tolerance(0.001));
    BOOST_REQUIRE(found.front().details.size() == 1u);
}

BOOST_AUTO_TEST_CASE(locking_that_copies_or_kernels_need) {
    Locked often;
    for (int i = 0; i < 100; ++i)
        often.upload();
    BOOST_TEST(often.found().empty());
    Locked mapped; // a kernel reads it across the link
    mapped.upload();
    mapped.launch(mapped.kernel, {mapped.buffer});
    mapped.synchronize();
    BOOST_TEST(mapped.found().empty());
    Locked overlapped;
    overlapped.upload(true);
    BOOST_TEST(overlapped.found().empty());
    Locked in_graph;
    in_graph.upload();
    trace::GraphLaunch launch;
    launch.entry = in_graph.entry("cuGraphLaunch");
    launch.start = in_graph.now;
    in_graph.builder.add(launch);
    BOOST_TEST(in_graph.found().empty());
    BOOST_TEST(Locked().found().empty()); // never copied: UMA-406
}

BOOST_AUTO_TEST_CASE(registered_memory_was_touched_before) {
    const auto registered = [](std::uint64_t lock_ns) {
        Program p;
        const auto data = p.take(64 * mib, p.second_line);
        const auto buffer = p.allocate(64 * mib, Memory::registered, p.first_line, trace::Origin::program,
                                       "cuMemHostRegister_v2", lock_ns);
        p.copy(64 * mib, 1'200'000, {.source = Memory::registered, .from = buffer, .to = data});
        p.free(buffer, ms);
        reader::Trace trace(p.path());
        const model::Profile profile(trace);
        return findings::find_pinned_once(profile, [](std::uint64_t stack) { return stack; });
    };
    const auto found = registered(19 * ms);
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found.front().saving_ns == 20e6 - (64 * mib / 10.3 - 64 * mib / 55.5),
               boost::test_tools::tolerance(0.001));
    BOOST_TEST((found.front().confidence == Confidence::medium));
    BOOST_TEST(registered(4 * ms).empty());
}

BOOST_AUTO_TEST_CASE(memory_locked_anew_for_one_copy_each_is_one_finding) {
    Program p;
    const auto data = p.take(64 * mib, p.second_line);
    for (int i = 0; i < 3; ++i) {
        const auto buffer = p.allocate(64 * mib, Memory::pinned, p.first_line, trace::Origin::program,
                                       "cuMemHostAlloc", 20 * ms);
        p.copy(64 * mib, 1'200'000, {.source = Memory::pinned, .from = buffer, .to = data});
        p.launch(p.kernel, {data});
        p.synchronize();
        p.free(buffer, 5 * ms);
    }
    auto found = p.findings();
    std::erase_if(found, [&p](const Finding& finding) { return finding.stack != p.first_line; });
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found.front().rule->id == "UMA-407");
    BOOST_REQUIRE(found.front().parts.size() == 1u);
    BOOST_TEST(found.front().parts.front().rule->id == "UMA-409");
}

BOOST_AUTO_TEST_CASE(room_in_pieces) {
    const auto fails = [](std::uint64_t asked, std::uint64_t freed, std::uint64_t live, bool managed) {
        test::TraceBuilder builder;
        Program p;
        trace::Device device;
        device.memory_bytes = 1024 * mib;
        p.builder = builder;
        p.builder.add(device);
        trace::Alloc record;
        record.entry = 1;
        trace::Entry entry;
        entry.id = 1;
        entry.recorded = 1;
        entry.symbol = "cuMemAlloc_v2";
        p.builder.add(entry);
        const auto add = [&](std::uint64_t id, std::uint64_t bytes, Memory memory, std::uint64_t status) {
            record.start = p.now += 1000;
            record.allocation = id;
            record.address = id << 40;
            record.bytes = bytes;
            record.memory = memory;
            record.status = status;
            p.builder.add(record);
        };
        if (managed)
            add(9, mib, Memory::managed, 0);
        add(1, freed, Memory::device, 0);
        trace::Free free;
        free.start = p.now += 1000;
        free.allocation = 1;
        free.address = record.address;
        p.builder.add(free);
        add(2, live, Memory::device, 0);
        add(0, asked, Memory::device, 2);
        auto found = p.findings();
        std::erase_if(found, [](const Finding& finding) { return finding.rule->id != "UMA-408"; });
        return found;
    };
    const auto found = fails(256 * mib, 512 * mib, 512 * mib, false);
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found.front().saving_bytes == 256 * mib);
    BOOST_TEST((found.front().confidence == Confidence::low));
    BOOST_TEST(fails(512 * mib, 512 * mib, 512 * mib, false).empty()); // full
    BOOST_TEST(fails(256 * mib, 128 * mib, 512 * mib, false).empty()); // never was so much
    BOOST_TEST(fails(256 * mib, 512 * mib, 512 * mib, true).empty());  // where managed memory is is not told
}

BOOST_AUTO_TEST_CASE(failures_of_one_line_are_one_finding) {
    test::Scenario s;
    s.builder = test::TraceBuilder(); // has a device of its own
    trace::Device device;
    device.memory_bytes = 1024 * mib;
    s.builder.add(device);
    const auto entry = s.entry("cuMemAlloc_v2");
    s.free(s.allocate(512 * mib, Memory::device));
    s.allocate(512 * mib, Memory::device);
    for (const std::uint64_t times : {1, 2}) { // once from one way to the line, twice from another
        const std::uint64_t stack = s.stack();
        for (std::uint64_t i = 0; i < times; ++i) {
            trace::Alloc record;
            record.start = s.now += 1000;
            record.entry = entry;
            record.stack = stack;
            record.bytes = times * 128 * mib;
            record.memory = Memory::device;
            record.status = 2;
            s.builder.add(record);
        }
    }
    reader::Trace trace(s.path());
    const model::Profile profile(trace);
    const auto of_line = [&profile](const findings::LineOf& line_of) {
        auto found = findings::find_all(profile, line_of).all;
        std::erase_if(found, [](const Finding& finding) { return finding.rule->id != "UMA-408"; });
        return found;
    };
    BOOST_TEST(of_line([](std::uint64_t stack) { return stack; }).size() == 2u);
    const auto found = of_line([](std::uint64_t) { return 1; });
    BOOST_REQUIRE(found.size() == 1u);
    BOOST_TEST(found[0].saving_bytes == 256 * mib);
    BOOST_TEST(found[0].summary.find("failed for want of memory, 3 times") != std::string::npos,
               found[0].summary);
}

BOOST_AUTO_TEST_CASE(those_that_save_time_come_first) {
    Program p;
    p.use_for_long({p.take(8 * mib, p.second_line)});
    p.take(64 * mib, p.first_line);
    for (int i = 0; i < 6; ++i)
        p.free(p.allocate(mib, Memory::pinned, p.first_line, trace::Origin::program, "cuMemHostAlloc", 20 * ms),
               ms);
    p.synchronize();
    const auto found = p.findings();
    BOOST_REQUIRE(found.size() >= 2u);
    BOOST_TEST(found[0].rule->id == "UMA-407");
    BOOST_TEST(found[1].rule->id == "UMA-402");
}

BOOST_AUTO_TEST_SUITE_END()
