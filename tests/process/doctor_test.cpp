/// `umadvisor doctor`: what it says is what `umadvisor run` then does, wherever it is asked. Each case is a
/// situation that a newcomer can be in.
#include "process.hpp"

BOOST_FIXTURE_TEST_SUITE(process_doctor_test, umadvisor::test::InFolder)

using namespace umadvisor::test;

namespace {

constexpr const char* will_work = "\numadvisor run -- PROGRAM will work here.\n";
constexpr const char* will_not = "\numadvisor run -- PROGRAM will not work here: the lines marked \"no\" say "
                                 "why. Traces from elsewhere can be "
                                 "reported on.\n";

/// The line that `what` has, without its mark; empty where there is none.
std::string line_of(const Outcome& outcome, const std::string& mark, const std::string& what) {
    const std::string begin =
        mark + std::string(6 - mark.size(), ' ') + what + std::string(16 - what.size(), ' ');
    std::istringstream text(outcome.out);
    for (std::string line; std::getline(text, line);)
        if (line.starts_with(begin))
            return line.substr(begin.size());
    return {};
}

void check_line(const Outcome& outcome, const std::string& mark, const std::string& what,
                const std::vector<std::string>& parts) {
    const std::string line = line_of(outcome, mark, what);
    BOOST_TEST(!line.empty(), "no line \"" << mark << " " << what << "\" in\n" << outcome.out);
    for (const std::string& part : parts)
        BOOST_TEST(says(line, part), part << " is not in\n" << line);
}

/// Every trouble is a line on standard output: nothing is said beside it, and the status says the same as the
/// end.
Outcome check_end(const Outcome& outcome, int status) {
    BOOST_TEST(outcome.status == status, outcome.out << outcome.err);
    BOOST_TEST(outcome.err == "");
    BOOST_TEST(outcome.out.ends_with(status == 0 ? will_work : will_not), outcome.out);
    return outcome;
}

const std::string doctor = "XDG_CONFIG_HOME=$PWD/config " + advisor + " doctor";

/// A libcuda.so.1 that has every function a doctor asks for, and in it `cu_init`.
std::string make_driver(const Folder& folder, const std::string& cu_init) {
    std::ofstream(folder / "driver.c")
        << "#include <unistd.h>\n#include <stdlib.h>\n"
           "int cuInit(unsigned flags) { "
        << cu_init
        << " }\n"
           "int cuDriverGetVersion(int* version) { *version = 12080; return 0; }\n"
           "int cuDeviceGetCount(int* count) { *count = 0; return 0; }\n"
           "int cuDeviceGet(int* device, int ordinal) { return 101; }\n"
           "int cuDeviceGetName(char* name, int length, int device) { return 101; }\n"
           "int cuDeviceGetAttribute(int* value, int which, int device) { return 101; }\n"
           "int cuGetErrorName(int error, const char** text) { *text = \"CUDA_ERROR_\\033[31mRED\"; return 0; "
           "}\n";
    const Outcome built = run(folder, "mkdir driver && cc -shared -fPIC -o driver/libcuda.so.1 driver.c");
    BOOST_TEST_REQUIRE(built.status == 0, built.err);
    return "export LD_LIBRARY_PATH=$PWD/driver; ";
}

/// umadvisor in a folder of its own, as somebody has copied it.
std::string copied_advisor(const Folder& folder) {
    fs::create_directories(folder.path / "bin");
    fs::create_directories(folder.path / "lib");
    fs::copy_file(advisor, folder.path / "bin" / "umadvisor");
    return "bin/umadvisor doctor";
}

} // namespace

BOOST_AUTO_TEST_CASE(on_a_machine_where_all_works) {
    const Outcome outcome = check_end(run_sim(folder, doctor), 0);
    const std::string golden =
        "ok    shim            " + fs::canonical(shim).string() +
        "\n"
        "ok    preload         works\n"
        "ok    recording       a preloaded process called cuInit and left a trace\n"
        "ok    driver          " +
        fs::canonical(simcuda).string() +
        "/libcuda.so.1, CUDA 13.0\n"
        "ok    device 0        simcuda H200 model, compute 9.0: managed memory, prefetch and advice\n"
        "ok    traces          are written to the working directory, " +
        fs::canonical(folder.path).string() + "\n";
    BOOST_TEST(outcome.out.starts_with(golden), outcome.out);
    check_line(outcome, "ok", "call stacks", {"libunwind.so.8"});
    check_line(outcome, "ok", "residency", {"/proc/self/pagemap"});
    check_line(outcome, "ok", "tools queue", {"simcuda"});
    check_line(outcome, "part", "estimates", {"umadvisor calibrate"});
    // The trial leaves nothing behind, and what it says is so.
    BOOST_TEST(run(folder, "ls | wc -l").out == "0\n");
    BOOST_TEST(record(folder, sim + "pinned_copies").status == 0);
    BOOST_TEST(fs::exists(folder / "x.umtrace"));
}

