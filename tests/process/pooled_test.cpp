/// `--act pools`: programs that allocate from pools in rounds, bare and with pools that keep their memory, must
/// not see a difference.
#include "acted.hpp"

#include <boost/test/data/test_case.hpp>

BOOST_FIXTURE_TEST_SUITE(process_pooled_test, umadvisor::test::InFolder)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

const std::string program = programs + "/pool_rounds ";

/// Calls of ours by entry and reason, in their order.
std::vector<std::string> own_calls(const Folder& folder) {
    std::vector<std::string> calls;
    for (const Json& call : dump(folder, "Pool", {{"origin", "umadvisor"}})) {
        BOOST_TEST(call.at("status") == 0);
        calls.push_back(call.at("action").get<std::string>() + " " + call.at("reason").get<std::string>() +
                        " " + call.at("value").dump());
    }
    return calls;
}

const std::string raised = "set_attribute pool_refills 16777216"; // both allocations of a round

} // namespace

BOOST_DATA_TEST_CASE(a_pool_keeps_what_each_round_asks_for, data::make({"refill", "own"}), what) {
    const Counted bare = count(folder, program + what, "");
    const std::uint64_t before = driver_report(folder).at("clock_ns");
    BOOST_TEST(count(folder, program + what, "pools").out == bare.out);
    const std::uint64_t after = driver_report(folder).at("clock_ns");
    BOOST_TEST(after < before / 10 * 8);
    BOOST_TEST(own_calls(folder) == std::vector{raised}, boost::test_tools::per_element());
    const Json lines = report(folder).at("actions").at("lines");
    BOOST_TEST_REQUIRE(lines.size() == 1u);
    BOOST_TEST(lines[0].at("action") == "hold_pool");
    BOOST_TEST(lines[0].at("gain_ns").get<double>() > 0.5 * static_cast<double>(before - after));
}

BOOST_DATA_TEST_CASE(others_are_left_alone, data::make({"shared", "set", "steady"}), what) {
    run_unseen(folder, program + what, "pools");
    BOOST_TEST(own_calls(folder).empty());
}

BOOST_AUTO_TEST_CASE(a_pool_that_the_program_sets_is_its_own_from_then_on) {
    run_unseen(folder, program + "late", "pools");
    BOOST_TEST(own_calls(folder) == std::vector{raised}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(memory_that_is_wanted_elsewhere_is_given_back) {
    run_unseen(folder, program + "wanted", "pools");
    const std::vector<std::string> expected{raised, "set_attribute pool_pressure 0", "trim pool_pressure 0",
                                            raised};
    BOOST_TEST(own_calls(folder) == expected, boost::test_tools::per_element());
    BOOST_TEST(
        says(run_sim(folder, advisor + " report x.umtrace").out, "pools whose release threshold was raised"));
}

BOOST_AUTO_TEST_CASE(a_pool_that_is_destroyed_is_forgotten) {
    run_unseen(folder, program + "destroyed", "pools");
    BOOST_TEST(own_calls(folder) == std::vector(8, raised), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
