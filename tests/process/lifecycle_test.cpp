/// How processes begin and end, and what they do to what a trace stands on: each program runs bare and under
/// the shim on simcuda, and must not notice.
#include "process.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

using namespace umadvisor::test;
namespace data = boost::unit_test::data;
using Json = nlohmann::json;

namespace {

/// A program of ours under the shim, its trace in x.umtrace.
Outcome under_shim(const Folder& folder, const std::string& program, const std::string& environment = "") {
    return run_sim(folder, environment + " UMADVISOR_OUTPUT=x.umtrace LD_PRELOAD=" + shim + " " + programs +
                               "/" + program);
}

Outcome bare(const Folder& folder, const std::string& program) {
    fs::create_directory(folder.path / "bare");
    return run_sim(folder, "cd bare; " + programs + "/" + program);
}

/// Runs it bare and under the shim. Output and status must be the same.
Outcome check_unnoticed(const Folder& folder, const std::string& program, const std::string& environment = "") {
    const Outcome alone = bare(folder, program);
    const Outcome watched = under_shim(folder, program, environment);
    BOOST_TEST(watched.status == alone.status, watched.err);
    BOOST_TEST(watched.out == alone.out);
    BOOST_TEST(!alone.out.empty());
    return watched;
}

/// What a report says of an entry point.
Json calls_of(const Json& report, const std::string& entry) {
    for (const Json& calls : report.at("calls"))
        if (calls.at("entry") == entry)
            return calls;
    return {{"count", 0}, {"dropped", 0}, {"failed", 0}};
}

} // namespace

BOOST_AUTO_TEST_CASE(calls_beyond_the_size_cap_are_in_the_totals) {
    const Folder folder;
    const Outcome outcome = check_unnoticed(folder, "unruly fill", "UMADVISOR_MAX_SIZE=700KiB");
    BOOST_TEST(lines(outcome.err) == 2u, outcome.err);
    const Json found = report(folder, "x.umtrace");
    const Json launches = calls_of(found, "cuLaunchKernel");
    BOOST_TEST(launches.at("count") == 400001);
    const std::uint64_t kept = dump(folder, "x.umtrace", "Launch").size();
    BOOST_TEST(kept > 10000u);
    BOOST_TEST(launches.at("dropped") == 400001 - kept);
    BOOST_TEST(found.at("dropped").at("size_cap") >= 400001 - kept);
    BOOST_TEST(found.at("dropped_calls").at(0).at("function").get<std::string>().find("count_up") !=
                   std::string::npos,
               found.at("dropped_calls").dump());
    BOOST_TEST(found.at("dropped_calls").at(0).at("line").at("function").get<std::string>().find("launch") !=
                   std::string::npos,
               found.at("dropped_calls").dump());
    std::uint64_t dumped = 0;
    for (const Json& site : dump(folder, "x.umtrace", "Dropped"))
        if (site.at("entry") == "cuLaunchKernel")
            dumped += site.at("count").get<std::uint64_t>();
    BOOST_TEST(dumped == 400001 - kept);
    // First of all, the report says so.
    std::istringstream text(run(folder, advisor + " report x.umtrace").out);
    std::string headline, first, second;
    std::getline(text, headline);
    std::getline(text, first);
    std::getline(text, second);
    BOOST_TEST(headline.find("dropped") != std::string::npos, headline);
    BOOST_TEST(first.find("size cap") != std::string::npos, first);
    BOOST_TEST(second.find("by call site") != std::string::npos, second);
}
