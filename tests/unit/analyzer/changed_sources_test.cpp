/// UMA-602: page-locked memory that the host changes while an upload from it may still run.
#include "hazard_program.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_changed_sources, *umadvisor::test::on_rules("UMA-602"))

using namespace umadvisor;
using namespace umadvisor::test;
using namespace umadvisor::test::hazards;

void nothing(Program&) {}

/// Uploads from one buffer, with other bytes in it, behind work that takes long. `between` stands behind the
/// first.
struct Reuse : Program {
    explicit Reuse(Way between = nothing, std::uint64_t hash_then = 12) {
        busy(one).upload(one, {.hash = 11});
        between(*this);
        busy(one).upload(one, {.hash = hash_then, .memory = other});
    }
};

/// An upload behind work that takes long, whose source has changed when the program waits. `between` stands
/// behind the upload.
struct Change : Program {
    std::uint64_t wait_at = stack();
    explicit Change(Way between = nothing, std::uint64_t hash_then = 12) {
        busy(one).upload(one, {.hash = 11});
        between(*this);
        look_again(hash_then).synchronize({.kind = SyncKind::stream, .object = one, .stack = wait_at});
    }
};

void changes_in_flight(const Finding& finding, const Program& p) {
    BOOST_TEST(finding.stack == p.upload_at);
    BOOST_TEST(finding.saving_ns == 0);
    BOOST_TEST((finding.confidence == Confidence::high));
    BOOST_TEST(evidence(finding, "times") == 1);
    BOOST_TEST(evidence(finding, "left_ns") > 8e6);
}

/// Two buffers in turn, each waited for before it is filled again; `looks` sees the filling.
void check_turns(bool looks) {
    Program p;
    const std::uint64_t buffers[] = {p.source, p.target};
    std::uint64_t uploads[2] = {};
    for (std::uint64_t round = 0; round < 6; ++round) {
        const std::uint64_t event = round % 2 == 0 ? done : other_event;
        if (round >= 2)
            p.wait(SyncKind::event, event);
        if (round >= 2 && looks) // refilled before the next wait
            p.look_again(uploads[round % 2], 20 + round).wait(SyncKind::event, event);
        p.busy(one).upload(one, {.hash = 20 + round, .host = buffers[round % 2]});
        uploads[round % 2] = p.uploaded;
        p.record(event, one);
    }
    nothing_in(p.told());
}

BOOST_FIXTURE_TEST_CASE(a_source_that_changes_before_its_wait_is_told, Change) {
    const Finding finding = lone(told(), "UMA-602");
    changes_in_flight(finding, *this);
    BOOST_TEST(place(finding) == wait_at);
    BOOST_TEST(finding.places[0].first == "it had changed before this call");
    BOOST_TEST(evidence(finding, "bytes") == 8.0 * mib);
    BOOST_REQUIRE(finding.details.size() == 1u);
    BOOST_TEST(finding.details[0].starts_with("when the source was seen to have changed"), finding.details[0]);
}

BOOST_FIXTURE_TEST_CASE(a_source_that_changes_before_its_wait_is_told_by_line, Program) {
    const std::uint64_t wait_at = stack();
    for (std::uint64_t round = 0; round < 5; ++round)
        busy(one)
            .upload(one, {.hash = 20 + round})
            .look_again(21 + round)
            .synchronize({.kind = SyncKind::stream, .object = one, .stack = wait_at});
    const Finding finding = lone(told(), "UMA-602");
    BOOST_TEST(evidence(finding, "times") == 5);
    BOOST_TEST(finding.places.size() == 1u);
}

BOOST_AUTO_TEST_CASE(the_latest_of_several_uploads_is_the_one_that_is_looked_at) {
    Program p; // of two parts of one buffer the first has changed
    p.busy(one).upload(one, {.hash = 11});
    const std::uint64_t first = p.uploaded;
    p.upload(one, {.hash = 13, .memory = p.other, .host = p.target});
    BOOST_TEST(tells(p.look_again(first, 12).wait(SyncKind::stream, one).told(), "UMA-602"));
}

