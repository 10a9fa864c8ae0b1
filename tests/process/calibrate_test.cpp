/// What `umadvisor calibrate` measures of a device, and how reports use it.
#include "process.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(process_calibrate_test)

using namespace umadvisor::test;
using Json = nlohmann::json;

namespace {

const std::string pageable =
    advisor + " run -q --hash off -o x.umtrace -- " + examples + "/sim/pageable_copies";

std::string first_basis(const Folder& folder, const std::string& options) {
    const Outcome outcome =
        run(folder, advisor + " report --json --no-cache --only UMA-102 " + options + " x.umtrace");
    BOOST_TEST_REQUIRE(outcome.status == 0, outcome.err);
    return Json::parse(outcome.out).at("findings").at(0).at("basis");
}

} // namespace

BOOST_AUTO_TEST_CASE(what_was_not_measured_is_not_kept) {
    const Folder folder;
    const Outcome outcome = run_sim(folder, advisor + " calibrate -o m.json");
    BOOST_TEST_REQUIRE(outcome.status == 0, outcome.err);
    BOOST_TEST(outcome.out.find("not measured: kernels") != std::string::npos, outcome.out);
    const Json rates = Json::parse(read(folder / "m.json")).at("rates");
    for (const char* const name :
         {"pinned_to_device_bytes_per_s", "host_to_host_bytes_per_s", "both_ways_ratio",
          "fault_to_host_written_bytes_per_s", "host_first_write_bytes_per_s", "host_first_touch_bytes_per_s",
          "host_unlock_bytes_per_s", "page_lock_bytes_per_s", "page_lock_ns"})
        BOOST_TEST(rates.value(name, 0.0) > 0, name);
    BOOST_TEST(rates.value("prefetch_move_ns", 0.0) > 40'000); // simcuda takes 50 us
    // simcuda compiles no kernels, and has one device.
    for (const char* const name :
         {"fault_to_device_bytes_per_s", "device_fault_ns", "launch_call_ns", "peer_bytes_per_s"})
        BOOST_TEST(!rates.contains(name), name);
}

BOOST_AUTO_TEST_CASE(two_devices_have_a_way_between_them) {
    const Folder folder;
    const Outcome outcome = run_sim(folder, "SIMCUDA_CONFIG=devices=2 " + advisor + " calibrate -o m.json");
    BOOST_TEST_REQUIRE(outcome.status == 0, outcome.err);
    BOOST_TEST(Json::parse(read(folder / "m.json")).at("rates").value("peer_bytes_per_s", 0.0) > 0);
}

BOOST_AUTO_TEST_CASE(reports_say_whose_figures_they_stand_on) {
    const Folder folder;
    BOOST_TEST_REQUIRE(run_sim(folder, pageable).status == 0);
    BOOST_TEST(first_basis(folder, "").find("on an H200") != std::string::npos, first_basis(folder, ""));
    BOOST_TEST_REQUIRE(run_sim(folder, advisor + " calibrate -o m.json").status == 0);
    const std::string basis = first_basis(folder, "--machine m.json");
    BOOST_TEST(basis.find("on the calibrated simcuda H200 model") != std::string::npos, basis);
}

BOOST_AUTO_TEST_CASE(its_usual_place) {
    const Folder folder;
    BOOST_TEST_REQUIRE(run_sim(folder, pageable).status == 0);
    // A relative folder does not count.
    BOOST_TEST_REQUIRE(run_sim(folder, "HOME=$PWD XDG_CONFIG_HOME=config " + advisor + " calibrate").status ==
                       0);
    BOOST_TEST(fs::exists(folder.path / ".config/umadvisor/machine.json"));
    const Outcome outcome = run(folder, "HOME=$PWD " + advisor + " report --no-cache x.umtrace");
    BOOST_TEST(outcome.out.find("the calibrated simcuda H200 model") != std::string::npos, outcome.out);
    BOOST_TEST(run_sim(folder, "HOME= XDG_CONFIG_HOME= " + advisor + " calibrate").status == 1);
}

BOOST_AUTO_TEST_CASE(a_damaged_file_is_told_of) {
    const Folder folder;
    BOOST_TEST_REQUIRE(run_sim(folder, pageable).status == 0);
    const Outcome outcome = run(folder, "echo '{\"schema\": \"umadvisor-machine-1\"}' > m.json; " + advisor +
                                            " report --machine m.json x.umtrace");
    BOOST_TEST(outcome.status == 1);
    BOOST_TEST(outcome.err.find("umadvisor calibrate") != std::string::npos, outcome.err);
}

BOOST_AUTO_TEST_SUITE_END()
