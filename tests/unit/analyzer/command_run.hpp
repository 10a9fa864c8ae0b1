/// Command lines of umadvisor, run in the test's own process.
#pragma once

#include "analyzer/cli/command_line.hpp"
#include "text.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace umadvisor::test {

struct Result {
    int status;
    std::string out, err;
};

inline Result run(std::vector<std::string> arguments) {
    // The test's own terminal has no part in what is written.
    ::setenv("COLUMNS", "0", 0);
    ::setenv("NO_COLOR", "1", 0);
    arguments.insert(arguments.begin(), "umadvisor");
    std::vector<const char*> argv;
    for (const std::string& argument : arguments)
        argv.push_back(argument.c_str());
    std::ostringstream out, err;
    std::streambuf* const old_out = std::cout.rdbuf(out.rdbuf());
    std::streambuf* const old_err = std::cerr.rdbuf(err.rdbuf());
    const int status = cli::run_command_line(static_cast<int>(argv.size()), argv.data());
    std::cout.rdbuf(old_out);
    std::cerr.rdbuf(old_err);
    return {status, out.str(), err.str()};
}

/// The commands that read one trace, whose path is to follow.
inline const std::vector<std::vector<std::string>> readers{
    {"report"},
    {"report", "--all", "--full-stacks"},
    {"report", "--json"},
    {"report", "--markdown"},
    {"report", "--sarif"},
    {"stats"},
    {"stats", "--format", "csv"},
    {"stats", "--format", "json"},
    {"tree", "--by", "copied"},
    {"tree", "--by", "allocated", "--full-stacks", "--width", "60"},
    {"flame", "--by", "copied"},
    {"flame", "--by", "allocated", "--full-stacks"},
    {"flame", "--by", "copied", "--format", "speedscope"},
    {"dump"},
    {"dump", "--json"},
    {"whatif", "--gpu-memory", "32MiB"},
    {"whatif", "--gpu-memory", "32MiB", "--json"},
    {"whatif", "--gpu-memory", "32MiB", "--act", "prefetch,rewrite=all"},
    {"plan"},
};

/// An error as the commands tell it.
inline void check_one_line(const Result& result, int status, const std::string& part) {
    BOOST_TEST(result.status == status);
    BOOST_TEST(result.err.find(part) != std::string::npos, result.err);
    BOOST_TEST(std::count(result.err.begin(), result.err.end(), '\n') == 1, result.err);
    BOOST_TEST(result.out == "");
}

} // namespace umadvisor::test
