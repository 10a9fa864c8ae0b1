/// Text on terminals: nothing is lost, it is set in the terminal's width, and where it is none nothing changes.
#include "analyzer/text/columns.hpp"
#include "analyzer/text/table.hpp"
#include "analyzer/text/terminal_text.hpp"
#include "command_run.hpp"
#include "scenario.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(analyzer_terminal)

using namespace umadvisor;
using namespace umadvisor::test;
using text::Style;
using text::Styled;
using text::wrapped;

namespace {

/// Of the environment, for one test.
struct Variable {
    Variable(const char* name, const char* value) : name_(name) {
        if (const char* const before = std::getenv(name))
            before_ = before;
        ::setenv(name, value, 1);
    }
    ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

private:
    const char* name_;
    std::optional<std::string> before_;
};

std::string without_escapes(const std::string& text) {
    return std::regex_replace(text, std::regex("\033\\[[0-9]*m"), "");
}

std::string words(const std::string& text) {
    return std::regex_replace(text, std::regex("\\s+"), " ");
}

/// Words that are wider stand alone.
void check_width(const std::string& text, std::size_t width) {
    std::istringstream lines(without_escapes(text));
    for (std::string line; std::getline(lines, line);)
        BOOST_TEST((text::columns(line) <= width || words(line).find(' ', 1) == std::string::npos), line);
}

std::string trace_of_pageable_copies() {
    Scenario s;
    s.copy_often(256 * mib, 25 * ms, {.stack = s.stack()});
    s.copy_often(256 * mib, 25 * ms, {.stack = s.stack(), .asynchronous = true});
    return s.path();
}

} // namespace

BOOST_AUTO_TEST_CASE(lines_are_wrapped_with_a_hanging_indent) {
    BOOST_TEST(wrapped("one two three\n", 13) == "one two three\n");
    BOOST_TEST(wrapped("one two three\n\nx", 12) == "one two\n    three\n\nx");
    BOOST_TEST(wrapped("    do: one two three four", 20) == "    do: one two\n      three four");
    BOOST_TEST(wrapped("a longerthanthewidth b", 10) == "a\n    longerthanthewidth\n    b");
    BOOST_TEST(wrapped("ä ö ü ß ·", 9) == "ä ö ü ß ·");
    BOOST_TEST(wrapped("one two three", 1) == "one\ntwo\nthree");
    BOOST_TEST(wrapped("", 10) == "");
}

BOOST_AUTO_TEST_CASE(what_a_terminal_would_obey_is_shown) {
    const auto printed = [](bool colour) {
        text::TerminalText text({.colour = colour});
        text.stream() << Styled{Style::title, "a\033[2Jb"} << "\tc\x7f\r\n\001"
                      << "1d";
        std::ostringstream out;
        text.print(out);
        return out.str();
    };
    BOOST_TEST(printed(false) == "a?[2Jb\tc?\n?1d");
    BOOST_TEST(printed(true) == "\033[1ma?[2Jb\033[0m\tc?\n\033[1md"); // a style is all that it can ask for
}

BOOST_AUTO_TEST_CASE(a_line_is_broken_before_what_stands_apart) {
    BOOST_TEST(wrapped("    upload.cu:41 in upload()   cudaMemcpy of 4 MiB", 40) ==
               "    upload.cu:41 in upload()\n      cudaMemcpy of 4 MiB");
    // What leads the line is no part of it by itself.
    BOOST_TEST(wrapped("        22 |   copy(from, to, size)", 28) ==
               "        22 |   copy(from,\n          to, size)");
    BOOST_TEST(wrapped("    over 10 ms: [hh   DD   hh]  h host", 29) ==
               "    over 10 ms:\n      [hh   DD   hh]  h host");
}

BOOST_AUTO_TEST_CASE(colours_take_no_column) {
    text::TerminalText text({.width = 12, .colour = true});
    text.stream() << Styled{Style::title, "one two"} << " " << Styled{Style::saving, "three"} << "\n";
    std::ostringstream out;
    text.print(out);
    BOOST_TEST(out.str() == "\033[1mone two\033[0m\n    \033[36mthree\033[0m\n");
    const std::string once = out.str();
    text.print(out);
    BOOST_TEST(out.str() == once);
}

BOOST_AUTO_TEST_CASE(a_stream_without_colour_has_none) {
    std::ostringstream plain;
    plain << Styled{Style::title, "one"};
    BOOST_TEST(plain.str() == "one");
    text::TerminalText text({.width = 80});
    text.stream() << Styled{Style::title, "one"};
    text.print(plain);
    BOOST_TEST(plain.str() == "oneone");
}

