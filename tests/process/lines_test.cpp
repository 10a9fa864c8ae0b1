/// Golden lines: what a report names is what the comments in the programs' sources say.
#include "unnoticed.hpp"

BOOST_FIXTURE_TEST_SUITE(process_lines_test, umadvisor::test::InFolder)

using namespace umadvisor::test;

namespace {

const std::string folder_of_sources = std::string(UMADVISOR_SOURCE) + "/tests/process/programs/";

/// Number of the line that ends with "// line: `marker`".
int line_of(const std::string& source, const std::string& marker) {
    std::istringstream text(read(folder_of_sources + source));
    std::string line;
    for (int number = 1; std::getline(text, line); ++number)
        if (line.ends_with("// line: " + marker))
            return number;
    throw std::runtime_error("no line '" + marker + "' in " + source);
}

/// As a stack shows it.
std::string place(const std::string& source, const std::string& marker, const std::string& function) {
    return source + ":" + std::to_string(line_of(source, marker)) + " in " + function + "()";
}

struct Program {
    const Folder folder;

    /// Runs bare and under the shim, and copies in these libraries too.
    explicit Program(const std::vector<std::string>& libraries = {}) {
        std::string program = "lines_program";
        for (const std::string& library : libraries)
            program += " '" + library + "'";
        BOOST_TEST_REQUIRE(check_unnoticed(folder, program).status == 0);
    }

    Json findings(const std::string& options = "") const {
        const Outcome outcome = run(folder, advisor + " report --json --no-cache " + options + " x.umtrace");
        BOOST_TEST_REQUIRE(outcome.status == 0, outcome.err);
        return Json::parse(outcome.out).at("findings");
    }
};

/// The finding in a module at a line that saves most: one of each rule at most.
Json finding(const Json& findings, const std::string& module, const std::string& source,
             const std::string& marker) {
    Json found;
    for (const Json& each : findings) {
        const Json& line = each.at("line");
        if (line.at("module").get<std::string>().ends_with(module) &&
            line.at("file").get<std::string>().ends_with("/" + source) &&
            line.at("line") == line_of(source, marker)) {
            if (found.is_null())
                found = each;
            else
                BOOST_TEST(found.at("rule") != each.at("rule"));
        }
    }
    BOOST_TEST_REQUIRE(!found.is_null(),
                       "nothing at '" << marker << "' of " << module << ": " << findings.dump());
    return found;
}

/// Its innermost frames.
void check_stack(const Json& finding, const std::vector<std::string>& frames) {
    const Json& stack = finding.at("stack");
    BOOST_TEST_REQUIRE(stack.size() >= frames.size(), stack.dump());
    for (std::size_t i = 0; i < frames.size(); ++i)
        BOOST_TEST(stack[i] == frames[i]);
}

const std::string in_library = place("lines_library.cpp", "library", "copy_in_library"),
                  calls_library = place("lines_program.cpp", "calls library", "call_library");

} // namespace

BOOST_AUTO_TEST_CASE(inlined_helpers) {
    const Json found = finding(Program().findings(), "lines_program", "lines_program.cpp", "inlined");
    check_stack(found, {place("lines_program.cpp", "inlined", "upload"),
                        place("lines_program.cpp", "inlines", "upload_twice"),
                        place("lines_program.cpp", "calls helpers", "copy_by_helpers")});
}

BOOST_AUTO_TEST_CASE(an_optimised_program) {
    const Json found = finding(Program().findings(), "lines_program", "lines_program.cpp", "program");
    check_stack(found, {place("lines_program.cpp", "program", "copy_in_program"),
                        place("lines_program.cpp", "main", "main")});
}

BOOST_AUTO_TEST_CASE(a_library_without_frame_pointers_that_is_gone_by_then) {
    const Program program({programs + "/plugins/liblines_kept.so", programs + "/plugins/liblines_omitted.so"});
    const Json findings = program.findings();
    for (const char* const library : {"liblines_kept.so", "liblines_omitted.so"})
        check_stack(finding(findings, library, "lines_library.cpp", "library"), {in_library, calls_library});
}

BOOST_AUTO_TEST_CASE(calls_that_fail_come_first_with_their_lines) {
    BOOST_TEST_REQUIRE(check_unnoticed(folder, "unheeded", "SIMCUDA_CONFIG=capacity=128M").status == 0);
    const Json findings = report(folder).at("findings");
    BOOST_TEST_REQUIRE(findings.size() >= 2u, findings.dump());
    const auto is_at = [](const Json& line, const char* marker) {
        BOOST_TEST(line.at("line") == line_of("unheeded.cpp", marker));
        BOOST_TEST(line.at("file").get<std::string>().ends_with("/unheeded.cpp"));
    };
    for (std::size_t i = 0; i < 2; ++i) {
        BOOST_TEST(findings[i].at("name") == "calls-fail");
        is_at(findings[i].at("line"), i == 0 ? "x" : "missing");
    }
    check_stack(findings[0], {place("unheeded.cpp", "x", "upload")});
    BOOST_TEST(findings[0].at("summary") == "3 calls of cuMemcpyHtoD from a null pointer fail, at 3 lines: an "
                                            "invalid value (CUDA_ERROR_INVALID_VALUE)");
    BOOST_TEST_REQUIRE(findings[0].at("places").size() == 2u, findings[0].dump());
    is_at(findings[0].at("places")[0].at("line"), "y");
    is_at(findings[0].at("places")[1].at("line"), "z");

    const Json& held = findings[1].at("places");
    BOOST_TEST_REQUIRE(held.size() == 2u, held.dump());
    BOOST_TEST(held[0].at("text") == "held 56 MiB then: cuMemAlloc, 4 allocations");
    BOOST_TEST(held[0].at("line").at("line") == line_of("unheeded.cpp", "allocate"));
    BOOST_TEST(held[1].at("text") == "held 12 MiB then: cuMemAllocManaged, managed, 1 allocation");
    BOOST_TEST(held[1].at("line").at("line") == line_of("unheeded.cpp", "managed"));
    BOOST_TEST(findings[1].at("details")[0] == "the program held 68 MiB then, 12 MiB of it managed, which may "
                                               "be on the host; the device has 128 MiB");
}

/// Its lines stand in a file of their own, found by the build-id.
BOOST_AUTO_TEST_CASE(a_stripped_library) {
    const std::string library = folder / "libstripped.so";
    fs::copy_file(programs + "/plugins/liblines_omitted.so", library);
    const std::string build_id =
        run(folder, "readelf -n libstripped.so | sed -n 's/.*Build ID: //p' | tr -d '\\n'").out;
    BOOST_TEST_REQUIRE(build_id.size() == 40u, build_id);
    const Outcome stripped =
        run(folder, "d=debug/.build-id/" + build_id.substr(0, 2) + "; mkdir -p $d; objcopy --only-keep-debug " +
                        "libstripped.so $d/" + build_id.substr(2) + ".debug && strip libstripped.so");
    BOOST_TEST_REQUIRE(stripped.status == 0, stripped.err);
    const Program program({library});
    bool seen = false;
    for (const Json& each : program.findings())
        if (const Json& line = each.at("line"); line.at("module") == library) {
            seen = true;
            BOOST_TEST(line.at("file") == "");
        }
    BOOST_TEST(seen);
    check_stack(finding(program.findings("--debug-dir '" + (folder / "debug") + "'"), "libstripped.so",
                        "lines_library.cpp", "library"),
                {in_library, calls_library});
}

BOOST_AUTO_TEST_SUITE_END()
