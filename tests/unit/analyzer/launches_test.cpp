/// Launches by kernel and shape, and what synchronisations say of them.
#include "analyzer/tables/launches.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(analyzer_launches)

using namespace umadvisor;

namespace {

reader::Shape shape(std::uint32_t number, std::uint64_t function) {
    reader::Shape shape;
    shape.number = shape.place = number;
    shape.function = function;
    return shape;
}

const tables::LaunchTotals& totals(const tables::Launches& launches, std::uint64_t function) {
    return launches.groups().at({.function = function});
}

} // namespace

/// Numbers and places of shapes begin anew in each chunk.
BOOST_AUTO_TEST_CASE(shapes_of_one_number_are_not_one_kernel) {
    facts::Samples samples;
    tables::Launches launches(samples);
    for (const reader::Shape& each : {shape(1, 10), shape(1, 20), shape(1, 10), shape(0, 30), shape(1, 10)}) {
        launches.define(1, each);
        launches.add(1, {}, &each);
    }
    const reader::Shape other = shape(2, 20);
    launches.define(1, other);
    launches.add(1, {}, &other);
    launches.finish();
    BOOST_TEST(totals(launches, 10).count == 3u);
    BOOST_TEST(totals(launches, 20).count == 2u);
    BOOST_TEST(totals(launches, 30).count == 1u);
}

BOOST_AUTO_TEST_CASE(a_thread_waits_for_its_own_launches) {
    facts::Samples samples;
    tables::Launches launches(samples);
    const reader::Shape often = shape(1, 10), once = shape(2, 20);
    for (const std::uint32_t thread : {1u, 2u}) {
        launches.define(thread, often);
        launches.define(thread, once);
    }
    for (int i = 0; i < 3; ++i)
        launches.add(1, {}, &often);
    launches.add(1, {}, &once);
    launches.add(2, {}, &often);
    launches.synchronized(1, 400);
    BOOST_TEST(totals(launches, 10).waited_ticks == 300);
    BOOST_TEST(totals(launches, 20).waited_ticks == 100);
    launches.synchronized(1, 1000); // nothing was launched since
    launches.synchronized(3, 1000);
    launches.synchronized(2, 50);
    BOOST_TEST(totals(launches, 10).waited_ticks == 350);
    BOOST_TEST(totals(launches, 20).waited_ticks == 100);
    launches.add(1, {}, &once);
    launches.graph_launched(1);
    launches.synchronized(1, 10); // half of it for the graph
    BOOST_TEST(totals(launches, 20).waited_ticks == 105);
}

BOOST_AUTO_TEST_SUITE_END()
