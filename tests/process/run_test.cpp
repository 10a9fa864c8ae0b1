/// `umadvisor run`: the program's own behaviour is kept, and every trouble is one clear line.
#include "process.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(process_run_test)

using namespace umadvisor::test;

namespace {

void check_one_line(const Outcome& outcome, int status, const std::string& about) {
    BOOST_TEST(outcome.status == status);
    BOOST_TEST(lines(outcome.err) == 1u, outcome.err);
    BOOST_TEST(outcome.err.find(about) != std::string::npos, outcome.err);
}

} // namespace

BOOST_AUTO_TEST_CASE(exit_status_and_signals_come_through) {
    const Folder folder;
    BOOST_TEST(run(folder, advisor + " run -- /bin/sh -c 'exit 0'").status == 0);
    BOOST_TEST(run(folder, advisor + " run -- /bin/sh -c 'exit 3'").status == 3);
    BOOST_TEST(run(folder, advisor + " run -- /bin/sh -c 'exit 255'").status == 255);
    BOOST_TEST(run(folder, advisor + " run -- /bin/sh -c 'kill -9 $$'").status == 128 + 9);
    BOOST_TEST(run(folder, advisor + " run -- /bin/sh -c 'kill -TERM $$'").status == 128 + 15);
}

BOOST_AUTO_TEST_CASE(arguments_and_output_come_through) {
    const Folder folder;
    const Outcome outcome = run(folder, advisor + " run -q -- /bin/echo one '--two three' ''");
    BOOST_TEST(outcome.status == 0);
    BOOST_TEST(outcome.out == "one --two three \n");
}

BOOST_AUTO_TEST_CASE(a_program_without_cuda_leaves_no_trace) {
    const Folder folder;
    const Outcome outcome = run(folder, advisor + " run -- /bin/true");
    BOOST_TEST(outcome.status == 0);
    BOOST_TEST(outcome.err.find("CUDA") != std::string::npos, outcome.err);
    for (const auto& entry : fs::directory_iterator(folder.path))
        BOOST_TEST(entry.path().extension() != ".umtrace", entry.path());
}

BOOST_AUTO_TEST_CASE(missing_program) {
    const Folder folder;
    check_one_line(run(folder, advisor + " run -- ./no-such-program"), 127, "no-such-program");
    std::ofstream(folder / "not-executable") << "text";
    check_one_line(run(folder, advisor + " run -- ./not-executable"), 126, "not-executable");
}

BOOST_AUTO_TEST_CASE(static_binary_is_refused) {
    const Folder folder;
    check_one_line(run(folder, advisor + " run -- " + programs + "/static_program"), 2, "static");
}

BOOST_AUTO_TEST_CASE(unwritable_output) {
    const Folder folder;
    check_one_line(run(folder, advisor + " run -o no/such/folder/x.umtrace -- /bin/true"), 1, "no/such/folder");
    check_one_line(run(folder, advisor + " run -o . -- /bin/true"), 1, "regular file");
}

BOOST_AUTO_TEST_CASE(existing_output_is_kept_without_force) {
    const Folder folder;
    std::ofstream(folder / "x.umtrace") << "precious";
    check_one_line(run_sim(folder, advisor + " run -o x.umtrace -- " + examples + "/sim/pinned_copies"), 1,
                   "x.umtrace");
    BOOST_TEST(read(folder / "x.umtrace") == "precious");
    const Outcome forced =
        run_sim(folder, advisor + " run -f -o x.umtrace -- " + examples + "/sim/pinned_copies");
    BOOST_TEST(forced.status == 0, forced.err);
    BOOST_TEST(report(folder, "x.umtrace").contains("findings"));
}

BOOST_AUTO_TEST_CASE(unknown_options) {
    const Folder folder;
    for (const char* command :
         {" run --no-such-option -- /bin/true", " no-such-command", " report --no-such-option x"}) {
        const Outcome outcome = run(folder, advisor + command);
        BOOST_TEST(outcome.status == 2, command);
        BOOST_TEST(lines(outcome.err) == 1u, outcome.err);
    }
    const Outcome variable =
        run_sim(folder, "UMADVISOR_NO_SUCH=1 LD_PRELOAD=" + shim + " " + examples + "/sim/pinned_copies");
    BOOST_TEST(variable.status == 0);
    BOOST_TEST(variable.err.find("UMADVISOR_NO_SUCH") != std::string::npos, variable.err);
}

BOOST_AUTO_TEST_CASE(no_driver_on_the_machine) {
    const Folder folder;
    const std::string program = examples + "/sim-static/pinned_copies";
    const std::string nowhere = "unset LD_LIBRARY_PATH; ";
    const Outcome bare = run(folder, nowhere + program);
    const Outcome watched = run(folder, nowhere + advisor + " run -- " + program);
    BOOST_TEST(watched.status == bare.status);
    BOOST_TEST(watched.out == bare.out);
    BOOST_TEST(watched.err.find("libcuda.so.1") != std::string::npos, watched.err);
}

BOOST_AUTO_TEST_CASE(a_script_gives_one_trace_a_process) {
    const Folder folder;
    const std::string program = examples + "/sim/pinned_copies";
    const Outcome outcome = run_sim(folder, advisor + " run -o x.umtrace -- /bin/sh -c '" + program + " && " +
                                                program + "; exit 5'");
    BOOST_TEST(outcome.status == 5, outcome.err);
    int traces = 0;
    for (const auto& entry : fs::directory_iterator(folder.path))
        traces += entry.path().extension() == ".umtrace";
    BOOST_TEST(traces == 2);
}

BOOST_AUTO_TEST_CASE(bare_preload_says_one_line_or_none) {
    const Folder folder;
    const std::string command = "LD_PRELOAD=" + shim + " " + examples + "/sim/pinned_copies";
    const Outcome loud = run_sim(folder, command);
    BOOST_TEST(loud.status == 0);
    BOOST_TEST(lines(loud.err) == 1u, loud.err);
    const Outcome quiet = run_sim(folder, "UMADVISOR_QUIET=1 " + command);
    BOOST_TEST(quiet.status == 0);
    BOOST_TEST(quiet.err == "");
}

BOOST_AUTO_TEST_SUITE_END()
