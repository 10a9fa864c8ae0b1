/// While symbols are looked up a terminal is told so, in a line that is gone afterwards; a file never is.
#include "process.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <pty.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(process_progress_test)

using namespace umadvisor::test;

namespace {

const std::string slow = "LD_PRELOAD=" + programs + "/plugins/libslow_symbols.so ";

/// Runs a shell command line with a terminal as stderr, and answers what was written there.
std::string on_terminal(const Folder& folder, const std::string& command) {
    int terminal = -1;
    const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", ("cd '" + folder.path.string() + "' && " + command + " >out").c_str(),
              static_cast<char*>(nullptr));
        _exit(127);
    }
    BOOST_TEST_REQUIRE(child > 0);
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(terminal, buffer, sizeof buffer)) > 0;) // EIO: the other end is closed
        text.append(buffer, static_cast<std::size_t>(got));
    int status = -1;
    waitpid(child, &status, 0);
    close(terminal);
    BOOST_TEST(status == 0, text);
    return text;
}

} // namespace

BOOST_DATA_TEST_CASE(a_terminal_sees_how_far_the_symbols_are,
                     boost::unit_test::data::make({"report", "report --json", "flame", "tree"}), command) {
    const Folder folder;
    BOOST_TEST_REQUIRE(
        run_sim(folder, advisor + " run -q -o x.umtrace -- " + examples + "/sim/pageable_copies").status == 0);
    const std::string options = " --no-cache x.umtrace";
    const std::string seen = on_terminal(folder, slow + advisor + " " + command + options);
    BOOST_TEST(seen.find("\r\033[Kumadvisor: looking up symbols: 1 frame, ") == 0u, seen);
    BOOST_TEST(seen.ends_with("\r\033[K"), seen);
    const Outcome outcome = run(folder, slow + advisor + " " + command + options);
    BOOST_TEST(outcome.err == "");
    BOOST_TEST(outcome.out == read(folder / "out"));
    BOOST_TEST(!outcome.out.empty());
}

BOOST_AUTO_TEST_SUITE_END()
