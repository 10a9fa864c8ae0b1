/// Work on the same bytes that nothing orders: UMA-602 to 604.
#include "found.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_hazards)

using namespace umadvisor;
using findings::Finding;
using test::mib;
using test::ms;
using trace::Memory;
using trace::SyncKind;

namespace {

constexpr std::uint64_t one = 0x5000, two = 0x6000, legacy = 0;
constexpr std::uint64_t done = 0x9000, other_event = 0xa000;
constexpr std::uint64_t running_ns = 10 * ms; ///< of a kernel: longer than all that the host does beside it

constexpr std::uint64_t address_of(std::uint64_t allocation) {
    return 0x7f00'0000'0000 + (allocation << 32);
}

/// Of memory.
struct Part {
    std::uint64_t offset = 0, bytes = 8 * mib;
};

struct Program : test::Scenario {
    std::uint64_t upload_at = stack(), use_at = stack(), launch_at = stack(), free_at = stack();
    std::uint64_t writer = function("_Z4fillPfi"), reader = function("_Z4lookPKfPf"), plain = function("fill");
    std::uint64_t next_sample = 1;
    std::uint64_t uploaded = 0; ///< start of the latest upload
    std::vector<std::uint64_t> samples;

    explicit Program(bool blocking = false) {
        for (const std::uint64_t handle : {one, two})
            make_stream(handle, blocking ? 0 : 1);
    }
    void make_stream(std::uint64_t handle, std::uint64_t flags) {
        trace::Stream record;
        record.entry = entry("cuStreamCreate");
        record.start = now;
        record.duration = 1000;
        record.action = trace::StreamAction::create;
        record.stream = handle;
        record.flags = flags;
        builder.add(record);
        now += 2000;
    }
    std::uint64_t pinned(std::uint64_t bytes = 8 * mib) { return allocate(bytes, Memory::pinned, stack()); }
    std::uint64_t device(std::uint64_t bytes = 8 * mib) { return allocate(bytes, Memory::device, stack()); }

    /// A kernel that runs for `ns`, measured.
    void run(std::uint64_t stream, std::uint64_t function, std::initializer_list<std::uint64_t> allocations,
             std::uint64_t ns = running_ns) {
        trace::LaunchShape shape;
        shape.shape = 1;
        shape.entry = entry("cuLaunchKernel");
        shape.function = function;
        shape.stack = launch_at;
        shape.stream = stream;
        shape.grid_x = shape.grid_y = shape.grid_z = shape.block_y = shape.block_z = 1;
        shape.block_x = 256;
        shape.scanned = 1;
        for (const std::uint64_t allocation : allocations)
            shape.touched.add(allocation);
        builder.add(shape);
        trace::Launch launch;
        launch.shape = 1;
        launch.start = now;
        launch.duration = 2400;
        launch.sample = next_sample++;
        builder.add(launch);
        samples.push_back(ns);
        now += 3000;
    }
    /// A kernel that keeps the stream busy and has nothing to do with the rest.
    void busy(std::uint64_t stream) { run(stream, writer, {scratch()}); }
    std::uint64_t scratch() {
        if (scratch_ == 0)
            scratch_ = device(1024);
        return scratch_;
    }

