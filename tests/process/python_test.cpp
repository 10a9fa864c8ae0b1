/// Python programs under the shim: their frames are in the trace, and they do not notice. Debian's Python runs
/// them, or those that UMADVISOR_TEST_PYTHONS names (paths with colons between them).
#include "process.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <map>

using namespace umadvisor::test;
namespace data = boost::unit_test::data;
using Json = nlohmann::json;

namespace {

const std::string scripts = UMADVISOR_SOURCE "/tests/process/programs/python/";

std::vector<std::string> pythons() {
    const char* const named = std::getenv("UMADVISOR_TEST_PYTHONS");
    std::istringstream list(named != nullptr && *named != 0 ? named : "/usr/bin/python3");
    std::vector<std::string> found;
    for (std::string each; std::getline(list, each, ':');)
        found.push_back(each);
    return found;
}

std::string watched(const std::string& python, const std::string& script, const std::string& settings = "") {
    return settings + " PYTHONDONTWRITEBYTECODE=1 UMADVISOR_OUTPUT=x.umtrace LD_PRELOAD=" + shim + " " +
           python + " " + scripts + script;
}

/// Bare and under the shim: output and status must be the same.
Outcome check_unnoticed(const Folder& folder, const std::string& python, const std::string& script) {
    fs::create_directory(folder.path / "bare");
    const Outcome bare =
        run_sim(folder, "cd bare; PYTHONDONTWRITEBYTECODE=1 " + python + " " + scripts + script);
    const Outcome outcome = run_sim(folder, watched(python, script));
    BOOST_TEST(outcome.status == bare.status, outcome.err);
    BOOST_TEST(outcome.out == bare.out);
    BOOST_TEST(!bare.out.empty());
    return outcome;
}

/// The definitions of a trace by their numbers.
class Stacks {
public:
    Stacks(const Folder& folder, const std::string& trace) {
        for (const char* kind : {"Frame", "PythonFrame", "PythonCode"})
            for (const Json& record : dump(folder, trace, kind))
                records_[kind].emplace(record.at("id").get<std::uint64_t>(), record);
    }

    /// File, line and function of each Python frame, the innermost first, as the scripts print them.
    Json python(std::uint64_t stack) const {
        Json frames = Json::array();
        const auto joined = records_.at("Frame").find(stack);
        for (std::uint64_t id =
                 joined == records_.at("Frame").end() ? 0 : joined->second.at("python").get<std::uint64_t>();
             id != 0;) {
            const Json& frame = records_.at("PythonFrame").at(id);
            const Json& code = records_.at("PythonCode").at(frame.at("code"));
            frames.push_back({code.at("file"), frame.at("line"), code.at("function")});
            id = frame.at("parent");
        }
        return frames;
    }
    std::size_t codes() const { return records_.at("PythonCode").size(); }

private:
    std::map<std::string, std::map<std::uint64_t, Json>> records_{
        {"Frame", {}}, {"PythonFrame", {}}, {"PythonCode", {}}};
};

} // namespace

BOOST_DATA_TEST_CASE(every_kind_of_frame_is_recorded_as_python_tells_it, data::make(pythons()), python) {
    const Folder folder;
    const Outcome outcome = run_sim(folder, watched(python, "frames.py"));
    BOOST_TEST(outcome.status == 0, outcome.err);
    const Stacks stacks(folder, "x.umtrace");
    std::map<std::uint64_t, std::uint64_t> stack_of;
    for (const Json& record : dump(folder, "x.umtrace", "Alloc"))
        stack_of[record.at("bytes")] = record.at("stack");
    std::istringstream lines(outcome.out);
    int compared = 0;
    for (std::string line; std::getline(lines, line); ++compared) {
        const Json expected = Json::parse(line);
        BOOST_TEST_REQUIRE(stack_of.contains(expected.at("bytes")), line);
        Json told = expected.at("frames");
        constexpr std::size_t deepest = 64; // UMADVISOR_STACKS
        if (told.size() > deepest)
            told.erase(told.begin() + deepest, told.end());
        const Json recorded = stacks.python(stack_of[expected.at("bytes")]);
        BOOST_TEST(recorded == told, python << ":\n" << recorded.dump() << "\n" << told.dump());
    }
    BOOST_TEST(compared > 60);
    const auto interpreter = dump(folder, "x.umtrace", "Interpreter");
    BOOST_TEST_REQUIRE(interpreter.size() == 1u);
    BOOST_TEST(interpreter[0].at("trouble") == "");
    BOOST_TEST(interpreter[0].at("implementation").get<std::string>().starts_with("CPython 3."));
    BOOST_TEST(interpreter[0].at("module") != 0);
}

