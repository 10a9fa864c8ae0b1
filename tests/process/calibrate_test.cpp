/// What `umadvisor calibrate` measures of a device, and how reports use it.
#include "process.hpp"

BOOST_FIXTURE_TEST_SUITE(process_calibrate_test, umadvisor::test::InFolder)

using namespace umadvisor::test;

namespace {

/// Where nothing is known of the device, unless a test says so.
const std::string pageable = "XDG_CONFIG_HOME=${KNOWN:-$PWD/nothing} " + advisor +
                             " run -q --no-calibrate --hash off -o x.umtrace -- " + sim + "pageable_copies";

/// On a machine that knows another thing than the trace.
std::string first_basis(const Folder& folder, const std::string& options) {
    const Outcome outcome =
        run(folder, "XDG_CONFIG_HOME=$PWD/elsewhere " + advisor + " report --json --no-cache --only UMA-102 " +
                        options + " x.umtrace");
    BOOST_TEST_REQUIRE(outcome.status == 0, outcome.err);
    return Json::parse(outcome.out).at("findings").at(0).at("basis");
}

} // namespace

BOOST_AUTO_TEST_CASE(what_was_not_measured_is_not_kept) {
    const Outcome outcome = run_sim(folder, advisor + " calibrate -o m.json");
    BOOST_TEST_REQUIRE(outcome.status == 0, outcome.err);
    BOOST_TEST(says(outcome.out, "not measured: kernels"));
    const Json rates = Json::parse(read(folder / "m.json")).at("rates");
    for (const char* const name :
         {"pinned_to_device_bytes_per_s", "host_to_host_bytes_per_s", "both_ways_ratio",
          "fault_to_host_written_bytes_per_s", "host_first_write_bytes_per_s", "host_first_touch_bytes_per_s",
          "host_unlock_bytes_per_s", "page_lock_bytes_per_s", "page_lock_ns"})
        BOOST_TEST(rates.value(name, 0.0) > 0, name);
    BOOST_TEST(rates.value("prefetch_move_ns", 0.0) > 40'000); // simcuda takes 50 us
    // simcuda compiles no kernels, and has one device.
    for (const char* const name : {"fault_to_device_bytes_per_s", "device_fault_ns", "launch_call_ns",
                                   "peer_bytes_per_s", "peer_through_host_bytes_per_s"})
        BOOST_TEST(!rates.contains(name), name);
}

BOOST_AUTO_TEST_CASE(two_devices_have_a_way_between_them, *boost::unit_test::label("long")) {
    const Outcome outcome = run_sim(folder, "SIMCUDA_CONFIG=devices=2 " + advisor + " calibrate -o m.json");
    BOOST_TEST_REQUIRE(outcome.status == 0, outcome.err);
    const Json rates = Json::parse(read(folder / "m.json")).at("rates");
    // Peer access is what makes the difference: 353 and 36.9 GB/s on simcuda.
    BOOST_TEST(rates.value("peer_bytes_per_s", 0.0) > 300e9);
    BOOST_TEST(rates.value("peer_through_host_bytes_per_s", 0.0) > 30e9);
    BOOST_TEST(rates.value("peer_through_host_bytes_per_s", 0.0) < 40e9);
}

BOOST_AUTO_TEST_CASE(reports_say_whose_figures_they_stand_on) {
    BOOST_TEST_REQUIRE(run_sim(folder, pageable).status == 0);
    BOOST_TEST(says(first_basis(folder, ""), "on an H200"));
    BOOST_TEST_REQUIRE(run_sim(folder, advisor + " calibrate -o m.json").status == 0);
    const std::string basis = first_basis(folder, "--machine m.json");
    BOOST_TEST(says(basis, "on the calibrated simcuda H200 model"));
}

BOOST_AUTO_TEST_CASE(its_usual_place) {
    // A relative folder does not count.
    BOOST_TEST_REQUIRE(run_sim(folder, "HOME=$PWD XDG_CONFIG_HOME=config " + advisor + " calibrate").status ==
                       0);
    BOOST_TEST(fs::exists(folder.path / ".config/umadvisor/machine.json"));
    BOOST_TEST_REQUIRE(run_sim(folder, "export HOME=$PWD KNOWN=config; " + pageable).status == 0);
    BOOST_TEST(says(first_basis(folder, ""), "the calibrated simcuda H200 model"));
    BOOST_TEST(run_sim(folder, "HOME= XDG_CONFIG_HOME= " + advisor + " calibrate").status == 1);
}

BOOST_AUTO_TEST_CASE(a_damaged_file_is_told_of) {
    BOOST_TEST_REQUIRE(run_sim(folder, pageable).status == 0);
    const Outcome outcome = run(folder, "echo '{\"schema\": \"umadvisor-machine-1\"}' > m.json; " + advisor +
                                            " report --machine m.json x.umtrace");
    BOOST_TEST(ends(outcome, 1, "umadvisor calibrate"));
}

BOOST_AUTO_TEST_CASE(devices_of_different_names_stay_known_side_by_side, *boost::unit_test::label("long")) {
    fs::create_directories(folder.path / "config/umadvisor");
    const std::string file = folder / "config/umadvisor/machine.json";
    std::ofstream(file) << R"([{"schema": "umadvisor-machine-1", "device": "another card", "rates": {}},
               {"schema": "umadvisor-machine-1", "device": "simcuda H200 model", "rates": {}}])";
    const Outcome outcome = run_sim(folder, "XDG_CONFIG_HOME=$PWD/config " + advisor + " calibrate");
    BOOST_TEST_REQUIRE(outcome.status == 0, outcome.err);
    const Json machines = Json::parse(read(file));
    BOOST_TEST(machines.size() == 2u, machines);
    BOOST_TEST(machines.at(0).at("device") == "simcuda H200 model");
    BOOST_TEST(!machines.at(0).at("rates").empty());
    BOOST_TEST(machines.at(1).at("device") == "another card");
    BOOST_TEST_REQUIRE(run_sim(folder, "export KNOWN=$PWD/config; " + pageable).status == 0);
    for (const std::string options : {"", "--machine config/umadvisor/machine.json"})
        BOOST_TEST(says(first_basis(folder, options), "on the calibrated simcuda H200 model"));
}

