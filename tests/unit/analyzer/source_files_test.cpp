/// Which files a report quotes: a trace may name any.
#include "analyzer/symbols/source_files.hpp"
#include "command_run.hpp"
#include "scenario.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(analyzer_source_files)

using namespace umadvisor;
using namespace umadvisor::test;
using symbols::SourceFiles;
namespace fs = std::filesystem;

namespace {

std::string file_called(const std::string& name, const std::string& text) {
    const std::string path = temporary_path(name);
    fs::remove_all(path);
    std::ofstream(path, std::ios::binary) << text;
    return path;
}

std::string line_of(const std::string& path, int number, const symbols::SourceRule& rule = {}) {
    return SourceFiles(symbols::Options{.source = rule}).line(path, number);
}

std::int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

/// A program that copies pageable memory from the second line of a Python file, and ended then.
std::string trace_of(const std::string& source, std::int64_t ended_ns) {
    Scenario s;
    s.builder.realtime_ns =
        static_cast<std::uint64_t>(ended_ns) - (s.builder.last.ticks - s.builder.first.ticks);
    trace::PythonCode code{
        .id = 1, .first_line = 2, .format = trace::LineTable::increments, .file = source, .function = "upload"};
    s.builder.add(code);
    s.builder.python_frame(1, 0, 1).frame(77, 0, 0, 0, 1);
    s.copy_often(256 * mib, 25 * ms, {.stack = 77});
    return s.path();
}

} // namespace

BOOST_AUTO_TEST_CASE(lines_of_a_source) {
    const std::string path = file_called("lines.cu", "first\n\t  second();\x1b[2J\n\nlast");
    BOOST_TEST(line_of(path, 1) == "first");
    BOOST_TEST(line_of(path, 2) == "second(); [2J");
    BOOST_TEST(line_of(path, 3) == "");
    BOOST_TEST(line_of(path, 4) == "last");
    BOOST_TEST(line_of(path, 5) == "");
    BOOST_TEST(line_of(path, 0) == "");
    BOOST_TEST(line_of("", 1) == "");
    BOOST_TEST(line_of(file_called("long.py", std::string(5'000, 'x')), 1).size() == 200u);
}

BOOST_AUTO_TEST_CASE(a_file_without_the_suffix_of_a_source_is_not_quoted) {
    for (const char* name : {"shadow", "id_rsa", "notes.txt", ".py", "key.pem"})
        BOOST_TEST(line_of(file_called(name, "secret\n"), 1) == "", name);
    // Nor one that a link with such a suffix leads to.
    const std::string secret = file_called("secret", "secret\n"), link = temporary_path("link.py");
    fs::remove(link);
    fs::create_symlink(secret, link);
    BOOST_TEST(line_of(link, 1) == "");
    const std::string source = file_called("source.py", "public\n");
    fs::remove(link);
    fs::create_symlink(source, link);
    BOOST_TEST(line_of(link, 1) == "public");
}

BOOST_AUTO_TEST_CASE(what_is_no_file_is_not_opened_for_long) {
    const std::string fifo = temporary_path("fifo.py"), folder = temporary_path("folder.py");
    fs::remove(fifo);
    BOOST_REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    BOOST_TEST(line_of(fifo, 1) == "");
    fs::create_directories(folder);
    BOOST_TEST(line_of(folder, 1) == "");
    const std::string device = temporary_path("zero.py");
    fs::remove(device);
    fs::create_symlink("/dev/zero", device);
    BOOST_TEST(line_of(device, 1) == "");
}

BOOST_AUTO_TEST_CASE(a_file_too_large_for_a_source_is_not_read) {
    const std::string path = file_called("large.py", "first\n");
    fs::resize_file(path, 16 << 20);
    BOOST_TEST(line_of(path, 1) == "first");
    fs::resize_file(path, (16 << 20) + 1);
    BOOST_TEST(line_of(path, 1) == "");
}

BOOST_AUTO_TEST_CASE(a_file_is_read_once) {
    const std::string path = file_called("once.py", "first\nsecond\n");
    SourceFiles files{symbols::Options()};
    BOOST_TEST(files.line(path, 1) == "first");
    fs::remove(path);
    BOOST_TEST(files.line(path, 2) == "second");
    BOOST_TEST(files.notes().empty());
}

BOOST_AUTO_TEST_CASE(a_source_that_changed_after_the_run_is_not_quoted) {
    const std::string path = file_called("changed.py", "first\n"), other = file_called("other.py", "first\n");
    const std::int64_t hour = 3'600'000'000'000;
    BOOST_TEST(line_of(path, 1, {.run_ended_ns = now_ns() + hour}) == "first");
    symbols::Options options;
    options.source.run_ended_ns = now_ns() - hour;
    SourceFiles files(options);
    BOOST_TEST(files.notes().empty());
    BOOST_TEST(files.line(path, 1) == "");
    BOOST_TEST(files.line(other, 1) == "");
    BOOST_TEST(files.line("/nowhere/third.py", 1) == "");
    BOOST_REQUIRE(files.notes().size() == 1u);
    BOOST_TEST(contains(files.notes()[0], "and 1 more"));
}

BOOST_AUTO_TEST_CASE(reports_quote_what_ran) {
    const std::string source = file_called("ran.py", "import torch\nx.cuda()\n");
    const std::string before = trace_of(source, now_ns() + 1'000'000'000);
    for (const char* format : {"--all", "--json", "--markdown"})
        BOOST_TEST(run({"report", format, before}).out.find("x.cuda()") != std::string::npos, format);
    const std::string after = trace_of(source, now_ns() - 1'000'000'000);
    for (const char* format : {"--all", "--json", "--markdown"}) {
        const std::string out = run({"report", format, after}).out;
        BOOST_TEST(lacks(out, "x.cuda()"));
        BOOST_TEST(contains(out, "the source changed after the run"));
    }
}

BOOST_AUTO_TEST_CASE(a_trace_of_another_user_is_quoted_on_request,
                     *boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
                         return ::geteuid() == 0; // may give files away
                     })) {
    const std::string source = file_called("theirs.py", "import torch\nx.cuda()\n");
    const std::string trace = trace_of(source, now_ns() + 1'000'000'000);
    constexpr uid_t nobody = 65534;
    BOOST_REQUIRE(::chown(trace.c_str(), nobody, nobody) == 0);
    const std::string withheld = run({"report", trace}).out;
    BOOST_TEST(lacks(withheld, "x.cuda()"));
    BOOST_TEST(contains(withheld, "--source"));
    const std::string shown = run({"report", "--source", trace}).out;
    BOOST_TEST(contains(shown, "x.cuda()"));
    BOOST_TEST(lacks(shown, "--source"));
}

BOOST_AUTO_TEST_SUITE_END()
