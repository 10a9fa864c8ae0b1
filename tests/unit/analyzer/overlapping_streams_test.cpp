/// UMA-604: work of two streams on the same bytes that nothing orders.
#include "hazard_program.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_overlapping_streams, *umadvisor::test::on_rules("UMA-604"))

using namespace umadvisor;
using namespace umadvisor::test;
using namespace umadvisor::test::hazards;

namespace {

/// What one stream uploads another downloads, with `between` in between.
Found copied(
    Program& p, Way between = [](Program&) {}) {
    p.busy(one).upload(one);
    between(p);
    return p.download(two).told();
}

} // namespace

BOOST_FIXTURE_TEST_CASE(a_copy_that_overlaps_a_copy_of_another_stream_is_told, Program) {
    const Finding finding = lone(copied(*this), "UMA-604");
    BOOST_TEST(finding.stack == use_at);
    BOOST_TEST(place(finding) == upload_at);
    BOOST_TEST(evidence(finding, "bytes") == 8.0 * mib);
}

BOOST_FIXTURE_TEST_CASE(streams_on_parts_of_their_own_are_fine, Program) {
    for (const std::uint64_t stream : {one, two}) {
        const Piece up{.offset = stream == one ? 0 : 4 * mib, .bytes = 4 * mib};
        Piece down = up;
        down.host = stream == one ? target : pinned();
        run(stream, writer, {data}).upload(stream, up); // each works on its part
        run(stream, writer, {data}).download(stream, down);
    }
    nothing_in(told());
}

BOOST_AUTO_TEST_CASE(what_orders_streams) {
    const auto check = [](Way way) {
        Program p;
        nothing_in(copied(p, way));
    };
    for (const Way way : ways_to_know)
        check(way);
    check([](Program& p) { p.record(done, one).join(two, done); });
    check([](Program& p) { p.act_on_stream(two, trace::StreamAction::wait_value); });
    check([](Program& p) { // through a third
        p.make_stream(three, true);
        p.record(done, one).join(three, done).record(other_event, three).join(two, other_event);
    });
}

BOOST_AUTO_TEST_CASE(what_one_thread_waits_for_another_may_know) {
    for (const bool covers : {true, false}) {
        Program p;
        p.busy(one);
        const std::uint64_t begin = p.now;
        p.synchronize(
            {.kind = SyncKind::stream, .object = covers ? one : two, .duration = 50'000, .thread = 2});
        const std::uint64_t end = p.now;
        p.now = begin + 10'000; // while that waits
        p.upload(one);
        p.now = end;
        BOOST_TEST(tells(p.download(two).told(), "UMA-604") != covers);
    }
}

BOOST_FIXTURE_TEST_CASE(an_event_that_was_recorded_too_early_orders_nothing, Program) {
    busy(one).record(done, one).upload(one).join(two, done).download(two);
    BOOST_TEST(tells(told(), "UMA-604"));
}

BOOST_AUTO_TEST_CASE(the_legacy_default_stream_orders_blocking_streams_alone) {
    for (const bool blocking : {true, false}) {
        Program p(blocking);
        BOOST_TEST(tells(p.busy(one).upload(one).download(legacy).told(), "UMA-604") != blocking);
    }
    Program between(true); // work of the default stream parts two others
    nothing_in(copied(between, [](Program& p) { p.busy(legacy); }));
}

BOOST_AUTO_TEST_CASE(default_streams_of_threads_are_apart) {
    Program p(true), other(true);
    nothing_in(p.busy(2).upload(2).download(2).told()); // in the order of one stream
    BOOST_TEST(tells(other.busy(2).upload(2).download(one).told(), "UMA-604"));
}

BOOST_AUTO_TEST_CASE(a_kernel_against_a_copy_of_all_that_it_writes_is_told) {
    for (const bool all : {true, false}) {
        Program p;
        p.run(one, p.reader, {p.other, p.data}).download(two, {.bytes = all ? 8 * mib : 4 * mib});
        BOOST_TEST(tells(p.told(), "UMA-604") == all); // it writes the second alone
    }
    Program reads; // what it only reads
    reads.run(one, reads.reader, {reads.data, reads.other}).download(two);
    nothing_in(reads.told());

    Program overwritten; // while it reads
    overwritten.run(one, overwritten.reader, {overwritten.data, overwritten.other}).upload(two);
    BOOST_TEST(tells(overwritten.told(), "UMA-604"));

    Program uses; // no types: it reads or writes the only memory that it can reach
    uses.run(one, uses.plain, {uses.data}).set_async(two, uses.data);
    BOOST_TEST(tells(uses.told(), "UMA-604"));

    Program flag; // by which host and kernel may meet
    const std::uint64_t word = flag.device(64);
    flag.run(one, flag.plain, {word}).set_async(two, word, 64);
    nothing_in(flag.told());
}

BOOST_FIXTURE_TEST_CASE(two_kernels_prove_nothing, Program) {
    nothing_in(run(one, writer, {data}).run(two, writer, {data}).told());
}

BOOST_AUTO_TEST_CASE(a_kernel_behind_the_second_record_of_an_event_alone_is_told) {
    const auto merged = [](Way between, std::uint64_t second_event = done) {
        Program p;
        p.make_stream(three, true);
        p.run(one, p.writer, {p.data}).record(done, one);
        between(p);
        p.record(second_event, two).join(three, second_event);
        return p.run(three, p.reader, {p.data, p.other}).told();
    };
    const Finding finding = lone(merged([](Program&) {}), "UMA-604");
    BOOST_TEST(contains(finding.summary, "recorded again"));

    nothing_in(merged([](Program& p) { p.join(three, done); })); // waited for in time
    nothing_in(merged([](Program& p) {                           // by another
        p.make_stream(0x8000, true);
        p.join(0x8000, done);
    }));
    nothing_in(merged([](Program& p) { p.join(two, done); })); // the second stands for both
    nothing_in(merged([](Program&) {}, other_event));          // two kernels prove nothing
    nothing_in(merged([](Program& p) { p.wait(SyncKind::event_query, done, 600); })); // somebody follows it
    nothing_in(merged([](Program& p) { p.destroy(done); }));                          // the next one is another
}

BOOST_AUTO_TEST_CASE(writing_the_same_twice_is_fine) {
    for (const std::uint64_t value : {0, 1}) {
        Program p;
        p.busy(one).set_async(one, p.data).set_async(two, p.data, 8 * mib, value);
        BOOST_TEST(tells(p.told(), "UMA-604") == (value != 0));
    }
}

BOOST_FIXTURE_TEST_CASE(nothing_is_told_where_calls_are_missing, Program) {
    builder.dropped[trace::DropReason{}] = 1;
    nothing_in(copied(*this));
}

BOOST_AUTO_TEST_SUITE_END()
