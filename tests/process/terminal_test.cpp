/// What a report looks like on a terminal, and where there is none.
#include "terminal.hpp"

BOOST_FIXTURE_TEST_SUITE(process_terminal_test, umadvisor::test::InFolder)

using namespace umadvisor::test;

namespace {

constexpr const char* bold = "\033[1m";

std::size_t longest_line(const std::string& text) {
    std::istringstream lines(text);
    std::size_t longest = 0;
    for (std::string line; std::getline(lines, line);)
        longest = std::max(longest, line.size());
    return longest;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_terminal_gets_its_width_and_colours_a_file_neither) {
    BOOST_TEST_REQUIRE(record(folder, sim + "pageable_copies").status == 0);
    const std::string report = advisor + " report --no-cache x.umtrace",
                      xterm = "unset COLUMNS NO_COLOR; TERM=xterm ";
    const std::string seen = on_terminal(folder, xterm + report, 100);
    BOOST_TEST(says(seen, bold));
    BOOST_TEST(longest_line(seen) < 140u, seen); // with the bytes of its colours
    const Outcome file = run(folder, "export TERM=xterm COLUMNS=100; " + report);
    BOOST_TEST(lacks(file.out, "\033"));
    BOOST_TEST(longest_line(file.out) > 140u, file.out);

    // On a terminal that shows no colours, or for somebody who wants none, the width alone.
    for (const char* const environment :
         {"unset COLUMNS NO_COLOR; TERM=dumb ", "unset COLUMNS; TERM=xterm NO_COLOR=1 "}) {
        const std::string plain = on_terminal(folder, environment + report, 100);
        BOOST_TEST(lacks(plain, "\033"));
        BOOST_TEST(longest_line(plain) <= 110u, plain); // \r, and · in two bytes
    }
    BOOST_TEST(lacks(on_terminal(folder, xterm + report + " --color never"), "\033"));
    BOOST_TEST(says(on_terminal(folder, xterm + "NO_COLOR=1 " + report + " --color always"), bold));
    const std::string wide = on_terminal(folder, xterm + "COLUMNS=1000 " + report, 100);
    BOOST_TEST(longest_line(wide) > 140u, wide);
}

BOOST_AUTO_TEST_SUITE_END()
