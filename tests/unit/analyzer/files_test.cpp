/// Files that commands are given and files that they write: devices, FIFOs, links, full disks.
#include "analyzer/cli/output_file.hpp"
#include "analyzer/files/short_lived.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reader/whole_file.hpp"
#include "command_run.hpp"
#include "scenario.hpp"

#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(analyzer_files)

using namespace umadvisor;
using namespace umadvisor::test;
namespace fs = std::filesystem;

namespace {

std::string fifo() {
    const std::string path = temporary_path("fifo");
    ::mkfifo(path.c_str(), 0600);
    return path;
}

std::string text_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

std::string copying() {
    Scenario s;
    s.copy_often(64 * mib, 20 * ms, {.stack = s.stack()});
    return s.path();
}

std::string fresh(const std::string& name) {
    const std::string path = temporary_path(name);
    fs::remove(path);
    return path;
}

} // namespace

BOOST_AUTO_TEST_CASE(what_is_unfinished_goes_where_no_destructor_runs) {
    const files::ShortLived unfinished(fs::temp_directory_path().string());
    std::ofstream(unfinished.path()) << "half";
    BOOST_TEST(fs::exists(unfinished.path()));
    files::remove_unfinished();
    BOOST_TEST(!fs::exists(unfinished.path()));
}

BOOST_AUTO_TEST_CASE(inputs_that_are_no_files) {
    const std::string trace = Scenario().path();
    const std::string missing = temporary_path("missing");
    for (const auto& [path, trouble] : {std::pair(fifo(), "is not a regular file"),
                                        {"/dev/zero", "is not a regular file"},
                                        {"/", "is a directory"},
                                        {missing, "No such file"}}) {
        check_one_line(run({"report", "--machine", path, trace}), 1, trouble);
        check_one_line(run({"whatif", "--machine", path, trace}), 1, trouble);
        check_one_line(run({"report", "--suppressions", path, trace}), 1, trouble);
        check_one_line(run({"check", "--baseline", path, trace}), 1, trouble);
        check_one_line(run({"check", "--baseline", trace, path}), 1, trouble);
        check_one_line(run({"diff", trace, path}), 1, trouble);
        for (const char* const command : {"report", "stats", "tree", "flame", "dump", "whatif", "plan"})
            check_one_line(run({command, path}), 1, trouble);
    }
}

BOOST_AUTO_TEST_CASE(inputs_that_are_too_large) {
    const std::string path = fresh("large");
    std::ofstream(path) << "{";
    fs::resize_file(path, std::uint64_t{1} << 40); // a hole
    const std::string trace = Scenario().path();
    check_one_line(run({"report", "--machine", path, trace}), 1, "is larger than 1 MiB");
    check_one_line(run({"report", "--suppressions", path, trace}), 1, "is larger than 16 MiB");
    check_one_line(run({"check", "--baseline", path, trace}), 1, "is larger than 256 MiB");
}