/// What `run` does about a device that is not known, with nothing known in $PWD/config.
namespace {

const std::string first_run = "export XDG_CONFIG_HOME=$PWD/config; " + advisor + " run -o x.umtrace ";
const std::string copies = sim + "pageable_copies";
const std::string known = "config/umadvisor/machine.json";

} // namespace

BOOST_AUTO_TEST_CASE(the_first_run_on_a_device_calibrates_it) {
    const Outcome first = run_sim(folder, first_run + "-- sh -c '" + copies + "; exit 5'");
    BOOST_TEST(first.status == 5);
    BOOST_TEST(first.out == run_sim(folder, copies).out);
    const std::size_t line = first.err.find("umadvisor: calibrated simcuda H200 model");
    BOOST_TEST(line < first.err.find("umadvisor: pageable_copies (pid"), first.err); // and so stands on it
    BOOST_TEST(lines(first.err) == 4u, first.err);
    BOOST_TEST(Json::parse(read(folder / known)).at("device") == "simcuda H200 model");
    BOOST_TEST(says(first_basis(folder, ""), "on the calibrated simcuda H200 model"));
    const Outcome second = run_sim(folder, first_run + "-f -- " + copies);
    BOOST_TEST(lines(second.err) == 3u, second.err);
}

namespace {

/// The prices that a trace carries, as `dump` has them: devices.
std::vector<std::string> carried(const Folder& folder, const std::string& trace) {
    std::vector<std::string> devices;
    const Outcome outcome = run(folder, advisor + " dump --json " + trace);
    BOOST_TEST(outcome.status == 0, outcome.err);
    std::istringstream text(outcome.out);
    for (std::string line; std::getline(text, line);)
        if (const Json record = Json::parse(line); record.at("record") == "MachineRates")
            devices.push_back(Json::parse(record.at("rates").get<std::string>()).at("device"));
    return devices;
}

const std::vector<std::string> one{"simcuda H200 model"};

} // namespace

