/// Findings whose line is a library's that the program called.
#include "analyzer/advice/own_lines.hpp"
#include "text.hpp"
#include "trace_builder.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(analyzer_own_lines)

using umadvisor::advice::prefer_own_lines;
using umadvisor::rules::Finding;
using umadvisor::test::contains;

namespace {

constexpr umadvisor::ids::StackId library(1), other_library(2), launch(3), allocation(4), loop(5);

/// Told at `stack`, which the host touched, with further `places`.
Finding told_at(umadvisor::ids::StackId stack,
                std::vector<std::pair<std::string, umadvisor::ids::StackId>> places) {
    return {.summary = "moved",
            .stack = stack,
            .touched_by_host = true,
            .allocation_stack = allocation,
            .places = std::move(places)};
}

Finding preferred(Finding finding) {
    std::vector<Finding> findings{std::move(finding)};
    prefer_own_lines(findings, [](umadvisor::ids::StackId stack) { return stack >= launch; });
    return std::move(findings.front());
}

} // namespace

BOOST_AUTO_TEST_CASE(a_line_of_the_program_that_took_part_is_told) {
    const Finding finding =
        preferred(told_at(library, {{"and here", other_library}, {"f is launched here", launch}}));
    BOOST_TEST(finding.stack == launch);
    BOOST_TEST(finding.summary == "moved; f is launched here");
    BOOST_TEST_REQUIRE(finding.places.size() == 2u);
    BOOST_TEST(finding.places[0].second == other_library);
    BOOST_TEST(finding.places[1].second == library);
    BOOST_TEST(contains(finding.places[1].first, "caller was not recorded"));
}

BOOST_AUTO_TEST_CASE(without_one_the_allocation_is) {
    const Finding finding = preferred(told_at(library, {{"and here", other_library}}));
    BOOST_TEST(finding.stack == allocation);
    BOOST_TEST_REQUIRE(finding.places.size() == 2u);
    BOOST_TEST(finding.places[0].second == library);
}

BOOST_AUTO_TEST_CASE(lines_of_the_program_stay) {
    BOOST_TEST(preferred(told_at(loop, {{"f is launched here", launch}})).stack == loop);
}

BOOST_AUTO_TEST_CASE(so_do_calls_made_in_a_library) {
    Finding finding = told_at(library, {{"f is launched here", launch}});
    finding.touched_by_host = false; // its whole stack was recorded: nobody of the program is in it
    BOOST_TEST(preferred(std::move(finding)).stack == library);
}

BOOST_AUTO_TEST_CASE(where_nothing_is_the_programs_the_library_is_told) {
    Finding finding = told_at(library, {{"and here", other_library}});
    finding.allocation_stack = {};
    const Finding left = preferred(std::move(finding));
    BOOST_TEST(left.stack == library);
    BOOST_TEST(left.places.size() == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