BOOST_AUTO_TEST_CASE(a_file_is_read_whole_up_to_its_bound) {
    const std::string path = fresh("whole");
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{5}, std::size_t{1} << 16, std::size_t{200'000}}) {
        const std::string text(size, 'x');
        std::ofstream(path, std::ios::trunc) << text;
        BOOST_TEST(reader::read_whole_file(path, 200'000) == text);
    }
    BOOST_TEST(!reader::read_whole_file("/proc/self/status", 1 << 20).empty()); // its size is told as 0
    BOOST_CHECK_THROW(reader::read_whole_file(path, 100'000), reader::Error);
}

BOOST_AUTO_TEST_CASE(an_output_is_made_anew_or_replaced) {
    const std::string path = fresh("output");
    cli::write_output_file(path, false, "one");
    BOOST_TEST(text_of(path) == "one");
    BOOST_CHECK_THROW(cli::write_output_file(path, false, "two"), reader::Error);
    BOOST_TEST(text_of(path) == "one");
    cli::write_output_file(path, true, "two");
    BOOST_TEST(text_of(path) == "two");
    BOOST_TEST(fs::exists(path + "." + std::to_string(::getpid())) == false);

    const std::string link = fresh("link"), target = fresh("target");
    fs::create_symlink(target, link);
    for (const bool force : {false, true}) {
        BOOST_CHECK_THROW(cli::write_output_file(link, force, "x"), reader::Error);
        BOOST_CHECK_THROW(cli::write_output_file(fifo(), force, "x"), reader::Error);
        BOOST_CHECK_THROW(cli::write_output_file("/dev/null", force, "x"), reader::Error);
        BOOST_CHECK_THROW(cli::write_output_file("/nowhere/x", force, "x"), reader::Error);
        BOOST_CHECK_THROW(cli::write_output_file("/", force, "x"), reader::Error);
    }
    BOOST_TEST(!fs::exists(target));
}

/// What cannot be written whole is not there, and what was there is.
BOOST_AUTO_TEST_CASE(an_output_is_whole_or_none) {
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    auto* const ignored = std::signal(SIGXFSZ, SIG_IGN);
    const std::string path = fresh("output"), there = fresh("there");
    cli::write_output_file(there, false, "one");
    const rlimit small{100, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    const std::string large(1000, 'x');
    BOOST_CHECK_THROW(cli::write_output_file(path, false, large), reader::Error);
    BOOST_CHECK_THROW(cli::write_output_file(there, true, large), reader::Error);
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, ignored);
    BOOST_TEST(!fs::exists(path));
    BOOST_TEST(text_of(there) == "one");
    BOOST_TEST(!fs::exists(there + "." + std::to_string(::getpid())));
}

BOOST_AUTO_TEST_CASE(commands_write_nowhere_that_was_not_asked_for) {
    const std::string trace = copying();
    const std::string path = fresh("output"), link = fresh("link"), target = fresh("target");
    fs::create_symlink(target, link);
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"plan"}, {"flame", "--by", "copied"}}) {
        const auto with = [&](const std::vector<std::string>& more) {
            std::vector<std::string> all = command;
            all.insert(all.end(), more.begin(), more.end());
            all.push_back(trace);
            return run(all);
        };
        fs::remove(path);
        BOOST_TEST(with({"-o", path}).status == 0);
        BOOST_TEST(text_of(path) == with({}).out);
        std::ofstream(path, std::ios::trunc) << "mine";
        check_one_line(with({"-o", path}), 1, "exists already; -f replaces it");
        BOOST_TEST(text_of(path) == "mine");
        BOOST_TEST(with({"-f", "-o", path}).status == 0);
        BOOST_TEST(text_of(path) == with({}).out);
        for (const std::string& other : {link, fifo(), std::string("/dev/null")}) {
            check_one_line(with({"-o", other}), 1, "not a regular file");
            check_one_line(with({"-f", "-o", other}), 1, "not a regular file");
        }
        BOOST_TEST(!fs::exists(target));
    }
}

/// As many bytes as a disk has room for.
class Full : public std::streambuf {
public:
    explicit Full(std::size_t room) : room_(room) {}

protected:
    int_type overflow(int_type) override { return traits_type::eof(); }
    std::streamsize xsputn(const char*, std::streamsize bytes) override {
        const std::streamsize taken = std::min(bytes, static_cast<std::streamsize>(room_));
        room_ -= static_cast<std::size_t>(taken);
        if (taken < bytes)
            errno = ENOSPC;
        return taken;
    }

private:
    std::size_t room_;
};

BOOST_AUTO_TEST_CASE(every_command_tells_of_a_full_disk) {
    const std::string trace = copying();
    for (const std::vector<std::string>& command :
         std::vector<std::vector<std::string>>{{"--version"},
                                               {"--help"},
                                               {"report", "--help"},
                                               {"explain"},
                                               {"explain", "UMA-101"},
                                               {"help", "env"},
                                               {"help", "coverage"},
                                               {"report", trace},
                                               {"report", "--json", trace},
                                               {"report", "--sarif", trace},
                                               {"report", "--fail-on", "low", trace},
                                               {"stats", trace},
                                               {"tree", "--by", "copied", trace},
                                               {"flame", "--by", "copied", trace},
                                               {"dump", trace},
                                               {"dump", "--json", trace},
                                               {"plan", trace},
                                               {"diff", trace, trace},
                                               {"check", "--baseline", trace, trace}}) {
        for (const std::size_t room : {std::size_t{0}, std::size_t{5}}) {
            Full full(room);
            std::streambuf* const before = std::cout.rdbuf(&full);
            std::ostringstream err;
            std::streambuf* const old_err = std::cerr.rdbuf(err.rdbuf());
            std::vector<const char*> argv{"umadvisor"};
            for (const std::string& argument : command)
                argv.push_back(argument.c_str());
            const int status = cli::run_command_line(static_cast<int>(argv.size()), argv.data());
            std::cout.rdbuf(before);
            std::cerr.rdbuf(old_err);
            BOOST_TEST(status == 1, command.front());
            BOOST_TEST(err.str().ends_with("umadvisor: the standard output cannot be written: No space left on "
                                           "device; the output is incomplete\n"),
                       command.front() << ": " << err.str());
            BOOST_TEST(std::cout.good());
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
