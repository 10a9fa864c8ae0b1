/// The benchmark of call costs does what its figures say: nothing is recorded while paused, everything is
/// otherwise, and what was allocated in a pause is known after it.
#include "watched.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

BOOST_AUTO_TEST_SUITE(process_cost_test)

using namespace umadvisor::test;

namespace {

constexpr int calls_a_batch = 256 / 8 + 256 + 256; ///< warming up, timed together, timed one by one
constexpr int warm_up_rounds = 5;

struct Costs {
    Json answer;
    std::vector<Json> launches;
};

Costs run_costs(const std::string& options, int rounds,
                const std::string& settings = "UMADVISOR_CAPTURE_RANGE=1") {
    const Watched watched("call_costs --rounds " + std::to_string(rounds) + " " + options,
                          "SIMCUDA_CONFIG=capacity=128M " + settings);
    return {Json::parse(watched.outcome.out), watched.records("Launch")};
}

} // namespace

/// Instructions that umadvisor adds to a launch, the same on every machine. The bounds lie a tenth above what
/// it took when they were set: what costs more has to be meant, and moves them.
BOOST_DATA_TEST_CASE(a_launch_takes_no_more_instructions_than_it_did,
                     boost::unit_test::data::make({"UMADVISOR_STACKS=off", "UMADVISOR_STACKS=64",
                                                   "UMADVISOR_LAUNCHES=brief",
                                                   // what it reaches is managed then
                                                   "UMADVISOR_LAUNCHES=full UMADVISOR_ACT=rewrite=all",
                                                   "UMADVISOR_ACT=rewrite=all"}) ^
                         boost::unit_test::data::make({405, 720, 265, 720, 265}),
                     settings, bound) {
    const Folder folder;
    const Outcome outcome =
        run_sim(folder, "export UMADVISOR_OUTPUT=x.umtrace UMADVISOR_CAPTURE_RANGE=1 "
                        "UMADVISOR_DEVICE_TIME=0 " +
                            std::string(settings) + "; LD_PRELOAD=" + shim + " " + sim + "instructions");
    BOOST_TEST_REQUIRE(outcome.status == 0, outcome.err);
    const auto answer = Json::parse(outcome.out);
    BOOST_TEST(answer.at("added_off").get<double>() <= 6);
    BOOST_TEST(answer.at("added").get<double>() > 100); // it is recorded
    BOOST_TEST(answer.at("added").get<double>() <= bound);
}

BOOST_AUTO_TEST_CASE(paused_calls_are_not_recorded_and_all_others_are) {
    constexpr int rounds = 3;
    const Costs costs = run_costs("", rounds);
    BOOST_TEST(costs.launches.size() == std::size_t{(rounds + warm_up_rounds) * calls_a_batch});
    BOOST_TEST(costs.answer.at("record").at("median").get<double>() > 0);
    // The arrays were allocated in the pause.
    BOOST_TEST_REQUIRE(!costs.launches.empty());
    BOOST_TEST(costs.launches.back().at("touched").size() == 6u);
}

/// A program that is repaired without regard to its launches has the cheaper record of them.
BOOST_DATA_TEST_CASE(brief_launches_are_told_by_kernel_and_shape,
                     boost::unit_test::data::make({"UMADVISOR_LAUNCHES=brief",
                                                   "UMADVISOR_ACT=rewrite=all,stage",
                                                   "UMADVISOR_ACT=stage,prefetch", "UMADVISOR_ACT=relieve",
                                                   "UMADVISOR_ACT=stage UMADVISOR_LAUNCHES=full"}) ^
                         boost::unit_test::data::make({true, true, false, false, false}),
                     settings, brief) {
    const Costs costs = run_costs("", 1, std::string("UMADVISOR_CAPTURE_RANGE=0 ") + settings);
    BOOST_TEST_REQUIRE(!costs.launches.empty());
    const Json& launch = costs.launches.back();
    BOOST_TEST(launch.at("function") == "touch_nothing");
    BOOST_TEST(launch.at("grid").at(0) == 1);
    BOOST_TEST(launch.at("scanned") == !brief);
    BOOST_TEST((launch.at("stack") == 0) == brief);
    BOOST_TEST(launch.at("touched").empty() == brief);
}

/// What kernels do to that is told whatever the repair goes by.
BOOST_DATA_TEST_CASE(a_program_with_managed_memory_has_its_launches_in_full,
                     boost::unit_test::data::make({"pingpong", "static_managed"}), program) {
    for (const auto& [setting, brief] : {std::pair{"auto", false}, {"brief", true}}) {
        const Folder folder;
        const Outcome outcome = run_sim(folder, "UMADVISOR_LAUNCHES=" + std::string(setting) + " " + advisor +
                                                    " run -f -o x.umtrace --act stage -- " + sim + program);
        BOOST_TEST_REQUIRE(outcome.status == 0, outcome.err);
        for (const auto& launch : dump(folder, "Launch"))
            BOOST_TEST(launch.at("scanned") == !brief);
        BOOST_TEST(notices(report(folder), "managed memory of its own") == !brief);
    }
}

BOOST_AUTO_TEST_CASE(without_a_range_both_ways_through_the_wrapper_are_recorded) {
    constexpr int rounds = 1;
    const Costs costs = run_costs("", rounds, "UMADVISOR_CAPTURE_RANGE=0");
    BOOST_TEST(costs.launches.size() == std::size_t{2 * (rounds + warm_up_rounds) * calls_a_batch});
}

BOOST_AUTO_TEST_CASE(every_thread_records_its_own_calls) {
    constexpr int rounds = 1, threads = 4;
    const Costs costs = run_costs("--threads 4", rounds);
    BOOST_TEST(costs.launches.size() == std::size_t{threads * (rounds + warm_up_rounds) * calls_a_batch});
}

BOOST_AUTO_TEST_CASE(a_structure_reaches_what_its_words_name) {
    const Costs costs = run_costs("--operation launch-structure", 1);
    BOOST_TEST_REQUIRE(!costs.launches.empty());
    BOOST_TEST(costs.launches.back().at("touched").size() == 16u);
}

BOOST_AUTO_TEST_SUITE_END()