    void copy_async(std::uint64_t from, Memory from_memory, std::uint64_t to, Memory to_memory,
                    std::uint64_t stream, Part part, std::uint64_t hash, std::uint64_t at) {
        trace::Copy copy;
        copy.entry = entry(from_memory == Memory::pinned ? "cuMemcpyHtoDAsync_v2"
                           : to_memory == Memory::pinned ? "cuMemcpyDtoHAsync_v2"
                                                         : "cuMemcpyDtoDAsync_v2");
        copy.start = now;
        copy.duration = 3000;
        copy.stack = at;
        copy.source = address_of(from) + (from_memory == Memory::device ? part.offset : 0);
        copy.destination = address_of(to) + (to_memory == Memory::device ? part.offset : 0);
        copy.bytes = part.bytes;
        copy.source_memory = from_memory;
        copy.destination_memory = to_memory;
        copy.source_allocation = from;
        copy.destination_allocation = to;
        copy.asynchronous = 1;
        copy.stream = stream;
        copy.content.part_hash = hash;
        builder.add(copy);
        now += 4000;
    }
    void upload(std::uint64_t from, std::uint64_t to, std::uint64_t stream, std::uint64_t hash = 0,
                Part part = {}) {
        uploaded = now;
        copy_async(from, Memory::pinned, to, Memory::device, stream, part, hash, upload_at);
    }
    /// What the recorder says before a call where the source of an upload holds something else.
    void look_again(std::uint64_t upload, std::uint64_t hash, std::uint64_t thread = 1) {
        trace::Content content;
        content.start = now;
        content.copy = upload;
        content.content.part_hash = hash;
        content.content.look_duration = 1000;
        content.source_changed = 1;
        builder.add(content, thread);
        now += 2000;
    }
    void download(std::uint64_t from, std::uint64_t to, std::uint64_t stream, Part part = {}) {
        copy_async(from, Memory::device, to, Memory::pinned, stream, part, 0, use_at);
    }
    void set_async(std::uint64_t allocation, std::uint64_t stream, Part part = {}, std::uint64_t value = 0) {
        trace::Set record;
        record.entry = entry("cuMemsetD8Async");
        record.start = now;
        record.duration = 3000;
        record.stack = use_at;
        record.address = address_of(allocation) + part.offset;
        record.bytes = part.bytes;
        record.value = value;
        record.memory = Memory::device;
        record.allocation = allocation;
        record.stream = stream;
        record.asynchronous = 1;
        builder.add(record);
        now += 4000;
    }
    void record(std::uint64_t event, std::uint64_t stream) {
        trace::Event made;
        made.entry = entry("cuEventRecord");
        made.start = now;
        made.duration = 500;
        made.action = trace::EventAction::record;
        made.event = event;
        made.stream = stream;
        builder.add(made);
        now += 1000;
    }
    void act_on(std::uint64_t stream, trace::StreamAction action, std::uint64_t event = 0) {
        trace::Stream made;
        made.entry =
            entry(action == trace::StreamAction::wait_event ? "cuStreamWaitEvent" : "cuStreamWaitValue32_v2");
        made.start = now;
        made.duration = 500;
        made.action = action;
        made.stream = stream;
        made.event = event;
        builder.add(made);
        now += 1000;
    }
    void join(std::uint64_t stream, std::uint64_t event) {
        act_on(stream, trace::StreamAction::wait_event, event);
    }
    void wait(SyncKind kind, std::uint64_t object, std::uint64_t status = 0) {
        synchronize({.kind = kind, .object = object, .status = status});
    }
    void host_function(std::uint64_t stream) {
        trace::HostFunction made;
        made.entry = entry("cuLaunchHostFunc");
        made.start = now;
        made.duration = 1000;
        made.stream = stream;
        builder.add(made);
        now += 2000;
    }
    void launch_graph(std::uint64_t stream) {
        trace::GraphLaunch made;
        made.entry = entry("cuGraphLaunch");
        made.start = now;
        made.duration = 1000;
        made.stream = stream;
        builder.add(made);
        now += 2000;
    }
    void free_async(std::uint64_t allocation, std::uint64_t stream) {
        trace::Free made;
        made.entry = entry("cuMemFreeAsync");
        made.start = now;
        made.duration = 1000;
        made.stack = free_at;
        made.allocation = allocation;
        made.address = address_of(allocation);
        made.stream = stream;
        builder.add(made);
        now += 2000;
    }
    /// The host computes, and the device catches up without a call that says so.
    void rest(std::uint64_t ns) { now += ns; }

