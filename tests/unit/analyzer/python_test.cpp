/// Lines of Python code, as the interpreter itself reads them.
#include "analyzer/reader/trace.hpp"
#include "analyzer/symbols/merged_stack.hpp"
#include "analyzer/symbols/python_lines.hpp"
#include "analyzer/symbols/python_stack.hpp"
#include "tests/python_interpreters.hpp"
#include "trace_builder.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>

BOOST_AUTO_TEST_SUITE(analyzer_python)

using namespace umadvisor;
using namespace umadvisor::test;

namespace {

/// UMADVISOR_TEST_LONG: the whole standard library.
std::string output_of(const std::string& python) {
    const std::string command =
        python + " " UMADVISOR_PYTHON_LINES + (std::getenv("UMADVISOR_TEST_LONG") ? "" : " 20");
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    std::string output;
    char buffer[65536];
    for (std::size_t got = 0; (got = fread(buffer, 1, sizeof buffer, pipe.get())) != 0;)
        output.append(buffer, got);
    return output;
}

std::string from_hexadecimal(const std::string& text) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
    return bytes;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_instruction_has_the_line_that_python_says) {
    for (const std::string& python : python_interpreters()) {
        std::istringstream lines(output_of(python));
        std::size_t codes = 0, instructions = 0, differ = 0;
        for (std::string line; std::getline(lines, line); ++codes) {
            std::istringstream fields(line);
            int format = 0, first_line = 0, length = 0, expected = 0;
            std::string table;
            fields >> format >> first_line >> table;
            table = from_hexadecimal(table);
            const auto ranges =
                symbols::read_line_table(static_cast<trace::LineTable>(format), table, first_line);
            for (std::uint64_t offset = 0; fields >> length >> expected;)
                for (; length > 0; --length, offset += 2, ++instructions)
                    differ += symbols::line_at(ranges, offset) != expected;
        }
        BOOST_TEST(differ == 0u, python << ": " << differ << " of " << instructions);
        BOOST_TEST(codes > 100u, python);
        BOOST_TEST(instructions > 10'000u, python);
    }
}

BOOST_AUTO_TEST_CASE(tables_that_end_early_have_no_line_there) {
    using trace::LineTable;
    const auto line_of = [](LineTable format, std::string_view table, std::uint64_t offset) {
        return symbols::line_at(symbols::read_line_table(format, table, 7), offset);
    };
    for (const LineTable format : {LineTable::none, LineTable::ranges, LineTable::locations}) {
        BOOST_TEST(line_of(format, "", 0) == 0);
        BOOST_TEST(line_of(format, "\xf0", 1 << 20) == 0); // an entry cut in the middle
    }
    BOOST_TEST(line_of(LineTable::increments, "", 100) == 7);
    BOOST_TEST(line_of(static_cast<LineTable>(200), "abc", 0) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_stack_is_read_from_its_definitions, TraceBuilder) {
    // A table in two parts, of ranges of two bytes, each a line further on.
    std::string table;
    for (int i = 0; i < 300; ++i)
        table += "\x02\x01";
    trace::PythonCode code{.id = 5,
                           .first_line = 10,
                           .format = trace::LineTable::ranges,
                           .file = "/home/user/train.py",
                           .function = "Trainer.step",
                           .lines = std::string_view(table).substr(0, 200)};
    trace::PythonLines more{.code = 5, .offset = 200, .lines = std::string_view(table).substr(200)};
    python_frame(2, 1, 5, 500).python_frame(1, 0, 5, 2, true);
    add(more, 1);
    add(code, 1);
    const reader::Trace trace(written("python"));
    symbols::PythonLines lines(trace.dictionary);
    const auto places = symbols::python_stack(trace.dictionary, lines, 2);
    BOOST_TEST_REQUIRE(places.size() == 2u);
    BOOST_TEST(places[0].file == "/home/user/train.py");
    BOOST_TEST(places[0].function == "Trainer.step");
    BOOST_TEST(places[0].line == 261);
    BOOST_TEST(!places[0].entered);
    BOOST_TEST(places[1].line == 12);
    BOOST_TEST(places[1].entered);
    BOOST_TEST(symbols::python_stack(trace.dictionary, lines, 77).empty());
}

BOOST_FIXTURE_TEST_CASE(a_loop_of_frames_ends, TraceBuilder) {
    python_frame(3, 3, 0);
    const reader::Trace trace(written("python_loop"));
    symbols::PythonLines lines(trace.dictionary);
    BOOST_TEST(symbols::python_stack(trace.dictionary, lines, 3).size() < 2000u);
}

/// A program, `main`, calls Python, which calls a library, which calls Python back, which calls CUDA.
BOOST_FIXTURE_TEST_CASE(python_frames_stand_where_the_interpreter_ran_them, TraceBuilder) {
    add(trace::Interpreter{.module = 1});
    const std::uint64_t evaluation = 1, library = 2;
    std::uint64_t stack = 0;
    for (const std::uint64_t module : {library, evaluation, library, evaluation, library}) {
        frame(stack + 1, stack, 0x1000 * (stack + 1), module);
        ++stack;
    }
    for (const std::uint64_t id : {1, 2, 3}) {
        python_frame(id, id - 1, id, 0, id != 3); // that was called by the frame before it, not from C
        python_code(id, "", id == 1 ? "outer" : id == 2 ? "callback" : "inner");
    }
    frame(6, stack, 0, 0, 3);
    const reader::Trace trace(written("merged"));
    std::string order;
    symbols::PythonLines lines(trace.dictionary);
    symbols::for_each_frame(
        trace.dictionary, lines, ids::StackId(6),
        [](std::uint64_t) { return symbols::InterpreterFrame::evaluation; },
        [&order](std::uint64_t native, const symbols::PythonPlace* python) {
            order += (python != nullptr ? std::string(python->function) : std::to_string(native)) + " ";
            return true;
        });
    BOOST_TEST(order == "5 inner callback 3 outer 1 ");
}

BOOST_AUTO_TEST_SUITE_END()