/// Not the recorder, which began before the device was known, but the run that calibrated it.
BOOST_AUTO_TEST_CASE(the_first_run_adds_its_prices_to_each_trace) {
    const Outcome first = run_sim(folder, first_run + "-- sh -c '" + copies + " & " + copies + "; wait'");
    BOOST_TEST(first.status == 0, first.err);
    BOOST_TEST(traces(folder).size() == 2u);
    for (const std::string& trace : traces(folder)) {
        BOOST_TEST(carried(folder, trace) == one, trace);
        BOOST_TEST(report(folder, trace).at("completeness").at("complete") == true, trace);
    }
}

BOOST_AUTO_TEST_CASE(a_killed_programs_trace_has_its_prices_too, *boost::unit_test::label("long")) {
    const Outcome killed = run_sim(folder, first_run + "-- " + programs + "/killed launches");
    BOOST_TEST(killed.status == 128 + SIGKILL, killed.err);
    BOOST_TEST(carried(folder, "x.umtrace") == one);
}

BOOST_AUTO_TEST_CASE(what_is_known_before_the_recorder_writes_itself, *boost::unit_test::label("long")) {
    const std::string preload =
        "export UMADVISOR_QUIET=1 UMADVISOR_FORCE=1 UMADVISOR_OUTPUT=x.umtrace; LD_PRELOAD='" + shim +
        "' XDG_CONFIG_HOME=$PWD/";
    BOOST_TEST_REQUIRE(run_sim(folder, preload + "config " + copies).status == 0);
    BOOST_TEST(carried(folder, "x.umtrace").empty());
    BOOST_TEST_REQUIRE(run_sim(folder, "XDG_CONFIG_HOME=$PWD/config " + advisor + " calibrate").status == 0);
    for (const std::string& command : {preload + "config " + copies, first_run + "-f -q -- " + copies}) {
        BOOST_TEST_REQUIRE(run_sim(folder, command).status == 0);
        BOOST_TEST(carried(folder, "x.umtrace") == one);
        BOOST_TEST(says(first_basis(folder, ""), "on the calibrated simcuda H200 model"));
    }
    // Others of the file stay where they are; what is no such file is nothing to the program.
    const std::string file = folder / known,
                      device = R"("umadvisor-machine-1", "device": "simcuda H200 model")";
    for (const auto& [text, count] :
         {std::pair{R"([{"schema": "umadvisor-machine-1", "device": "}another{", "rates": {}}, {"schema": )" +
                        device + R"(, "rates": {}}])",
                    1u},
          {R"({"schema": )" + device + R"(, "rates": )", 0u},
          {R"({"schema": )" + device + ", \"rates\": {" + std::string(20'000, ' ') + "}}", 0u},
          {std::string(200'000, '{'), 0u},
          {std::string("}}}}\"\\"), 0u},
          {std::string(), 0u}}) {
        std::ofstream(file) << text;
        BOOST_TEST(run_sim(folder, preload + "config " + copies).out == run_sim(folder, copies).out);
        BOOST_TEST(carried(folder, "x.umtrace").size() == count, text.substr(0, 200));
    }
    BOOST_TEST_REQUIRE(run(folder, "rm " + known + "; mkfifo " + known).status == 0); // nobody writes to it
    BOOST_TEST(run_sim(folder, preload + "config " + copies).out == run_sim(folder, copies).out);
    BOOST_TEST(carried(folder, "x.umtrace").empty());
}

/// A process that outlives its run still writes.
BOOST_AUTO_TEST_CASE(a_trace_that_is_still_written_is_left_alone) {
    std::ofstream(folder / "stays.py") << R"(import ctypes, os, time
driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
assert driver.cuInit(0) + driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) + driver.cuCtxSetCurrent(context) == 0
assert driver.cuCtxSynchronize() == 0
open("ready", "w").close()
while not os.path.exists("go"):
    time.sleep(0.01)
assert driver.cuCtxSynchronize() == 0
os.rename("ready", "done")
)";
    const Outcome outcome =
        run_sim(folder, first_run + "-- sh -c 'python3 stays.py >/dev/null 2>&1 & while ! test -e ready; do "
                                    "sleep 0.01; done'; touch go; while ! test -e done; do sleep 0.01; done");
    BOOST_TEST(times(outcome.err, "the trace has no rates of this machine") == 1u, outcome.err);
    BOOST_TEST(times(outcome.err, "its program still runs") == 1u, outcome.err);
    BOOST_TEST(carried(folder, "x.umtrace").empty());
}

BOOST_AUTO_TEST_CASE(a_quiet_run_calibrates_without_a_word_and_no_calibrate_does_not,
                     *boost::unit_test::label("long")) {
    const Outcome without = run_sim(folder, first_run + "--no-calibrate -- " + copies);
    BOOST_TEST(without.status == 0);
    BOOST_TEST(times(without.err, "calibrate") == 0u, without.err);
    BOOST_TEST(!fs::exists(folder / known));
    const Outcome quiet = run_sim(folder, first_run + "-f -q -- " + copies);
    BOOST_TEST(quiet.status == 0);
    BOOST_TEST(quiet.err == "");
    BOOST_TEST(fs::exists(folder / known));
}

BOOST_AUTO_TEST_CASE(where_nothing_was_recorded_nothing_is_calibrated) {
    for (const std::string& program :
         {std::string("/bin/true"), advisor + " doctor --trial-program", std::string("./missing")}) {
        const Outcome outcome = run_sim(folder, first_run + "-- " + program);
        BOOST_TEST(times(outcome.err, "calibrated") == 0u, outcome.err);
        BOOST_TEST(!fs::exists(folder / known), program);
    }
}

BOOST_AUTO_TEST_CASE(processes_of_a_launcher_and_runs_side_by_side_calibrate_once,
                     *boost::unit_test::label("long")) {
    const std::string rank = advisor + " run -- sh -c '" + copies + " & " + copies + " & wait' & ";
    const Outcome ranks = run_sim(folder, "export XDG_CONFIG_HOME=$PWD/config; " + rank + rank + rank + "wait");
    BOOST_TEST(times(ranks.err, "calibrated") == 1u, ranks.err);
    BOOST_TEST(times(ranks.err, "next: ") == 3u, ranks.err);
}

/// Whatever it is, the run has its summary and its exit status.
BOOST_AUTO_TEST_CASE(what_cannot_be_calibrated_takes_one_line, *boost::unit_test::label("long")) {
    const auto check = [&](const std::string& environment, const std::string& why) {
        const Outcome outcome =
            run_sim(folder, environment + advisor + " run -f -o x.umtrace -- " + "env LD_LIBRARY_PATH='" +
                                simcuda + "' sh -c '" + copies + "; exit 5'");
        BOOST_TEST(outcome.status == 5, outcome.err);
        BOOST_TEST(lines(outcome.err) == 4u, outcome.err);
        BOOST_TEST(times(outcome.err, "simcuda H200 model is not calibrated") == 1u, outcome.err);
        BOOST_TEST(times(outcome.err, why) == 1u, outcome.err);
        BOOST_TEST(times(outcome.err, "next: umadvisor report x.umtrace") == 1u, outcome.err);
    };
    check("XDG_CONFIG_HOME=/proc ", "/proc/umadvisor/machine.json");
    check("HOME= XDG_CONFIG_HOME= ", "neither XDG_CONFIG_HOME nor HOME");
    check("XDG_CONFIG_HOME=$PWD/config LD_LIBRARY_PATH= ", "libcuda.so.1");
    for (const auto& [does, why] : {std::pair{"abort();", "signal 6"}, {"for (;;) pause();", "given up"}}) {
        std::ofstream(folder / "driver.c")
            << "#include <stdlib.h>\n#include <unistd.h>\nint cuInit(unsigned flags) { " << does
            << " }\n__attribute__((constructor)) static void begin(void) { cuInit(0); }\n";
        BOOST_TEST_REQUIRE(run(folder, "cc -shared -fPIC -o libcuda.so.1 driver.c").status == 0);
        check("XDG_CONFIG_HOME=$PWD/config LD_LIBRARY_PATH=$PWD ", why);
    }
}

BOOST_AUTO_TEST_SUITE_END()