    std::vector<Finding> told() {
        if (!finished_) {
            synchronize({.duration = 1000});
            for (std::size_t i = 0; i < samples.size(); ++i)
                device_time(i + 1, samples[i]);
            finished_ = true;
        }
        std::vector<Finding> found = test::findings_of(*this);
        std::erase_if(found, [](const Finding& finding) { return !finding.rule->id.starts_with("UMA-6"); });
        return found;
    }
    bool tells(std::string_view rule) {
        return std::ranges::any_of(told(), [&](const Finding& finding) { return finding.rule->id == rule; });
    }

private:
    std::uint64_t scratch_ = 0;
    bool finished_ = false;
};

/// Uploads from one buffer, with other bytes in it, behind work that takes long. `between` stands behind the
/// first.
struct Reuse : Program {
    std::uint64_t source = pinned(), first = device(), second = device();
    template <class Between>
    explicit Reuse(const Between& between, std::uint64_t hash_then = 12) {
        busy(one);
        upload(source, first, one, 11);
        between(*this);
        busy(one);
        upload(source, second, one, hash_then);
    }
};

/// An upload behind work that takes long, whose source has changed when the program waits. `between` stands
/// behind the upload.
struct Change : Program {
    std::uint64_t wait_at = stack();
    std::uint64_t source = pinned(), to = device();
    template <class Between>
    explicit Change(const Between& between, std::uint64_t hash_then = 12) {
        busy(one);
        upload(source, to, one, 11);
        between(*this);
        look_again(uploaded, hash_then);
        synchronize({.kind = SyncKind::stream, .object = one, .stack = wait_at});
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_source_that_changes_before_its_wait_is_told) {
    Change p([](Program&) {});
    const Finding finding = test::lone(p.told(), "UMA-602");
    BOOST_TEST(finding.stack == p.upload_at);
    BOOST_REQUIRE(finding.places.size() == 1u);
    BOOST_TEST(finding.places[0].first == "before this call it had changed");
    BOOST_TEST(finding.places[0].second == p.wait_at);
    BOOST_TEST(finding.saving_ns == 0);
    BOOST_TEST((finding.confidence == findings::Confidence::high));
    BOOST_TEST(test::evidence(finding, "times") == 1);
    BOOST_TEST(test::evidence(finding, "bytes") == 8.0 * mib);
    BOOST_TEST(test::evidence(finding, "left_ns") > 8e6);
    BOOST_REQUIRE(finding.details.size() == 1u);
    BOOST_TEST(finding.details[0].ends_with("or more to go when the source was seen to have changed"),
               finding.details[0]);
}

BOOST_AUTO_TEST_CASE(a_source_that_changes_before_its_wait_is_told_by_line) {
    Program p;
    const std::uint64_t source = p.pinned(), to = p.device(), wait_at = p.stack();
    for (std::uint64_t round = 0; round < 5; ++round) {
        p.busy(one);
        p.upload(source, to, one, 20 + round);
        p.look_again(p.uploaded, 21 + round);
        p.synchronize({.kind = SyncKind::stream, .object = one, .stack = wait_at});
    }
    const Finding finding = test::lone(p.told(), "UMA-602");
    BOOST_TEST(test::evidence(finding, "times") == 5);
    BOOST_TEST(finding.places.size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_latest_of_several_uploads_is_the_one_that_is_looked_at) {
    Program p; // of two parts of one buffer the first has changed
    const std::uint64_t source = p.pinned(), to = p.device();
    p.busy(one);
    p.upload(source, to, one, 11);
    const std::uint64_t first = p.uploaded;
    p.upload(p.pinned(), p.device(), one, 13);
    p.look_again(first, 12);
    p.wait(SyncKind::stream, one);
    BOOST_TEST(p.tells("UMA-602"));
}

BOOST_AUTO_TEST_CASE(a_source_that_changes_when_the_host_knows_of_its_end_is_fine) {
    using Between = void (*)(Program&);
    const Between ways[] = {
        [](Program& p) { // asked, and found done
            p.record(done, one);
            p.rest(20 * ms);
            p.wait(SyncKind::event_query, done);
        },
        [](Program& p) { p.wait(SyncKind::stream_query, one); },
        [](Program& p) { // another thread waited, and told this one
            p.synchronize({.kind = SyncKind::stream, .object = one, .duration = 12 * ms, .thread = 2});
        },
        [](Program& p) { // a host function behind the copy told it
            p.host_function(one);
            p.rest(20 * ms);
        },
        [](Program& p) { p.rest(20 * ms); }, // a flag that work of the device sets
        [](Program& p) {
            p.record(done, one);
            p.join(two, done);
            p.wait(SyncKind::stream, two);
        },
        [](Program& p) { p.free(p.scratch()); },
    };
    for (const Between way : ways) {
        Change p(way);
        test::nothing_in(p.told());
    }
}

BOOST_AUTO_TEST_CASE(two_buffers_in_turn_that_are_looked_at_are_fine) {
    Program p;
    const std::uint64_t buffers[] = {p.pinned(), p.pinned()}, to = p.device();
    std::uint64_t uploads[2] = {};
    for (std::uint64_t round = 0; round < 6; ++round) {
        const std::uint64_t event = round % 2 == 0 ? done : other_event;
        if (round >= 2) {
            p.wait(SyncKind::event, event);
            p.look_again(uploads[round % 2], 20 + round); // refilled before the next wait
            p.wait(SyncKind::event, event);
        }
        p.busy(one);
        p.upload(buffers[round % 2], to, one, 20 + round);
        uploads[round % 2] = p.uploaded;
        p.record(event, one);
    }
    test::nothing_in(p.told());
}

BOOST_AUTO_TEST_CASE(a_look_that_says_nothing_of_the_host) {
    Change same([](Program&) {}, 11); // as no recorder writes it
    test::nothing_in(same.told());

    Program copies; // a download into the source changes it
    std::uint64_t source = copies.pinned(), to = copies.device();
    copies.busy(one);
    copies.upload(source, to, one, 11);
    copies.download(to, source, one);
    copies.look_again(copies.uploaded, 12);
    copies.wait(SyncKind::stream, one);
    test::nothing_in(copies.told());

    Program earlier; // and one that was queued before the upload
    source = earlier.pinned(), to = earlier.device();
    earlier.busy(one);
    earlier.download(to, source, one);
    earlier.upload(source, to, one, 11);
    earlier.look_again(earlier.uploaded, 12);
    earlier.wait(SyncKind::stream, one);
    test::nothing_in(earlier.told());

    Program kernel;
    source = kernel.pinned(), to = kernel.device();
    kernel.busy(one);
    kernel.upload(source, to, one, 11);
    kernel.run(one, kernel.plain, {source, to});
    kernel.look_again(kernel.uploaded, 12);
    kernel.wait(SyncKind::stream, one);
    test::nothing_in(kernel.told());

    Program other; // of another thread's upload
    source = other.pinned(), to = other.device();
    other.busy(one);
    other.upload(source, to, one, 11);
    other.look_again(other.uploaded, 12, 2);
    other.wait(SyncKind::stream, one);
    test::nothing_in(other.told());
}

BOOST_AUTO_TEST_CASE(a_source_that_changes_in_flight_is_told) {
    Reuse p([](Program&) {});
    const Finding finding = test::lone(p.told(), "UMA-602");
    BOOST_TEST(finding.stack == p.upload_at);
    BOOST_TEST(finding.saving_ns == 0);
    BOOST_TEST((finding.confidence == findings::Confidence::high));
    BOOST_TEST(test::evidence(finding, "times") == 1);
    BOOST_TEST(test::evidence(finding, "left_ns") > 8e6);
}

/// What it reaches is not told then: nothing runs.
BOOST_AUTO_TEST_CASE(a_kernel_that_is_captured_changes_no_source) {
    Reuse p([](Program& program) {
        trace::LaunchShape shape;
        shape.shape = 9;
        shape.function = program.writer;
        shape.captured = 1;
        program.builder.add(shape);
    });
    BOOST_TEST(p.tells("UMA-602"));
}

BOOST_AUTO_TEST_CASE(the_same_bytes_from_one_buffer_are_fine) {
    Reuse p([](Program&) {}, 11);
    test::nothing_in(p.told());
}

BOOST_AUTO_TEST_CASE(a_source_that_was_waited_for_may_change) {
    using Between = void (*)(Program&);
    const Between ways[] = {
        [](Program& p) { p.wait(SyncKind::stream, one); },
        [](Program& p) { p.wait(SyncKind::context, 0); },
        [](Program& p) {
            p.record(done, one);
            p.wait(SyncKind::event, done);
        },
        [](Program& p) {
            p.record(done, one);
            p.wait(SyncKind::event_query, done);
        },
        [](Program& p) { p.wait(SyncKind::stream_query, one); },
        [](Program& p) { // another stream's wait covers it
            p.record(done, one);
            p.join(two, done);
            p.wait(SyncKind::stream, two);
        },
        [](Program& p) { p.free(p.scratch()); },
    };
    for (const Between way : ways) {
        Reuse p(way);
        test::nothing_in(p.told());
    }
}

BOOST_AUTO_TEST_CASE(a_wait_for_something_else_does_not_help) {
    using Between = void (*)(Program&);
    const Between ways[] = {
        [](Program& p) { p.wait(SyncKind::stream, two); },
        [](Program& p) {
            p.record(done, one);
            p.wait(SyncKind::event_query, done, 600);
        },
        [](Program& p) {
            p.record(done, two);
            p.wait(SyncKind::event, done);
        },
    };
    for (const Between way : ways) {
        Reuse p(way);
        BOOST_TEST(p.tells("UMA-602"));
    }
}

BOOST_AUTO_TEST_CASE(work_that_may_have_ended_proves_nothing) {
    Reuse p([](Program& program) {
        program.host_function(one); // tells the host by a way of its own
        program.rest(20 * ms);
    });
    test::nothing_in(p.told());
}

BOOST_AUTO_TEST_CASE(two_buffers_in_turn_with_events_are_fine) {
    Program p;
    const std::uint64_t buffers[] = {p.pinned(), p.pinned()}, to = p.device();
    for (std::uint64_t round = 0; round < 6; ++round) {
        const std::uint64_t event = round % 2 == 0 ? done : other_event;
        if (round >= 2)
            p.wait(SyncKind::event, event);
        p.busy(one);
        p.upload(buffers[round % 2], to, one, 20 + round);
        p.record(event, one);
    }
    test::nothing_in(p.told());
}

BOOST_AUTO_TEST_CASE(device_work_may_change_the_source) {
    Program copies;
    std::uint64_t source = copies.pinned(), to = copies.device();
    copies.busy(one);
    copies.upload(source, to, one, 11);
    copies.download(to, source, one);
    copies.upload(source, to, one, 12);
    test::nothing_in(copies.told());

    Program waited; // for the copy that changes it alone
    source = waited.pinned(), to = waited.device();
    waited.busy(one);
    waited.upload(source, to, one, 11);
    waited.download(waited.scratch(), source, two, {0, 1024});
    waited.wait(SyncKind::stream, two);
    waited.upload(source, to, one, 12);
    BOOST_TEST(!waited.tells("UMA-602"));

    Program running; // before both
    source = running.pinned(), to = running.device();
    running.busy(two);
    running.download(running.scratch(), source, two, {0, 1024});
    running.busy(one);
    running.upload(source, to, one, 11);
    running.upload(source, to, one, 12);
    BOOST_TEST(!running.tells("UMA-602"));

    Program kernel;
    source = kernel.pinned(), to = kernel.device();
    kernel.busy(one);
    kernel.upload(source, to, one, 11);
    kernel.run(one, kernel.plain, {source, to});
    kernel.upload(source, to, one, 12);
    test::nothing_in(kernel.told());

    Program graph;
    source = graph.pinned(), to = graph.device();
    graph.busy(one);
    graph.launch_graph(one);
    graph.upload(source, to, one, 11);
    graph.upload(source, to, one, 12);
    test::nothing_in(graph.told());
}

BOOST_AUTO_TEST_CASE(a_copy_that_overlaps_a_copy_of_another_stream_is_told) {
    Program p;
    const std::uint64_t from = p.pinned(), to = p.pinned(), data = p.device();
    p.busy(one);
    p.upload(from, data, one);
    p.download(data, to, two);
    const Finding finding = test::lone(p.told(), "UMA-604");
    BOOST_TEST(finding.stack == p.use_at);
    BOOST_REQUIRE(finding.places.size() == 1u);
    BOOST_TEST(finding.places[0].second == p.upload_at);
    BOOST_TEST(test::evidence(finding, "bytes") == 8.0 * mib);
}

BOOST_AUTO_TEST_CASE(streams_on_parts_of_their_own_are_fine) {
    Program p;
    const std::uint64_t from = p.pinned(), to = p.pinned(), data = p.device();
    for (const std::uint64_t stream : {one, two}) {
        const Part part{stream == one ? 0 : 4 * mib, 4 * mib};
        p.run(stream, p.writer, {data}); // each works on its part
        p.upload(from, data, stream, 0, part);
        p.run(stream, p.writer, {data});
        p.download(data, stream == one ? to : p.pinned(), stream, part);
    }
    test::nothing_in(p.told());
}

BOOST_AUTO_TEST_CASE(what_orders_streams) {
    using Between = void (*)(Program&);
    const Between ways[] = {
        [](Program& p) {
            p.record(done, one);
            p.join(two, done);
        },
        [](Program& p) { p.wait(SyncKind::stream, one); },
        [](Program& p) { p.wait(SyncKind::context, 0); },
        [](Program& p) {
            p.record(done, one);
            p.wait(SyncKind::event_query, done);
        },
        [](Program& p) { p.act_on(two, trace::StreamAction::wait_value); },
        [](Program& p) { p.rest(20 * ms); },
        [](Program& p) { // through a third
            p.record(done, one);
            p.make_stream(0x7000, 1);
            p.join(0x7000, done);
            p.record(other_event, 0x7000);
            p.join(two, other_event);
        },
    };
    for (const Between way : ways) {
        Program p;
        const std::uint64_t from = p.pinned(), to = p.pinned(), data = p.device();
        p.busy(one);
        p.upload(from, data, one);
        way(p);
        p.download(data, to, two);
        test::nothing_in(p.told());
    }
}

BOOST_AUTO_TEST_CASE(what_one_thread_waits_for_another_may_know) {
    for (const bool covers : {true, false}) {
        Program p;
        const std::uint64_t from = p.pinned(), to = p.pinned(), data = p.device();
        p.busy(one);
        const std::uint64_t begin = p.now;
        p.synchronize(
            {.kind = SyncKind::stream, .object = covers ? one : two, .duration = 50'000, .thread = 2});
        const std::uint64_t end = p.now;
        p.now = begin + 10'000; // while that waits
        p.upload(from, data, one);
        p.now = end;
        p.download(data, to, two);
        BOOST_TEST(p.tells("UMA-604") != covers);
    }
}

BOOST_AUTO_TEST_CASE(an_event_that_was_recorded_too_early_orders_nothing) {
    Program p;
    const std::uint64_t from = p.pinned(), to = p.pinned(), data = p.device();
    p.busy(one);
    p.record(done, one);
    p.upload(from, data, one);
    p.join(two, done);
    p.download(data, to, two);
    BOOST_TEST(p.tells("UMA-604"));
}

BOOST_AUTO_TEST_CASE(the_legacy_default_stream_orders_blocking_streams_alone) {
    for (const bool blocking : {true, false}) {
        Program p(blocking);
        const std::uint64_t from = p.pinned(), to = p.pinned(), data = p.device();
        p.busy(one);
        p.upload(from, data, one);
        p.download(data, to, legacy);
        BOOST_TEST(p.tells("UMA-604") != blocking);
    }
    Program between(true); // work of the default stream parts two others
    const std::uint64_t from = between.pinned(), to = between.pinned(), data = between.device();
    between.busy(one);
    between.upload(from, data, one);
    between.run(legacy, between.writer, {between.scratch()});
    between.download(data, to, two);
    test::nothing_in(between.told());
}

BOOST_AUTO_TEST_CASE(default_streams_of_threads_are_apart) {
    Program p(true);
    const std::uint64_t from = p.pinned(), to = p.pinned(), data = p.device();
    p.busy(2);
    p.upload(from, data, 2);
    p.download(data, to, 2); // in the order of one stream
    test::nothing_in(p.told());
    Program other(true);
    const std::uint64_t source = other.pinned(), target = other.pinned(), shared = other.device();
    other.busy(2);
    other.upload(source, shared, 2);
    other.download(shared, target, one);
    BOOST_TEST(other.tells("UMA-604"));
}

BOOST_AUTO_TEST_CASE(a_kernel_against_a_copy_of_all_that_it_writes_is_told) {
    for (const bool all : {true, false}) {
        Program p;
        const std::uint64_t to = p.pinned(), data = p.device(), table = p.device();
        p.run(one, p.reader, {table, data}); // writes data alone
        p.download(data, to, two, {0, all ? 8 * mib : 4 * mib});
        BOOST_TEST(p.tells("UMA-604") == all);
    }
    Program reads; // what it only reads
    const std::uint64_t to = reads.pinned(), data = reads.device(), table = reads.device();
    reads.run(one, reads.reader, {table, data});
    reads.download(table, to, two);
    test::nothing_in(reads.told());

    Program uses; // no types: it reads or writes the only memory that it can reach
    const std::uint64_t alone = uses.device();
    uses.run(one, uses.plain, {alone});
    uses.set_async(alone, two);
    BOOST_TEST(uses.tells("UMA-604"));

    Program flag; // by which host and kernel may meet
    const std::uint64_t word = flag.device(64);
    flag.run(one, flag.plain, {word});
    flag.set_async(word, two, {0, 64});
    test::nothing_in(flag.told());
}

BOOST_AUTO_TEST_CASE(two_kernels_prove_nothing) {
    Program p;
    const std::uint64_t data = p.device();
    p.run(one, p.writer, {data});
    p.run(two, p.writer, {data});
    test::nothing_in(p.told());
}

BOOST_AUTO_TEST_CASE(writing_the_same_twice_is_fine) {
    for (const std::uint64_t value : {0, 1}) {
        Program p;
        const std::uint64_t data = p.device();
        p.busy(one);
        p.set_async(data, one);
        p.set_async(data, two, {}, value);
        BOOST_TEST(p.tells("UMA-604") == (value != 0));
    }
}

BOOST_AUTO_TEST_CASE(memory_that_is_freed_in_flight_is_told) {
    enum class Way { elsewhere, same_stream, joined, waited, late };
    for (const Way way : {Way::elsewhere, Way::same_stream, Way::joined, Way::waited, Way::late}) {
        Program p;
        const std::uint64_t data = p.device();
        p.run(one, p.writer, {data});
        if (way == Way::joined) {
            p.record(done, one);
            p.join(two, done);
        } else if (way == Way::waited) {
            p.wait(SyncKind::stream, one);
        } else if (way == Way::late) {
            p.rest(20 * ms);
        }
        p.free_async(data, way == Way::same_stream ? one : two);
        if (way != Way::elsewhere) {
            test::nothing_in(p.told());
            continue;
        }
        const Finding finding = test::lone(p.told(), "UMA-603");
        BOOST_TEST(finding.stack == p.free_at);
        BOOST_REQUIRE(finding.places.size() == 1u);
        BOOST_TEST(finding.places[0].second == p.launch_at);
    }
}

BOOST_AUTO_TEST_CASE(other_frees_wait) {
    Program p;
    const std::uint64_t data = p.device();
    p.run(one, p.writer, {data});
    p.free(data);
    test::nothing_in(p.told());
}

BOOST_AUTO_TEST_CASE(nothing_is_told_where_calls_are_missing) {
    Program p;
    const std::uint64_t from = p.pinned(), to = p.pinned(), data = p.device();
    p.busy(one);
    p.upload(from, data, one);
    p.download(data, to, two);
    p.builder.dropped[trace::DropReason{}] = 1;
    test::nothing_in(p.told());
}

BOOST_AUTO_TEST_SUITE_END()