BOOST_AUTO_TEST_CASE(a_report_fits_its_terminal) {
    const std::string path = trace_of_pageable_copies(), plain = run({"report", "--all", path}).out;
    const Variable columns("COLUMNS", "60");
    const std::string shown = run({"report", "--all", "--color", "always", path}).out;
    check_width(shown, 60);
    BOOST_TEST(contains(shown, "\n 1  \033[1mUMA-10"));
    BOOST_TEST(contains(shown, "\033[0m\n    saves about \033[36m"));
    BOOST_TEST(contains(shown, "· confidence \033[32mhigh\033[0m\n"));
    BOOST_TEST(words(without_escapes(shown)) == words(plain));
    BOOST_TEST(run({"report", "--all", path}).out == plain);
    BOOST_TEST(run({"report", "--all", "--color", "auto", path}).out == plain);
    BOOST_TEST(run({"report", "--all", "--color", "never", path}).out == plain);
}

BOOST_AUTO_TEST_CASE(other_formats_are_for_no_terminal) {
    const std::string path = trace_of_pageable_copies();
    const Variable columns("COLUMNS", "60");
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"report", "--json"},
                                               {"report", "--markdown"},
                                               {"report", "--sarif"},
                                               {"stats", "--format", "csv"}}) {
        std::vector<std::string> plain = command, coloured = command;
        plain.push_back(path);
        coloured.insert(coloured.end(), {"--color", "always", path});
        BOOST_TEST(run(coloured).out == run(plain).out);
    }
}

BOOST_AUTO_TEST_CASE(differences_and_trees_fit_their_terminal) {
    const std::string path = trace_of_pageable_copies();
    Scenario empty;
    const std::string nothing = temporary_path("nothing");
    empty.builder.write(nothing);
    const std::string plain = run({"diff", nothing, path}).out, tree = run({"tree", path}).out;
    const Variable columns("COLUMNS", "40");
    const std::string difference = run({"diff", "--color", "always", nothing, path}).out;
    check_width(difference, 40);
    BOOST_TEST(contains(difference, "  + \033[1mUMA-10"));
    BOOST_TEST(words(without_escapes(difference)) == words(plain));
    const std::string branches = run({"tree", "--color", "always", path}).out;
    check_width(branches, 40);
    BOOST_TEST(contains(branches, "\033[1mprogram: time (dev"));
    BOOST_TEST(without_escapes(run({"tree", "--color", "always", "--width", "0", path}).out) == tree);
}

BOOST_AUTO_TEST_CASE(tables_leave_out_numbers_for_want_of_width) {
    const std::string path = trace_of_pageable_copies(), plain = run({"stats", path}).out;
    const Variable columns("COLUMNS", "60");
    const std::string shown = run({"stats", "--color", "always", path}).out;
    check_width(shown, 60);
    BOOST_TEST(contains(shown, "\033[1mCalls of the CUDA API\033[0m\n"));
    BOOST_TEST(contains(shown, "  Time (%)  Total Time (ns)  Num Calls  Name\n"));
    BOOST_TEST(contains(shown, "  omitted for lack of width: "));
    BOOST_TEST(run({"stats", path}).out == plain);
    BOOST_TEST(lacks(plain, "left out"));
}

BOOST_AUTO_TEST_CASE(what_a_row_is_of_is_cut_last) {
    const text::Table table{"t",
                            "Title",
                            {{"a", "Share"}, {"b", "Bytes"}, {"c", "Name"}},
                            {{1.0, std::uint64_t{12345}, std::string(40, 'n')}}};
    const auto text = [&table](std::size_t width) {
        std::ostringstream out;
        write_text(table, out, width);
        return out.str();
    };
    const auto row = [](const char* numbers, std::size_t name) {
        return numbers + std::string(name - 1, 'n') + "…\n";
    };
    BOOST_TEST(text(57) == text(0));
    BOOST_TEST(text(56).ends_with(row("      1  12,345  ", 39)), text(56));
    BOOST_TEST(text(41).ends_with(row("      1  12,345  ", 24)), text(41));
    BOOST_TEST(text(40).ends_with(row("      1  ", 31) + "  omitted for lack of width: Bytes\n"), text(40));
}

BOOST_AUTO_TEST_CASE(colour_is_asked_for_by_three_words) {
    const std::string path = trace_of_pageable_copies();
    for (const char* const command : {"report", "stats", "tree"})
        check_one_line(run({command, "--color", "blue", path}), 2,
                       "--color takes auto, always or never, not blue");
    check_one_line(run({"diff", "--color", "blue", path, path}), 2,
                   "--color takes auto, always or never, not blue");
    const Variable columns("COLUMNS", "wide"); // no number: as if it were not set
    BOOST_TEST(without_escapes(run({"report", "--color", "always", path}).out) == run({"report", path}).out);
}

BOOST_AUTO_TEST_SUITE_END()
