/// Python programs under the shim: their frames are in the trace, and they do not notice. Each of
/// python_interpreters() runs them.
#include "python_stacks.hpp"
#include "unnoticed.hpp"

#include <boost/test/data/test_case.hpp>

#include <map>
#include <string>

BOOST_FIXTURE_TEST_SUITE(process_python_test, umadvisor::test::InFolder)

using namespace umadvisor::test;
namespace data = boost::unit_test::data;

namespace {

std::string watched(const std::string& python, const std::string& script, const std::string& settings = "") {
    return settings + " PYTHONDONTWRITEBYTECODE=1 UMADVISOR_OUTPUT=x.umtrace LD_PRELOAD=" + shim + " " +
           python + " " + scripts + script;
}

Outcome check_script_unnoticed(const Folder& folder, const std::string& python, const std::string& script) {
    fs::create_directory(folder.path / "bare");
    const Outcome alone =
        run_sim(folder, "cd bare; PYTHONDONTWRITEBYTECODE=1 " + python + " " + scripts + script);
    Outcome outcome = run_sim(folder, watched(python, script));
    BOOST_TEST(same(outcome, alone));
    return outcome;
}

} // namespace

BOOST_DATA_TEST_CASE(every_kind_of_frame_is_recorded_as_python_tells_it, data::make(python_interpreters()),
                     python) {
    const Outcome outcome = run_sim(folder, watched(python, "frames.py"));
    BOOST_TEST(outcome.status == 0, outcome.err);
    BOOST_TEST(check_frames(folder, outcome.out) > 60u);
    const auto interpreter = dump(folder, "Interpreter");
    BOOST_TEST_REQUIRE(hold(interpreter, {{{"trouble", ""}}}));
    BOOST_TEST(interpreter[0].at("implementation").get<std::string>().starts_with("CPython 3."));
    BOOST_TEST(interpreter[0].at("module") != 0);
}

BOOST_DATA_TEST_CASE(the_report_names_the_line_of_the_script, data::make(python_interpreters()), python) {
    const Outcome outcome = run_sim(folder, watched(python, "upload.py"));
    BOOST_TEST(outcome.status == 0, outcome.err);
    // The program prints the lines that it copies on, each in other words.
    std::istringstream lines(outcome.out);
    std::string told;
    const Json document = report(folder);
    for (const Json& copies : document.at("copy_lines"))
        told += copies.at("line").at("text").get<std::string>() + "\n";
    int named = 0;
    for (std::string line; std::getline(lines, line); ++named)
        BOOST_TEST(says(told, line + "\n"), line + "\n" + told);
    BOOST_TEST(named == 6);
    // From the innermost frame out: the interpreter's C frames have given way.
    const Outcome stacks = run(folder, advisor + " report --no-cache --full-stacks x.umtrace");
    BOOST_TEST(lacks(stacks.out, "_PyEval"));
    BOOST_TEST(lacks(stacks.out, "PyObject_"));
    BOOST_TEST(says(stacks.out, "ffi_call"));
    BOOST_TEST(says(stacks.out, "upload.py"));
}

BOOST_DATA_TEST_CASE(the_advice_is_in_the_words_of_the_framework_that_was_called,
                     data::make(python_interpreters()), python) {
    const Outcome outcome = run_sim(folder, watched(python, "frameworks.py"));
    BOOST_TEST(outcome.status == 0, outcome.err);
    std::map<std::string, std::string> advice; // by place
    const Json told = report(folder);
    for (const Json& finding : told.at("findings"))
        if (finding.at("rule") == "UMA-101")
            advice[finding.at("line").at("text")] = finding.at("advice");
    BOOST_TEST_REQUIRE(advice.size() == 3u);
    BOOST_TEST(says(advice["frameworks.py:16 in <module>"], "pin_memory=True"));
    BOOST_TEST(lacks(advice["frameworks.py:16 in <module>"], "cudaMallocHost"));
    for (const char* const place : {"frameworks.py:17 in <module>", "frameworks.py:18 in <module>"}) {
        BOOST_TEST(says(advice[place], "cudaMallocHost"), place);
        BOOST_TEST(says(advice[place], "array"), place);
        BOOST_TEST(lacks(advice[place], "pin_memory"), place);
    }
}

BOOST_AUTO_TEST_CASE(python_frames_can_be_left_out) {
    const Outcome outcome =
        run_sim(folder, watched(python_interpreters()[0], "ends.py without_state", "UMADVISOR_PYTHON=0"));
    BOOST_TEST(outcome.status == 0, outcome.err);
    BOOST_TEST(PythonStacks(folder, "x.umtrace").codes() == 0u);
    BOOST_TEST(dump(folder, "Interpreter").empty());
    for (const Json& wait : dump(folder, "Sync"))
        BOOST_TEST(wait.at("stack") != 0);
}

BOOST_DATA_TEST_CASE(a_thread_that_python_does_not_know_has_no_frames, data::make(python_interpreters()),
                     python) {
    check_script_unnoticed(folder, python, "ends.py without_state");
    const PythonStacks stacks(folder, "x.umtrace");
    const auto waits = dump(folder, "Sync");
    BOOST_TEST_REQUIRE(waits.size() == 2u);
    BOOST_TEST(waits[0].at("thread") != waits[1].at("thread"));
    BOOST_TEST(stacks.python(waits[0].at("stack")).size() == 2u);
    BOOST_TEST(stacks.python(waits[1].at("stack")).empty());
}

BOOST_DATA_TEST_CASE(ends_of_all_kinds_are_not_noticed,
                     data::make(python_interpreters()) *
                         data::make({"daemons", "threads", "exit_handlers", "destructors", "subinterpreters",
                                     "forks", "abrupt"}),
                     python, mode) {
    check_script_unnoticed(folder, python, std::string("ends.py ") + mode);
    BOOST_TEST(PythonStacks(folder, "x.umtrace").codes() > 0u);
}

/// A hang would be the test's time limit.
BOOST_DATA_TEST_CASE(threaded_programs_start_and_end_over_and_over, data::make(python_interpreters()), python) {
    const char* const wanted = std::getenv("UMADVISOR_PYTHON_STARTS");
    const std::string starts = wanted != nullptr && *wanted != '\0' ? wanted : "20";
    const std::string each = watched(python, "ends.py", "UMADVISOR_FORCE=1 UMADVISOR_QUIET=1");
    const Outcome outcome =
        run_sim(folder, "for i in $(seq " + starts + "); do for mode in threads daemons; do " + each +
                            " $mode || exit 1; done; done");
    BOOST_TEST(outcome.status == 0, outcome.err);
    BOOST_TEST(lines(outcome.out) == 2 * std::stoul(starts));
}

BOOST_AUTO_TEST_SUITE_END()
