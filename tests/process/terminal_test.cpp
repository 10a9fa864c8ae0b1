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

BOOST_AUTO_TEST_CASE(a_terminal_gets_its_output_through_the_pager_and_a_file_does_not) {
    BOOST_TEST_REQUIRE(record(folder, sim + "pageable_copies").status == 0);
    const std::string pager = "export TERM=xterm LESS= PAGER='sed s/^/page:/'; ";
    for (const std::string command :
         {" report --no-cache x.umtrace", " explain 101", " stats --no-cache x.umtrace"}) {
        const std::string seen = on_terminal(folder, pager + advisor + command);
        BOOST_TEST(seen.starts_with("page:"), seen);
        BOOST_TEST(lacks(on_terminal(folder, pager + "PAGER=cat " + advisor + command), "page:"));
        BOOST_TEST(lacks(run(folder, pager + advisor + command).out, "page:"));
    }
}

BOOST_AUTO_TEST_CASE(a_rule_is_explained_without_the_marks_of_markdown) {
    const std::string page = on_terminal(folder, "TERM=xterm " + advisor + " explain pageable-copy", 60);
    BOOST_TEST(says(page, "UMA-101 pageable-copy: "));
    BOOST_TEST(says(page, "Before"));
    for (const char* const mark : {"# UMA", "**", "`"})
        BOOST_TEST(lacks(page, mark), page);
    BOOST_TEST(says(run(folder, advisor + " explain pageable-copy").out, "**Before**"));
}

BOOST_AUTO_TEST_CASE(the_newest_trace_is_reported_where_none_is_named) {
    BOOST_TEST(run(folder, advisor + " report").status == 1);
    BOOST_TEST(says(run(folder, advisor + " report").err, "there is no trace (.umtrace) in this folder"));
    BOOST_TEST_REQUIRE(record(folder, sim + "pageable_copies").status == 0);
    BOOST_TEST_REQUIRE(run(folder, "cp x.umtrace old.umtrace && touch -d 2001-01-01 old.umtrace").status == 0);
    const Outcome newest = run(folder, advisor + " report --no-cache"),
                  named = run(folder, advisor + " report --no-cache x.umtrace");
    BOOST_TEST(newest.out == named.out);
    BOOST_TEST(says(newest.err, "x.umtrace"));
    BOOST_TEST(run(folder, advisor + " x.umtrace --no-cache").out == named.out);
}

BOOST_AUTO_TEST_CASE(the_page_opens_in_the_browser_that_is_named) {
    BOOST_TEST_REQUIRE(record(folder, sim + "pageable_copies").status == 0);
    BOOST_TEST_REQUIRE(
        run(folder, "printf '#!/bin/sh\\necho \"$1\" > opened\\n' > show && chmod +x show").status == 0);
    const Outcome opened = run(folder, "BROWSER=./show " + advisor + " report --open --no-cache x.umtrace");
    BOOST_TEST(opened.status == 0, opened.err);
    BOOST_TEST(run(folder, "for i in $(seq 100); do [ -s opened ] && break; sleep 0.1; done; cat opened").out ==
               "x.html\n");
    BOOST_TEST(says(run(folder, "head -c 15 x.html").out, "<!doctype html>"));
    BOOST_TEST(run(folder, "BROWSER=./show " + advisor + " report --open --no-cache x.umtrace").status ==
               1); // -f replaces it
}

BOOST_AUTO_TEST_SUITE_END()
