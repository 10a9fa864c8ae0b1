/// Python inside a C++ program under the shim: its frames are in the trace as in those of a Python of its own.
/// Left out, and said to be, where no interpreter of python_interpreters() is a shared library.
#include "python_stacks.hpp"

#include <iostream>

BOOST_AUTO_TEST_SUITE(process_embedded_test)

using namespace umadvisor::test;

namespace {

struct Library {
    std::string path, home;
};

/// Those of the interpreters that can be embedded.
std::vector<Library> python_libraries() {
    constexpr const char* question = "import os, sys, sysconfig; get = sysconfig.get_config_var; "
                                     "name = get(\"INSTSONAME\") or \"\"; "
                                     "paths = [os.path.join(get(\"LIBDIR\") or \"\", folder, name) "
                                     "for folder in (\"\", get(\"MULTIARCH\") or \"\")]; "
                                     "print(next((path for path in paths if \".so\" in name and "
                                     "os.path.isfile(path)), \"\")); print(sys.base_prefix)";
    const Folder folder;
    std::vector<Library> libraries;
    for (const std::string& python : python_interpreters()) {
        std::istringstream answer(run(folder, python + " -c '" + question + "'").out);
        Library library;
        if (std::getline(answer, library.path) && std::getline(answer, library.home) && !library.path.empty())
            libraries.push_back(library);
    }
    if (libraries.empty())
        std::cout << "no libpython: these Pythons have no shared library\n"; // CMakeLists.txt knows this text
    return libraries;
}

Outcome watch(const Folder& folder, const Library& library, const std::string& mode,
              const std::string& script) {
    return run_sim(folder, "PYTHONDONTWRITEBYTECODE=1 PYTHONHOME='" + library.home +
                               "' UMADVISOR_OUTPUT=x.umtrace LD_PRELOAD=" + shim + " " + programs +
                               "/embeds_python " + library.path + " " + mode + " " + scripts + script);
}

/// Without the program's own last line. The status is that of the interpreter's end, too.
std::string printed_by_script(const Outcome& outcome) {
    BOOST_TEST(outcome.status == 0, outcome.err);
    BOOST_TEST_REQUIRE(outcome.out.ends_with("python ended: 0\n"), outcome.out);
    return outcome.out.substr(0, outcome.out.rfind("python ended"));
}

} // namespace

/// By ctypes, whose modules want to find the interpreter in the global scope.
BOOST_AUTO_TEST_CASE(python_code_that_calls_the_driver) {
    for (const Library& library : python_libraries()) {
        BOOST_TEST_CONTEXT(library.path) {
            const Folder folder;
            const Outcome outcome = watch(folder, library, "global", "frames.py");
            BOOST_TEST(check_frames(folder, printed_by_script(outcome)) > 60u);
        }
    }
}

BOOST_AUTO_TEST_CASE(python_code_that_calls_back_into_the_program) {
    for (const Library& library : python_libraries())
        for (const char* const mode : {"global", "local"}) {
            BOOST_TEST_CONTEXT(library.path << " " << mode) {
                const Folder folder;
                const Outcome outcome = watch(folder, library, mode, "embedded.py");
                BOOST_TEST(check_frames(folder, printed_by_script(outcome)) == 10u);
            }
        }
}

BOOST_AUTO_TEST_SUITE_END()