BOOST_DATA_TEST_CASE(the_report_names_the_line_of_the_script, data::make(pythons()), python) {
    const Folder folder;
    const Outcome outcome = run_sim(folder, watched(python, "upload.py"));
    BOOST_TEST(outcome.status == 0, outcome.err);
    // The program prints the lines that it copies on, each in other words.
    std::istringstream lines(outcome.out);
    const Outcome report = run(folder, advisor + " report --no-cache x.umtrace");
    BOOST_TEST(report.status == 0, report.err);
    int named = 0;
    for (std::string line; std::getline(lines, line); ++named)
        BOOST_TEST(report.out.find("\n    " + line + "   cuMemcpyHtoD") != std::string::npos,
                   line + "\n" + report.out);
    BOOST_TEST(named == 6);
    // From the innermost frame out: the interpreter's C frames have given way.
    const Outcome stacks = run(folder, advisor + " report --no-cache --full-stacks x.umtrace");
    BOOST_TEST(stacks.out.find("_PyEval") == std::string::npos, stacks.out);
    BOOST_TEST(stacks.out.find("PyObject_") == std::string::npos, stacks.out);
    BOOST_TEST(stacks.out.find("ffi_call") != std::string::npos, stacks.out);
    BOOST_TEST(stacks.out.find("upload.py") != std::string::npos, stacks.out);
}

BOOST_AUTO_TEST_CASE(python_frames_can_be_left_out) {
    const Folder folder;
    const Outcome outcome =
        run_sim(folder, watched(pythons()[0], "ends.py without_state", "UMADVISOR_PYTHON=0"));
    BOOST_TEST(outcome.status == 0, outcome.err);
    BOOST_TEST(Stacks(folder, "x.umtrace").codes() == 0u);
    BOOST_TEST(dump(folder, "x.umtrace", "Interpreter").empty());
    for (const Json& wait : dump(folder, "x.umtrace", "Sync"))
        BOOST_TEST(wait.at("stack") != 0);
}

BOOST_DATA_TEST_CASE(a_thread_that_python_does_not_know_has_no_frames, data::make(pythons()), python) {
    const Folder folder;
    check_unnoticed(folder, python, "ends.py without_state");
    const Stacks stacks(folder, "x.umtrace");
    const auto waits = dump(folder, "x.umtrace", "Sync");
    BOOST_TEST_REQUIRE(waits.size() == 2u);
    BOOST_TEST(waits[0].at("thread") != waits[1].at("thread"));
    BOOST_TEST(stacks.python(waits[0].at("stack")).size() == 2u);
    BOOST_TEST(stacks.python(waits[1].at("stack")).empty());
}

BOOST_DATA_TEST_CASE(ends_of_all_kinds_are_not_noticed,
                     data::make(pythons()) * data::make({"daemons", "threads", "exit_handlers", "destructors",
                                                         "subinterpreters", "forks", "abrupt"}),
                     python, mode) {
    const Folder folder;
    check_unnoticed(folder, python, std::string("ends.py ") + mode);
    BOOST_TEST(Stacks(folder, "x.umtrace").codes() > 0u);
}

/// A hang would be the test's time limit.
BOOST_DATA_TEST_CASE(threaded_programs_start_and_end_over_and_over, data::make(pythons()), python) {
    const Folder folder;
    const char* const wanted = std::getenv("UMADVISOR_PYTHON_STARTS");
    const std::string starts = wanted != nullptr && *wanted != '\0' ? wanted : "20";
    const std::string each = watched(python, "ends.py", "UMADVISOR_FORCE=1 UMADVISOR_QUIET=1");
    const Outcome outcome =
        run_sim(folder, "for i in $(seq " + starts + "); do for mode in threads daemons; do " + each +
                            " $mode || exit 1; done; done");
    BOOST_TEST(outcome.status == 0, outcome.err);
    BOOST_TEST(lines(outcome.out) == 2 * std::stoul(starts));
}
