/// Of launches that follow each other closely some are measured and stand for the others; those that block are
/// all measured.
#include "watched.hpp"

BOOST_AUTO_TEST_SUITE(process_launch_times_test)

using namespace umadvisor::test;

namespace {

struct Run {
    std::uint64_t made = 0; ///< launches
    double inside = 0;      ///< nanoseconds in their calls
    Json call, kernel;      ///< what the report says of them
    std::vector<Json> launches;
};

/// `phases`: how many launches, and the nanoseconds that each of them blocks; and so on.
Run run_launches(const std::string& phases) {
    const Watched watched("launch_times " + phases, "UMADVISOR_DEVICE_TIME=0", programs);
    Run run;
    std::istringstream(watched.outcome.out) >> run.made >> run.inside;
    const auto whole = report(watched.folder);
    for (const auto& call : whole.at("calls"))
        if (call.at("entry").get<std::string>().starts_with("cuLaunchKernel"))
            run.call = call;
    run.kernel = whole.at("launches").at(0);
    run.launches = watched.records("Launch");
    return run;
}

void check_total(const Run& run, double tolerance) {
    BOOST_TEST(run.launches.size() == run.made);
    BOOST_TEST(run.call.at("count") == run.made);
    for (const auto& time : {run.call.at("time_ns"), run.kernel.at("call_time_ns")})
        BOOST_TEST(time.get<double>() == run.inside, boost::test_tools::tolerance(tolerance));
}

std::uint64_t measured(const Run& run) {
    return static_cast<std::uint64_t>(
        std::count_if(run.launches.begin(), run.launches.end(),
                      [](const auto& launch) { return !launch.at("duration_ns").is_null(); }));
}

} // namespace

BOOST_AUTO_TEST_CASE(one_in_sixteen_stands_for_launches_that_return_at_once) {
    const Run run = run_launches("20000 0");
    check_total(run, 0.05); // the runtime's own part of a launch is in the program's figure alone
    BOOST_TEST(run.call.at("timed") == measured(run));
    BOOST_TEST(run.kernel.at("calls_timed") == measured(run));
    BOOST_TEST(measured(run) > 20000u / 20);
    BOOST_TEST(measured(run) < 20000u / 14);
    BOOST_TEST(!run.launches.front().at("duration_ns").is_null()); // the first of its shape
    std::uint64_t stood_for = 0;
    for (const auto& launch : run.launches)
        stood_for += launch.at("stands_for").get<std::uint64_t>();
    BOOST_TEST(stood_for <= run.made - measured(run));
    BOOST_TEST(stood_for > (run.made - measured(run)) * 9 / 10);
}

BOOST_AUTO_TEST_CASE(launches_that_block_are_all_measured_but_the_first) {
    const Run run = run_launches("3000 0 400 100000 3000 0 400 1000000");
    check_total(run, 0.01); // the first of each block is missed as like as not
    std::size_t blocked = 0;
    for (const auto& launch : run.launches)
        if (const auto& duration = launch.at("duration_ns"); !duration.is_null())
            blocked += duration.get<std::uint64_t>() >= 100'000;
    BOOST_TEST(blocked >= 2u * 399);
    BOOST_TEST(measured(run) < 2u * 400 + 6000 / 14);
}

/// Mixed so that the distances tell nothing: too short for a pause, and every ninth launch ten times as long.
BOOST_AUTO_TEST_CASE(samples_stand_for_launches_of_all_lengths) {
    std::string phases;
    for (int i = 0; i < 2000; ++i)
        phases += "8 0 1 30000 ";
    const Run run = run_launches(phases);
    check_total(run, 0.1);
    BOOST_TEST(measured(run) < run.made / 10);
}

BOOST_AUTO_TEST_SUITE_END()