BOOST_AUTO_TEST_CASE(a_source_that_changes_when_the_host_knows_of_its_end_is_fine) {
    for (const Way way : ways_to_know)
        nothing_in(Change(way).told());
}

BOOST_AUTO_TEST_CASE(a_look_that_says_nothing_of_the_host) {
    nothing_in(Change(nothing, 11).told()); // as no recorder writes it

    Program copies; // a download into the source changes it
    copies.busy(one).upload(one, {.hash = 11}).download(one, {.host = copies.source});
    nothing_in(copies.look_again(12).wait(SyncKind::stream, one).told());

    Program earlier; // and one that was queued before the upload
    earlier.busy(one).download(one, {.host = earlier.source}).upload(one, {.hash = 11});
    nothing_in(earlier.look_again(12).wait(SyncKind::stream, one).told());

    Program kernel;
    kernel.busy(one).upload(one, {.hash = 11}).run(one, kernel.plain, {kernel.source, kernel.data});
    nothing_in(kernel.look_again(12).wait(SyncKind::stream, one).told());

    Program other; // of another thread's upload
    other.busy(one).upload(one, {.hash = 11});
    nothing_in(other.look_again(other.uploaded, 12, 2).wait(SyncKind::stream, one).told());
}

BOOST_FIXTURE_TEST_CASE(a_source_that_changes_in_flight_is_told, Reuse) {
    changes_in_flight(lone(told(), "UMA-602"), *this);
}

/// What it reaches is not told then: nothing runs.
BOOST_AUTO_TEST_CASE(a_kernel_that_is_captured_changes_no_source) {
    Reuse p([](Program& program) {
        program.builder.add(trace::LaunchShape{.shape = 9, .function = program.writer, .captured = 1});
    });
    BOOST_TEST(tells(p.told(), "UMA-602"));
}

BOOST_AUTO_TEST_CASE(the_same_bytes_from_one_buffer_are_fine) {
    nothing_in(Reuse(nothing, 11).told());
}

BOOST_AUTO_TEST_CASE(a_source_that_was_waited_for_may_change) {
    for (const Way way : ways_to_know)
        nothing_in(Reuse(way).told());
}

BOOST_AUTO_TEST_CASE(a_wait_for_something_else_does_not_help) {
    const Way ways[] = {
        [](Program& p) { p.wait(SyncKind::stream, two); },
        [](Program& p) { p.record(done, one).wait(SyncKind::event_query, done, 600); },
        [](Program& p) { p.record(done, two).wait(SyncKind::event, done); },
    };
    for (const Way way : ways)
        BOOST_TEST(tells(Reuse(way).told(), "UMA-602"));
}

BOOST_AUTO_TEST_CASE(two_buffers_in_turn_with_events_are_fine) {
    for (const bool looks : {false, true})
        check_turns(looks);
}

BOOST_FIXTURE_TEST_CASE(device_work_may_change_the_source, Program) {
    busy(one).upload(one, {.hash = 11}).download(one, {.host = source}).upload(one, {.hash = 12});
    nothing_in(told());

    Program waited; // for the copy that changes it alone
    const Piece small{.memory = waited.scratch, .host = waited.source, .bytes = 1024};
    waited.busy(one).upload(one, {.hash = 11}).download(two, small).wait(SyncKind::stream, two);
    BOOST_TEST(!tells(waited.upload(one, {.hash = 12}).told(), "UMA-602"));

    Program running; // before both
    running.busy(two).download(two, small).busy(one).upload(one, {.hash = 11}).upload(one, {.hash = 12});
    BOOST_TEST(!tells(running.told(), "UMA-602"));

    Program kernel;
    kernel.busy(one).upload(one, {.hash = 11}).run(one, kernel.plain, {kernel.source, kernel.data});
    nothing_in(kernel.upload(one, {.hash = 12}).told());

    Program graph;
    graph.busy(one).launch_graph(one);
    nothing_in(graph.upload(one, {.hash = 11}).upload(one, {.hash = 12}).told());
}

BOOST_AUTO_TEST_SUITE_END()
