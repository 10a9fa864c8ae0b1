/// Findings in other formats, and which of them are shown.
#include "analyzer/advice/selection.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reports/markdown/markdown.hpp"
#include "analyzer/reports/sarif/sarif.hpp"
#include "command_run.hpp"
#include "scenario.hpp"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

BOOST_AUTO_TEST_SUITE(analyzer_formats)

using namespace umadvisor;
using namespace umadvisor::test;
using nlohmann::json;

namespace {

/// Pageable copies, and many small ones elsewhere.
std::string two_findings() {
    Scenario s;
    const std::uint64_t upload = s.stack(), poll = s.stack();
    s.copy_often(64 * mib, 20 * ms, {.stack = upload});
    s.synchronize();
    for (int i = 0; i < 200; ++i)
        s.copy(64, 10'000, {.stack = poll});
    return s.path();
}

json report_json(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"report", "--json"});
    const Result result = run(arguments);
    BOOST_TEST_REQUIRE(result.status == 0, result.err);
    return json::parse(result.out);
}

std::vector<std::string> rules_of(const json& report) {
    std::vector<std::string> rules;
    for (const json& finding : report["findings"])
        rules.push_back(finding["rule"]);
    return rules;
}

using Rules = std::vector<std::string>;

std::string suppressions(const std::string& text) {
    const std::string path = "umadvisor-formats-suppressions.txt";
    std::ofstream(path) << text;
    return path;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_pattern_names_a_rule_and_a_line) {
    const advice::FindingPattern whole = advice::parse_pattern("pageable-copy");
    BOOST_TEST(whole.rule->id == "UMA-101");
    BOOST_TEST(whole.file == "");
    const advice::FindingPattern line = advice::parse_pattern("UMA-103@src/upload.cu:41");
    BOOST_TEST(line.rule->id == "UMA-103");
    BOOST_TEST(line.file == "src/upload.cu");
    BOOST_TEST(line.line == 41);
    const advice::FindingPattern colon = advice::parse_pattern("UMA-103@odd:name");
    BOOST_TEST(colon.file == "odd:name");
    BOOST_TEST(colon.line == 0);
    BOOST_CHECK_THROW(advice::parse_pattern("UMA-999"), reader::Error);
    BOOST_CHECK_THROW(advice::parse_pattern("UMA-103@"), reader::Error);
    BOOST_CHECK_THROW(advice::parse_pattern("UMA-103@:7"), reader::Error);
}

BOOST_AUTO_TEST_CASE(a_file_is_the_end_of_a_path) {
    symbols::CodePlace place{.file = "/src/app/upload.cu", .line = 41};
    const auto kept = [&](const char* pattern) {
        advice::Selection selection;
        selection.only.push_back(advice::parse_pattern(pattern));
        return selection.keeps("UMA-101", {&place, 1});
    };
    BOOST_TEST(kept("UMA-101@upload.cu"));
    BOOST_TEST(kept("UMA-101@app/upload.cu:41"));
    BOOST_TEST(kept("UMA-101@/src/app/upload.cu"));
    BOOST_TEST(!kept("UMA-101@load.cu"));
    BOOST_TEST(!kept("UMA-101@upload.cu:42"));
    BOOST_TEST(!kept("UMA-103@upload.cu"));
}

