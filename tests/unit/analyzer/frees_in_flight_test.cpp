/// UMA-603: memory that is freed while a kernel may still use it.
#include "hazard_program.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_frees_in_flight, *umadvisor::test::on_rules("UMA-603"))

using namespace umadvisor;
using namespace umadvisor::test;
using namespace umadvisor::test::hazards;

namespace {

/// A kernel of stream one uses it; it is freed in the order of `stream`, with `between` in between.
Found freed(
    Program& p, std::uint64_t stream, Way between = [](Program&) {}) {
    p.run(one, p.writer, {p.data});
    between(p);
    p.free_async(p.data, stream, p.free_at);
    return p.told();
}

} // namespace

BOOST_FIXTURE_TEST_CASE(memory_that_is_freed_in_flight_is_told, Program) {
    const Finding finding = lone(freed(*this, two), "UMA-603");
    BOOST_TEST(finding.stack == free_at);
    BOOST_TEST(place(finding) == launch_at);
}

BOOST_AUTO_TEST_CASE(memory_that_is_freed_behind_its_kernel_is_fine) {
    Program same_stream, joined;
    nothing_in(freed(same_stream, one));
    nothing_in(freed(joined, two, [](Program& p) { p.record(done, one).join(two, done); }));
    for (const Way way : ways_to_know) {
        Program p;
        nothing_in(freed(p, two, way));
    }
}

BOOST_AUTO_TEST_CASE(memory_that_a_kernel_has_beside_other_memory_is_told_where_types_say_that_it_is_used) {
    for (const bool typed : {true, false}) {
        Program p;
        p.run(one, typed ? p.reader : p.plain, {p.data, p.other}).free_async(p.data, two);
        BOOST_TEST(tells(p.told(), "UMA-603") == typed);
    }
}

BOOST_AUTO_TEST_CASE(a_free_of_pooled_memory_that_waits_for_nothing_is_told) {
    for (const bool awaited : {false, true}) {
        Program p;
        const std::uint64_t pooled = p.allocate(8 * mib, Memory::device, {.symbol = "cuMemAllocAsync"});
        p.run(one, p.writer, {pooled});
        if (awaited)
            p.wait(SyncKind::stream, one);
        p.free(pooled, us, p.free_at);
        const Found found = p.told();
        BOOST_TEST(tells(found, "UMA-603") != awaited);
        if (!awaited)
            BOOST_TEST(lone(found, "UMA-603").stack == p.free_at);
    }
}

BOOST_FIXTURE_TEST_CASE(other_frees_wait, Program) {
    run(one, writer, {data}).free(data);
    nothing_in(told());
}

BOOST_AUTO_TEST_SUITE_END()