/// Descriptors that are free are given out again: what a trial writes must not get one of a standard stream's.
BOOST_AUTO_TEST_CASE(without_standard_streams) {
    for (const char* closed : {" <&-", " 2>&-", " <&- 2>&-"})
        check_end(run_sim(folder, doctor + closed), 0);
}

BOOST_AUTO_TEST_CASE(where_files_may_have_no_bytes) {
    // Its own output goes through a pipe, to which the limit does not apply.
    const Outcome outcome = run_sim(folder, "(ulimit -f 0; " + doctor + "; echo status $?) | cat");
    check_line(outcome, "no", "preload", {"signal 25", "0 bytes", "ulimit -f"});
    check_line(outcome, "no", "driver", {"signal 25", "0 bytes", "ulimit -f"});
    BOOST_TEST(lacks(outcome.out, "reinstall"));
    BOOST_TEST(outcome.out.ends_with("status 1\n"), outcome.out);
    BOOST_TEST(outcome.err == "");
}

BOOST_AUTO_TEST_CASE(a_shim_that_ends_the_program) {
    const std::string copied = copied_advisor(folder);
    std::ofstream(folder / "shim.c") << "#include <stdlib.h>\n__attribute__((constructor)) void begin(void) { "
                                        "if (getenv(\"UMADVISOR_OUTPUT\")) abort(); }\n";
    run(folder, "cc -shared -fPIC -o lib/libumadvisor.so shim.c");
    const Outcome outcome = check_end(run_sim(folder, copied), 1);
    check_line(outcome, "no", "preload", {"signal 6"});
    BOOST_TEST(lacks(outcome.out, "the loader skipped the shim"));
    BOOST_TEST(lacks(outcome.out, "reinstall the NVIDIA driver"));
}

BOOST_AUTO_TEST_CASE(memory_of_killed_programs_whose_traces_are_gone_is_told) {
    const auto left_by_a_killed_program = [&] {
        run_sim(folder, "UMADVISOR_OUTPUT=x.umtrace LD_PRELOAD=" + shim + " " + programs + "/killed launches");
        const int file = open((folder / "x.umtrace").c_str(), O_RDONLY | O_CLOEXEC);
        const std::string id = std::to_string(umadvisor::trace::segment_name_in(file).id);
        close(file);
        fs::remove(folder / "x.umtrace");
        return id;
    };
    // More than are named, so that only the latest are.
    std::string earlier;
    for (int i = 0; i < 16; ++i)
        earlier += " -m " + left_by_a_killed_program();
    const std::string segment = left_by_a_killed_program();
    const auto told = [&](const std::string& line) {
        return (line + " ").find(" " + segment + " ") != std::string::npos;
    };
    const Outcome outcome = check_end(run_sim(folder, doctor), 0); // a note
    const std::string line = line_of(outcome, "note", "memory");
    BOOST_TEST(told(line), segment << " is not in\n" << outcome.out);
    BOOST_TEST(says(line, "iB): "));
    BOOST_TEST(says(line, "ipcrm -m "));
    BOOST_TEST_REQUIRE(run(folder, "ipcrm -m " + segment).status == 0); // it was left there
    BOOST_TEST(!told(line_of(run_sim(folder, doctor), "note", "memory")));
    BOOST_TEST(run(folder, "ipcrm" + earlier).status == 0);
}

BOOST_AUTO_TEST_CASE(settings_of_the_user_do_not_reach_the_trial) {
    const Outcome outcome = check_end(
        run_sim(folder,
                "UMADVISOR_DELAY=5 UMADVISOR_ACT=nonsense UMADVISOR_OUTPUT=$PWD/other.umtrace " + doctor),
        0);
    check_line(outcome, "ok", "traces", {"/other.umtrace", "UMADVISOR_OUTPUT"});
    BOOST_TEST(!fs::exists(folder / "other.umtrace"));
}