BOOST_AUTO_TEST_CASE(findings_are_chosen) {
    const std::string path = two_findings();
    BOOST_TEST(rules_of(report_json({path})) == (Rules{"UMA-101", "UMA-103"}),
               boost::test_tools::per_element());
    const json only = report_json({"--only", "small-copies", path});
    BOOST_TEST(rules_of(only) == Rules{"UMA-103"}, boost::test_tools::per_element());
    BOOST_TEST(only["findings_left_out"] == 1);
    BOOST_TEST(rules_of(report_json({"--ignore", "UMA-103", path})) == Rules{"UMA-101"},
               boost::test_tools::per_element());
    // No file is known here, so that none of a file is meant.
    BOOST_TEST(rules_of(report_json({"--ignore", "UMA-103@upload.cu", path})).size() == 2u);
    const json none = report_json({"--ignore", "UMA-103", "--ignore", "UMA-101", path});
    BOOST_TEST(none["findings"].empty());
    BOOST_TEST(none["why_empty"].get<std::string>().find("exclude: 2") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(a_remedy_is_told_in_parts_with_what_verifies_it, Scenario) {
    const std::uint64_t upload = stack(), wait = stack();
    copy_often(64 * mib, 20 * ms, {.stack = upload});
    synchronize();
    for (int i = 0; i < 200; ++i)
        synchronize({.stack = wait, .duration = 10'000});
    const std::string file = path();
    const json findings = report_json({file})["findings"];
    BOOST_TEST_REQUIRE(findings.size() == 2u);
    BOOST_TEST(findings[0]["rule"] == "UMA-101");
    BOOST_TEST(findings[0]["verify"] == "umadvisor ab --act stage -- program --size");
    BOOST_TEST_REQUIRE(findings[0]["remedy"].size() == 1u);
    BOOST_TEST(findings[0]["remedy"][0]["kind"] == "rework");
    BOOST_TEST(findings[0]["remedy"][0]["text"] == findings[0]["advice"]);
    BOOST_TEST(findings[0]["remedy"][0]["line"] == findings[0]["line"]);
    BOOST_TEST(findings[1]["rule"] == "UMA-501");
    BOOST_TEST(findings[1]["verify"] ==
               "umadvisor run -f -o changed.umtrace -- program --size && umadvisor diff " + file +
                   " changed.umtrace");
    BOOST_TEST_REQUIRE(findings[1]["remedy"].size() == 1u);
    BOOST_TEST(findings[1]["remedy"][0]["kind"] == "remove");
    BOOST_TEST(findings[1]["remedy"][0]["text"] == "cudaDeviceSynchronize");
    BOOST_TEST(findings[1]["remedy"][0]["line"] == findings[1]["line"]);
}

BOOST_AUTO_TEST_CASE(a_trace_is_opened_again_by_its_own_name) {
    const std::string path = two_findings();
    const std::string odd = std::filesystem::path(path).parent_path() / "odd\nname.umtrace";
    std::filesystem::copy_file(path, odd, std::filesystem::copy_options::overwrite_existing);
    json usual = report_json({path}), other = report_json({odd});
    BOOST_TEST(other["findings"][1]["verify"].get<std::string>().find("'" + odd + "'") != std::string::npos);
    BOOST_TEST(other["together_ns"] == usual["together_ns"]);
    std::filesystem::remove(odd);
}

BOOST_AUTO_TEST_CASE(suppressions_are_read_line_by_line) {
    const std::string path = two_findings();
    const std::string good = suppressions("# known\n\n  UMA-101 \r\n");
    BOOST_TEST(rules_of(report_json({"--suppressions", good, path})) == Rules{"UMA-103"},
               boost::test_tools::per_element());
    const std::string bad = suppressions("UMA-101\nfrob\n");
    check_one_line(run({"report", "--suppressions", bad, path}), 1, bad + ":2: there is no rule frob");
    std::filesystem::remove(bad);
    check_one_line(run({"report", "--suppressions", "/nowhere", path}), 1, "/nowhere: No such file");
}

BOOST_FIXTURE_TEST_CASE(what_saves_little_is_told_in_a_line, Scenario) {
    const std::uint64_t upload = stack(), poll = stack();
    for (int i = 0; i < 2; ++i)
        copy(64 * mib, 200 * ms, {.stack = upload});
    synchronize();
    for (int i = 0; i < 200; ++i)
        copy(64, 10'000, {.stack = poll}); // 2 ms of a second
    const std::string file = path();
    const std::string folded = run({"report", file}).out, whole = run({"report", "--all", file}).out;
    BOOST_TEST(times(folded, "    do: ") == 1u, folded);
    BOOST_TEST(times(folded, "1 further finding, ") == 1u, folded);
    BOOST_TEST(times(folded, "all findings together: ") == 1u, folded);
    BOOST_TEST(times(folded, "UMA-103 many small copies") == 1u, folded);
    BOOST_TEST(times(whole, "    do: ") == 2u, whole);
    BOOST_TEST(times(whole, "further finding") == 0u, whole);
    BOOST_TEST(times(run({"report", "--only", "UMA-101", file}).out, "together") == 0u);
    const json document = report_json({file});
    const double together = document["together_ns"], first = document["findings"][0]["saving_ns"],
                 second = document["findings"][1]["saving_ns"];
    BOOST_TEST(together > first);
    BOOST_TEST(together <= first + second);
}

BOOST_FIXTURE_TEST_CASE(a_report_fits_one_screen, Scenario) {
    std::vector<std::uint64_t> lines;
    for (int line = 0; line < 40; ++line)
        lines.push_back(stack());
    for (int i = 0; i < 3; ++i)
        for (const std::uint64_t line : lines) { // each at least a hundredth of the run
            copy(64 * mib, 20 * ms, {.stack = line});
            synchronize();
        }
    const std::string file = path();
    const std::string screen = run({"report", file}).out;
    BOOST_TEST(std::ranges::count(screen, '\n') <= 60, screen);
    BOOST_TEST(contains(screen, "35 further findings"));
    const std::string all = run({"report", "--all", file}).out;
    BOOST_TEST(std::ranges::count(all, '\n') > 120, all);
}

BOOST_AUTO_TEST_CASE(findings_can_fail_a_build) {
    const std::string path = two_findings();
    BOOST_TEST(run({"report", "--fail-on", "low", path}).status == 3);
    BOOST_TEST(run({"report", "--fail-on", "high", path}).status == 3);
    BOOST_TEST(run({"report", "--fail-on", "low", "--only", "ping-pong", path}).status == 0);
    BOOST_TEST(run({"report", path}).status == 0);
    check_one_line(run({"report", "--fail-on", "some", path}), 2, "low, medium or high");
    check_one_line(run({"report", "--only", "frob", path}), 2, "there is no rule frob");
    check_one_line(run({"report", "--json", "--sarif", path}), 2, "give one");
}

BOOST_AUTO_TEST_CASE(sarif_has_a_result_for_each_finding_and_each_of_their_rules_once) {
    const std::string path = two_findings();
    const Result result = run({"report", "--sarif", path, path});
    BOOST_TEST_REQUIRE(result.status == 0, result.err);
    const json log = json::parse(result.out);
    BOOST_TEST(log["version"] == "2.1.0");
    const json& of = log["runs"][0];
    BOOST_REQUIRE(of["results"].size() == 4u); // of both files
    const json& rules = of["tool"]["driver"]["rules"];
    std::set<json> referred_to;
    for (const json& each : of["results"]) {
        referred_to.insert(each["ruleId"]);
        BOOST_TEST(rules[each["ruleIndex"].get<std::size_t>()]["id"] == each["ruleId"]);
        BOOST_TEST(each["message"]["text"].get<std::string>().find("Saves about") != std::string::npos);
        BOOST_TEST(each["rank"].get<double>() >= 0);
        BOOST_TEST(each["rank"].get<double>() <= 100);
    }
    BOOST_TEST(rules.size() == referred_to.size());
    BOOST_TEST(of["results"][0]["level"] == "warning");
}

BOOST_FIXTURE_TEST_CASE(markdown_does_not_take_names_for_its_own, Scenario) {
    const std::uint64_t kernel = function("void k<1>(int*)");
    launch(kernel, {});
    copy_often(64 * mib, 20 * ms, {.stack = stack()});
    advice::Report report(path());
    report.findings.front().summary = "a|b *c* <d>\n# e";
    std::ostringstream out;
    reports::write_markdown(report, out);
    BOOST_TEST(contains(out.str(), "a\\|b \\*c\\* \\<d\\> \\# e"));
    BOOST_TEST(contains(out.str(), "| UMA-101 | pageable copies, host to device |"));
    BOOST_TEST(contains(out.str(), "## UMA-101 pageable copies"));
}

BOOST_AUTO_TEST_SUITE_END()