BOOST_AUTO_TEST_CASE(after_calibration_estimates_are_this_machines) {
    fs::create_directories(folder.path / "config" / "umadvisor");
    std::ofstream(folder / "config/umadvisor/machine.json")
        << R"({"version": 1, "device": "simcuda H200 model", "rates": {}})";
    const Outcome damaged = run_sim(folder, doctor);
    check_end(damaged, 0); // whatever the file says, programs can be recorded
    BOOST_TEST_REQUIRE(run_sim(folder, "XDG_CONFIG_HOME=$PWD/config " + advisor + " calibrate").status == 0);
    check_line(run_sim(folder, doctor), "ok", "estimates", {"machine.json", "simcuda H200 model"});
}

BOOST_AUTO_TEST_CASE(each_memory_mode_has_what_does_not_hold_there) {
    const struct {
        const char *mode, *device, *note, *also;
    } modes[] = {{"hmm", "discrete with HMM", "issue 1223", "uvm_disable_hmm=1"},
                 {"numa", "coherent (NUMA)", "is a NUMA node", "the system's pages have"},
                 {"cdmm", "coherent (CDMM)", "stays on the host", "a prefetch of it does nothing"},
                 {"pool", "one pool of memory", "copies between both are waste", "--act is refused"}};
    for (const auto& each : modes) {
        const Outcome outcome =
            check_end(run_sim(folder, "SIMCUDA_CONFIG=memory=" + std::string(each.mode) + " " + doctor), 0);
        check_line(outcome, "ok", "device 0", {each.device});
        check_line(outcome, "note", "memory mode", {each.note, each.also});
        const bool pcie = std::string(each.mode) == "hmm";
        check_line(outcome, "part", "estimates",
                   {pcie ? "H200's figures" : "savings that depend on the speed of its link"});
    }
    const Outcome discrete = run_sim(folder, doctor);
    BOOST_TEST(line_of(discrete, "note", "memory mode").empty());
}

BOOST_AUTO_TEST_CASE(a_cupti_of_unknown_records_is_said_to_be_refused) {
    check_line(run_sim(folder, doctor), "ok", "CUPTI", {"no other profiler can use CUPTI"});
    for (const std::string version : {"18", "130100", "130300"})
        check_line(run_sim(folder, "SIMCUDA_CUPTI_VERSION=" + version + " " + doctor), "ok", "CUPTI",
                   {"does not know its records"});
}

BOOST_AUTO_TEST_CASE(without_a_driver) {
    const Outcome outcome = run(folder, "unset LD_LIBRARY_PATH; " + doctor);
    check_end(outcome, 1);
    check_line(outcome, "ok", "preload", {"works"});
    check_line(outcome, "no", "driver", {"libcuda.so.1", "install the NVIDIA driver"});
    BOOST_TEST(line_of(outcome, "no", "recording") == ""); // the driver's line says it
}

BOOST_AUTO_TEST_CASE(a_driver_that_refuses) {
    for (const auto& [status, name, remedy] :
         {std::tuple{"100", "CUDA_ERROR_NO_DEVICE", "CUDA_VISIBLE_DEVICES"},
          {"802", "CUDA_ERROR_SYSTEM_NOT_READY", "nvidia-fabricmanager"},
          {"803", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "reboot"},
          {"999", "CUDA_ERROR_UNKNOWN", "nvidia-modprobe"},
          {"719", "719", "nvidia-smi"}}) {
        const Outcome outcome =
            check_end(run_sim(folder, "SIMCUDA_CONFIG=fail=cuInit:0:" + std::string(status) + " " + doctor), 1);
        check_line(outcome, "ok", "preload", {"works"});
        check_line(outcome, "no", "driver",
                   {"cuInit returns ", status == std::string("719") ? "" : name, remedy});
    }
}

BOOST_AUTO_TEST_CASE(a_driver_whose_words_are_no_text) {
    const Outcome outcome = run(folder, make_driver(folder, "return 100;") + doctor);
    check_end(outcome, 1);
    check_line(outcome, "no", "driver", {"CUDA_ERROR_?[31mRED"});
}

BOOST_AUTO_TEST_CASE(a_driver_without_devices) {
    const Outcome outcome = check_end(run_sim(folder, "SIMCUDA_CONFIG=devices=0 " + doctor), 1);
    check_line(outcome, "no", "device", {"CUDA_VISIBLE_DEVICES", "--gpus all"});
}

BOOST_AUTO_TEST_CASE(a_driver_that_never_answers) {
    const Outcome outcome = run(folder, make_driver(folder, "for (;;) pause();") + doctor + " --timeout 1");
    check_end(outcome, 1);
    check_line(outcome, "no", "driver", {"did not answer within 1 s", "nvidia-smi", "dmesg"});
    const Outcome wrong = run(folder, doctor + " --timeout soon");
    BOOST_TEST(wrong.status == 2);
    BOOST_TEST(lines(wrong.err) == 1u, wrong.err);
}

BOOST_AUTO_TEST_CASE(a_driver_that_crashes) {
    const Outcome outcome = run(folder, make_driver(folder, "abort();") + doctor);
    check_end(outcome, 1);
    check_line(outcome, "no", "driver", {"signal 6", "reinstall"});
}

BOOST_AUTO_TEST_CASE(a_library_that_is_no_driver) {
    const std::string before = make_driver(folder, "return 0;");
    run(folder, "cc -shared -fPIC -o driver/libcuda.so.1 -xc /dev/null");
    const Outcome outcome = check_end(run(folder, before + doctor), 1);
    check_line(outcome, "no", "driver", {"is not a CUDA driver"});
}

BOOST_AUTO_TEST_CASE(without_the_shim) {
    const Outcome outcome = check_end(run_sim(folder, copied_advisor(folder)), 1);
    check_line(outcome, "no", "shim", {"libumadvisor.so is not in ../lib", "install both"});
    check_line(outcome, "ok", "driver", {"libcuda.so.1"});
}

BOOST_AUTO_TEST_CASE(in_a_folder_that_the_loader_cannot_preload_from) {
    fs::create_directories(folder.path / "a b");
    const std::string copied = copied_advisor(folder);
    fs::copy_file(shim, folder.path / "lib" / "libumadvisor.so");
    const Outcome outcome = run_sim(folder, "mv bin lib 'a b'; 'a b'/" + copied);
    check_end(outcome, 1);
    check_line(outcome, "no", "shim", {"a space or colon in its path", "move it"});
}

BOOST_AUTO_TEST_CASE(a_shim_that_the_loader_refuses) {
    const std::string copied = copied_advisor(folder);
    std::ofstream(folder / "lib/libumadvisor.so")
        << "no library, but long enough for a header" << std::string(1024, '.');
    const Outcome outcome = check_end(run_sim(folder, copied), 1);
    check_line(outcome, "no", "preload", {"ld.so", "libumadvisor.so", "invalid ELF header", "install"});
    BOOST_TEST(line_of(outcome, "ok", "recording") == "");
}

BOOST_AUTO_TEST_CASE(a_shim_that_records_nothing) {
    const std::string copied = copied_advisor(folder);
    run(folder, "cc -shared -fPIC -o lib/libumadvisor.so -xc /dev/null");
    const Outcome outcome = check_end(run_sim(folder, copied), 1);
    check_line(outcome, "ok", "preload", {"works"});
    check_line(outcome, "no", "recording", {"left no trace"});
}

BOOST_AUTO_TEST_CASE(in_a_folder_where_nothing_can_be_written) {
    // Root writes where permissions forbid it, but not to these.
    for (const std::string where : {"cd /proc", "mkdir gone && cd gone && rmdir ../gone"}) {
        const Outcome outcome = check_end(run_sim(folder, where + " && " + advisor + " doctor"), 1);
        check_line(outcome, "ok", "recording", {"left a trace"});
        check_line(outcome, "no", "traces", {"No such file", "-o", "UMADVISOR_OUTPUT"});
        // It says what `run` does.
        const Outcome refused = run_sim(folder, where + " && " + advisor + " run -- " + sim + "pinned_copies");
        BOOST_TEST(refused.status == 1, refused.err);
        const Outcome elsewhere =
            run_sim(folder, "export UMADVISOR_OUTPUT=$PWD/x.umtrace; " + where + " && " + advisor + " doctor");
        check_end(elsewhere, 0);
    }
}

BOOST_AUTO_TEST_CASE(without_a_folder_for_temporary_files) {
    const Outcome outcome = check_end(run_sim(folder, "TMPDIR=/proc " + doctor), 1);
    check_line(outcome, "no", "recording", {"not tried", "/proc", "TMPDIR"});
}

BOOST_AUTO_TEST_SUITE_END()
