/// `umadvisor diff` and `umadvisor check`, and the reports that they read.
#include "analyzer/reports/comparison/comparison.hpp"

#include "analyzer/reader/error.hpp"
#include "command_run.hpp"
#include "scenario.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <random>

BOOST_AUTO_TEST_SUITE(analyzer_comparison)

using namespace umadvisor;
using namespace umadvisor::test;
using nlohmann::json;

namespace {

json finding(const std::string& rule, const std::string& file, const std::string& function, int line,
             double saving_ns, const std::string& confidence = "high") {
    return {{"rule", rule},
            {"name", "called"},
            {"title", "title of " + rule},
            {"line",
             {{"text", file + ":" + std::to_string(line)},
              {"function", function},
              {"file", file},
              {"line", line},
              {"module", "/bin/app"}}},
            {"allocation", nullptr},
            {"advice", "less"},
            {"saving_ns", saving_ns},
            {"confidence", confidence}};
}

json report(const std::vector<json>& findings) {
    return {{"schema", "umadvisor-report-2"},
            {"process", {{"duration_ns", 20'000'000}}},
            {"findings", findings},
            {"copies", {{{"count", 3}, {"bytes", 3000}, {"time_ns", 900}}}},
            {"managed",
             {{"totals", {{"bytes_to_device", 4096}, {"bytes_to_host", 8192}, {"host_faults", nullptr}}}}}};
}

std::string file_of(const std::string& name, const std::string& text) {
    return temporary_file(name, {text.begin(), text.end()});
}

std::string file_of(const std::string& name, const json& document) {
    return file_of(name, document.dump());
}

/// What `umadvisor diff --json` tells of two documents.
json diff(const json& before, const json& after) {
    const Result result = run({"diff", "--json", file_of("before.json", before), file_of("after.json", after)});
    BOOST_TEST_REQUIRE(result.status == 0, result.err);
    return json::parse(result.out);
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// One large copy from pageable memory: a finding of high confidence.
std::string pageable_trace() {
    Scenario s;
    s.builder.add(trace::HostRange{.id = 1, .kind = trace::HostRangeKind::heap});
    s.copy_often(256 * mib, 26 * ms, {.stack = s.stack(), .host_range = 1});
    return s.path();
}

/// A comparison or an Error of one line; returns whether it was the Error.
bool refused(const std::string& text) {
    reports::ComparedSide side{"some.json", {}};
    try {
        side.runs.add(side.file, text);
        BOOST_TEST(compare(side.runs, side.runs).went.empty());
        BOOST_TEST(!to_json(side, side).dump().empty());
        return false;
    } catch (const reader::Error& error) {
        const std::string what = error.what();
        BOOST_TEST(what.starts_with("some.json: "), what);
        BOOST_TEST(has(what, "create it again"), what);
        BOOST_TEST(!has(what, "\n"), what);
        return true;
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(findings_go_and_come) {
    const json found = diff(
        report({finding("UMA-101", "/old/a.cu", "up", 10, 5e6), finding("UMA-103", "/old/a.cu", "up", 10, 7e6),
                finding("UMA-202", "/old/a.cu", "up", 11, 9e6)}),
        report({finding("UMA-103", "/new/a.cu", "up", 90, 7e6), finding("UMA-103", "/new/b.cu", "up", 10, 2e6),
                finding("UMA-103", "/new/a.cu", "down", 10, 3e6)}));
    BOOST_TEST(found["schema"] == "umadvisor-diff-1");
    BOOST_TEST_REQUIRE(found["went"].size() == 2u);
    BOOST_TEST(found["went"][0]["rule"] == "UMA-202"); // saved most
    BOOST_TEST(found["went"][0]["name"] == "ping-pong");
    BOOST_TEST(found["went"][1]["rule"] == "UMA-101");
    BOOST_TEST(found["went"][1]["line"]["line"] == 10);
    BOOST_TEST_REQUIRE(found["came"].size() == 2u);
    BOOST_TEST(found["came"][0]["line"]["function"] == "down");
    BOOST_TEST(found["came"][1]["line"]["file"] == "/new/b.cu");
    BOOST_TEST(found["came"][1]["advice"] == "less");
    BOOST_TEST(found["came"][1]["confidence"] == "high");
    BOOST_TEST(found["changed"].empty());
    BOOST_TEST(found["same"] == 1);
}

BOOST_AUTO_TEST_CASE(several_of_one_place_go_by_their_lines) {
    const json found =
        diff(report({finding("UMA-101", "a.cu", "up", 30, 3e6), finding("UMA-101", "a.cu", "up", 10, 1e6)}),
             report({finding("UMA-101", "a.cu", "up", 21, 1e6), finding("UMA-101", "a.cu", "up", 51, 9e6),
                     finding("UMA-101", "a.cu", "up", 41, 3e6)}));
    BOOST_TEST(found["same"] == 2);
    BOOST_TEST_REQUIRE(found["came"].size() == 1u);
    BOOST_TEST(found["came"][0]["line"]["line"] == 51);
}

/// Without the diff, the finding of line 30 would be the one that went.
BOOST_AUTO_TEST_CASE(lines_that_a_diff_leaves_keep_their_findings) {
    reports::ReportedRuns before, after;
    before.add("before",
               report({finding("UMA-101", "a.cu", "up", 10, 1e6), finding("UMA-101", "a.cu", "up", 20, 2e6),
                       finding("UMA-101", "a.cu", "up", 30, 3e6)})
                   .dump());
    after.add(
        "after",
        report({finding("UMA-101", "a.cu", "up", 18, 2e6), finding("UMA-101", "a.cu", "up", 28, 3e6)}).dump());
    const reports::Comparison found = compare(
        before, after, [](const symbols::CodePlace& place) { return place.line == 10 ? 0 : place.line - 2; });
    BOOST_TEST_REQUIRE(found.went.size() == 1u);
    BOOST_TEST(found.went[0].line.line == 10);
    BOOST_TEST_REQUIRE(found.same.size() == 2u);
    BOOST_TEST(found.same[0].before.line.line == 20);
    BOOST_TEST(found.same[0].after.line.line == 18);
    BOOST_TEST(found.changed.empty());
}

BOOST_AUTO_TEST_CASE(processes_that_share_a_line_go_by_what_they_save) {
    const json low = finding("UMA-101", "a.cu", "up", 10, 1e6),
               high = finding("UMA-101", "a.cu", "up", 10, 8e6);
    const json found =
        diff(json::array({report({low}), report({high})}), json::array({report({high}), report({low})}));
    BOOST_TEST(found["same"] == 2);
    BOOST_TEST(found["before"]["reports"] == 2);
}

BOOST_AUTO_TEST_CASE(a_saving_changes_by_a_tenth_and_a_tenth_of_a_millisecond) {
    const auto kinds = [](double before, double after) {
        const json found = diff(report({finding("UMA-101", "a.cu", "up", 1, before)}),
                                report({finding("UMA-101", "a.cu", "up", 1, after)}));
        return std::pair(found["changed"].size(), found["same"].get<std::size_t>());
    };
    const std::pair<std::size_t, std::size_t> changed(1, 0), same(0, 1);
    BOOST_TEST((kinds(10e6, 10.9e6) == same));
    BOOST_TEST((kinds(10e6, 11.1e6) == changed));
    BOOST_TEST((kinds(10e6, 8.9e6) == changed));
    BOOST_TEST((kinds(200'000, 290'000) == same));
    BOOST_TEST((kinds(200'000, 310'000) == changed));
    const json found = diff(report({finding("UMA-101", "a.cu", "up", 1, 1e6)}),
                            report({finding("UMA-101", "a.cu", "up", 2, 5e6)}))["changed"];
    BOOST_TEST(found[0]["before"]["saving_ns"] == 1e6);
    BOOST_TEST(found[0]["after"]["line"]["line"] == 2);
}

BOOST_AUTO_TEST_CASE(totals_are_added_up) {
    json told = report({finding("UMA-101", "a.cu", "up", 1, 2e6)}), silent = told;
    told["managed"]["totals"]["host_faults"] = 12;
    silent["managed"] = nullptr;
    const json found = diff(json::array({told, told, silent}), silent);
    const json& before = found["before"];
    BOOST_TEST(before["file"].get<std::string>().ends_with("before.json"));
    BOOST_TEST(before["reports"] == 3);
    BOOST_TEST(before["findings"] == 3);
    BOOST_TEST(before["saving_ns"] == 6e6);
    BOOST_TEST(before["duration_ns"] == 60'000'000);
    BOOST_TEST(before["copies"] == json({{"count", 9}, {"bytes", 9000}, {"time_ns", 2700}}));
    BOOST_TEST(before["managed"] ==
               json({{"bytes_to_device", 8192}, {"bytes_to_host", 16384}, {"host_faults", 24}}));
    BOOST_TEST(found["after"]["managed"].is_null());
    const json quiet = diff(report({}), report({}));
    BOOST_TEST(quiet["before"]["managed"]["host_faults"].is_null());
}

BOOST_AUTO_TEST_CASE(moves_that_nobody_counted_are_not_known) {
    const auto counting = [](bool exact, std::uint64_t events, std::uint64_t bytes) {
        json told = report({});
        json& totals = told["managed"]["totals"];
        totals["exact"] = exact;
        totals["told"]["events"] = events;
        totals["bytes_to_device"] = totals["bytes_to_host"] = bytes;
        return told;
    };
    const json looked_at = counting(false, 0, 0), still = counting(true, 0, 0);
    BOOST_TEST(diff(looked_at, still)["before"]["managed"].is_null());
    BOOST_TEST(diff(looked_at, still)["after"]["managed"]["bytes_to_device"] == 0);
    BOOST_TEST(diff(counting(false, 3, 4096), still)["before"]["managed"]["bytes_to_host"] == 4096);
    const std::string none = file_of("none.json", looked_at), some = file_of("some.json", still),
                      both = file_of("both.json", json::array({looked_at, still}));
    BOOST_TEST(has(run({"diff", none, some}).out, " · managed: moves not known\n"));
    BOOST_TEST(has(run({"diff", both, some}).out,
                   " · managed: 0 B to the device, 0 B to the host; moves of 1 report not known\n"));
}

BOOST_AUTO_TEST_CASE(calls_and_copies_stand_side_by_side) {
    const auto with = [](std::uint64_t sync_ns, const std::string& memory) {
        json made = report({});
        made["process"] = {
            {"program", "app"}, {"duration_ns", 20'000}, {"recorded_ns", 19'000}, {"net_ns", 15'000}};
        made["calls"] = {
            {{"call", "cuLaunchKernel"}, {"count", 2}, {"failed", 1}, {"time_ns", 5000}},
            {{"call", "cudaDeviceSynchronize"}, {"count", 3}, {"failed", 0}, {"time_ns", sync_ns}}};
        made["copies"] = {{{"direction", "HtoD"},
                           {"source_memory", memory},
                           {"destination_memory", "device"},
                           {"count", 3},
                           {"bytes", 3000},
                           {"time_ns", 900}}};
        return made;
    };
    const json found = diff(with(6000, "pageable"), with(2000, "pinned"));
    BOOST_TEST(found["before"]["program"] == "app");
    BOOST_TEST(found["before"]["net_ns"] == 15'000);
    BOOST_TEST(found["before"]["where"] ==
               json({{"start_ns", 4000}, {"copies_ns", 900}, {"calls_ns", 6100}, {"own_ns", 8000}}));
    BOOST_TEST_REQUIRE(found["calls"].size() == 2u);
    BOOST_TEST(found["calls"][0] == json({{"call", "cudaDeviceSynchronize"},
                                          {"before", {{"count", 3}, {"failed", 0}, {"time_ns", 6000}}},
                                          {"after", {{"count", 3}, {"failed", 0}, {"time_ns", 2000}}}}));
    BOOST_TEST_REQUIRE(found["copies"].size() == 2u);
    for (const json& row : found["copies"]) {
        const bool old = row["source_memory"] == "pageable";
        BOOST_TEST(row[old ? "before" : "after"]["bytes"] == 3000);
        BOOST_TEST(row[old ? "after" : "before"]["bytes"] == 0);
    }
    // More threads than one: their calls are more than the run.
    BOOST_TEST(diff(with(60'000, "pageable"), report({}))["before"]["where"]["own_ns"] == 0);
}

BOOST_AUTO_TEST_CASE(the_first_schema_has_names_for_rules) {
    json old =
        report({finding("pageable-copy", "a.cu", "up", 1, 2e6), finding("of-old", "a.cu", "up", 1, 2e6)});
    old["schema"] = "umadvisor-report-1";
    for (json& each : old["findings"])
        each.erase("name");
    const json found = diff(old, report({finding("UMA-101", "a.cu", "up", 1, 2e6)}));
    BOOST_TEST(found["same"] == 1);
    BOOST_TEST(found["went"][0]["rule"] == "of-old");
    BOOST_TEST(found["went"][0]["name"] == "of-old");
}

BOOST_AUTO_TEST_CASE(without_lines_the_module_or_the_rule_is_left) {
    json nowhere = finding("UMA-101", "", "", 0, 2e6);
    nowhere["line"] = nullptr;
    const json found = diff(report({finding("UMA-101", "", "", 0, 2e6), nowhere}), report({nowhere}));
    BOOST_TEST(found["same"] == 1);
    BOOST_TEST_REQUIRE(found["went"][0]["line"].is_object());
    BOOST_TEST(found["went"][0]["line"]["module"] == "/bin/app");
    BOOST_TEST(diff(report({}), report({nowhere}))["came"][0]["line"].is_null());
}

BOOST_AUTO_TEST_CASE(people_read_it_line_by_line) {
    const Result result =
        run({"diff",
             file_of("b.json",
                     report({finding("UMA-101", "a.cu", "up", 1, 2e6), finding("UMA-202", "a.cu", "up", 2, 3e6),
                             finding("UMA-203", "a.cu", "up", 3, 4e6)})),
             file_of("a.json", json::array({report({finding("UMA-103", "b.cu", "up", 4, 5e6),
                                                    finding("UMA-202", "a.cu", "up", 7, 6e6),
                                                    finding("UMA-203", "a.cu", "up", 8, 4e6)})}))});
    BOOST_TEST(result.status == 0);
    BOOST_TEST(has(result.out, "b.json · 3 findings, 9 ms to save of 20 ms · 3 copies, 2.93 KiB in 900 ns · "
                               "managed: 4 KiB to the device, 8 KiB to the host\n"),
               result.out);
    BOOST_TEST(result.out.starts_with("before: "));
    BOOST_TEST(has(result.out, "\nrun:    20 ms -> 20 ms, within 1%, without the start of CUDA\n"));
    BOOST_TEST(has(result.out, "\nafter:  "));
    BOOST_TEST(has(result.out, "\n  - UMA-101 title of UMA-101   saves about 2 ms   a.cu:1\n"
                               "  + UMA-103 title of UMA-103   saves about 5 ms   b.cu:4\n"
                               "  ~ UMA-202 title of UMA-202   saves about 6 ms, before 3 ms   a.cu:7\n"
                               "  = 1 unchanged\n"),
               result.out);
}

BOOST_AUTO_TEST_CASE(a_run_that_takes_longer_is_slower) {
    const std::string before = file_of("b.json", report({}));
    json longer = report({});
    longer["process"] = {{"duration_ns", 90'000'000}, {"recorded_ns", 90'000'000}, {"net_ns", 25'000'000}};
    const std::string after = file_of("a.json", longer);
    BOOST_TEST(has(run({"diff", before, after}).out, "\nrun:    20 ms -> 25 ms, 5 ms slower (25%), without"));
    BOOST_TEST(has(run({"diff", after, before}).out, "\nrun:    25 ms -> 20 ms, 5 ms faster (20%), without"));
}

BOOST_AUTO_TEST_CASE(a_trace_is_as_good_as_its_report) {
    const std::string trace = pageable_trace();
    const Result kept = run({"report", "--json", trace});
    const std::string blanks(70, '\n');
    const json found = json::parse(run({"diff", "--json", trace, file_of("kept.json", blanks + kept.out)}).out);
    BOOST_TEST(found["same"] == 1);
    BOOST_TEST(found["went"].empty());
    BOOST_TEST(found["came"].empty());
    BOOST_TEST(found["before"]["copies"] == found["after"]["copies"]);
    BOOST_TEST(found["before"]["duration_ns"] == found["after"]["duration_ns"]);
}

BOOST_AUTO_TEST_CASE(check_fails_for_what_is_new) {
    const std::string trace = pageable_trace(), empty = file_of("empty.json", report({}));
    const Result failed = run({"check", "--baseline", empty, trace});
    BOOST_TEST(failed.status == 3);
    BOOST_TEST(has(failed.out, "UMA-101 pageable copies"), failed.out);
    BOOST_TEST(has(failed.out, "saves about "), failed.out);
    BOOST_TEST(has(failed.out, "\n    do: "), failed.out);
    BOOST_TEST(!has(failed.out, "compared"), failed.out);

    const Result same = run({"check", "--baseline", trace, trace});
    BOOST_TEST(same.status == 0);
    BOOST_TEST(same.out == "1 finding compared with " + trace + ": none is new\n");
    // Of two processes each has its own.
    BOOST_TEST(run({"check", "--baseline", trace, trace, trace}).status == 3);
}

BOOST_AUTO_TEST_CASE(check_asks_for_confidence) {
    const std::string base = file_of("base.json", report({}));
    const auto status = [&](const std::string& confidence, std::vector<std::string> options) {
        const std::string now =
            file_of("now.json", report({finding("UMA-101", "a.cu", "up", 1, 2e6, confidence)}));
        options.insert(options.begin(), {"check", "--baseline", base});
        options.push_back(now);
        return run(options);
    };
    BOOST_TEST(status("medium", {}).status == 3);
    BOOST_TEST(status("low", {}).status == 0);
    BOOST_TEST(has(status("low", {}).out, "none is new but 1 of less than medium confidence\n"));
    BOOST_TEST(status("low", {"--fail-on", "low"}).status == 3);
    BOOST_TEST(status("medium", {"--fail-on", "high"}).status == 0);
    BOOST_TEST(status("high", {"--fail-on", "high"}).status == 3);
    check_one_line(status("high", {"--fail-on", "total"}), 2, "low, medium or high");
}

BOOST_AUTO_TEST_CASE(check_looks_at_chosen_findings_of_both) {
    const std::string base = file_of("base.json", report({finding("UMA-103", "x/a.cu", "up", 9, 2e6)}));
    const std::string now = file_of("now.json", report({finding("UMA-101", "x/a.cu", "up", 4, 2e6)}));
    const auto check = [&](const std::string& option, const std::string& value) {
        return run({"check", "--baseline", base, option, value, now});
    };
    BOOST_TEST(check("--only", "UMA-101@a.cu").status == 3);
    BOOST_TEST(!has(check("--only", "UMA-101@a.cu").out, "gone"));
    BOOST_TEST(check("--ignore", "pageable-copy@a.cu:4").status == 0);
    BOOST_TEST(check("--ignore", "pageable-copy@a.cu:5").status == 3);
    const Result quiet = check("--suppressions", file_of("suppressions", std::string("UMA-101@x/a.cu\n")));
    BOOST_TEST(quiet.status == 0);
    BOOST_TEST(quiet.out ==
               "0 findings compared with " + base + ": none is new\n1 finding of " + base +
                   " is gone; renew it (umadvisor report --json), so that they are new if they come back\n");
    json elsewhere = finding("UMA-101", "lib.cu", "up", 4, 2e6);
    elsewhere["allocation"] = {{"text", "cudaMalloc"}, {"line", {{"file", "x/pool.cu"}, {"line", 7}}}};
    const std::string pool = file_of("pool.json", report({elsewhere}));
    BOOST_TEST(run({"check", "--baseline", base, "--ignore", "UMA-101@pool.cu:7", pool}).status == 0);
}

BOOST_AUTO_TEST_CASE(what_is_neither_is_refused) {
    const std::string good = file_of("good.json", report({}));
    const auto refuses = [&](const std::string& text, const std::string& why) {
        const std::string bad = file_of("bad.json", text);
        check_one_line(run({"diff", good, bad}), 1, why);
        check_one_line(run({"diff", bad, good}), 1, "bad.json");
        check_one_line(run({"check", "--baseline", bad, good}), 1, why);
    };
    refuses("", "is empty");
    refuses("frob", "neither a trace nor a report");
    refuses("{\"schema\": ", "cut or damaged");
    refuses("{}", "it is JSON, but no report");
    refuses("[1]", "it is JSON, but no report");
    refuses("[]", "empty list");
    refuses(R"({"schema": "umadvisor-stats-1"})", "it is JSON, but no report");
    refuses(R"({"schema": "umadvisor-report-9", "findings": []})", "newer");
    refuses(R"({"schema": "umadvisor-report-2"})", "no list of findings");
    for (const auto& [key, value] : std::map<std::string, json>{{"rule", 3},
                                                                {"rule", nullptr},
                                                                {"line", "a.cu:3"},
                                                                {"saving_ns", -1},
                                                                {"title", json::array()},
                                                                {"confidence", "sure"}}) {
        json broken = finding("UMA-101", "a.cu", "up", 1, 2e6);
        broken[key] = value;
        refuses(report({broken}).dump(), key);
    }
    json copies = report({});
    copies["copies"] = {1};
    refuses(copies.dump(), "a row of copies");
    json calls = report({});
    calls["calls"] = {1};
    refuses(calls.dump(), "a row of calls");
    copies["copies"] = {{{"bytes", -4}}};
    refuses(copies.dump(), "bytes is not what");
    check_one_line(run({"diff", good, "/nowhere.umtrace"}), 1, "/nowhere.umtrace");
    check_one_line(run({"check", good}), 2, "--baseline");
    check_one_line(run({"diff", good}), 2, "FILE");
}

BOOST_AUTO_TEST_CASE(members_may_stand_in_any_order_and_others_between_them) {
    const json whole = report({finding("UMA-101", "a.cu", "up", 1, 2e6)});
    const std::string text = whole.dump(); // sorted: the schema is the last member
    const std::string unknown =
        R"("x": [{"findings": [1], "schema": []}, [[]], "findings"], "line": {"rule": 3},)";
    const std::string other = "{" + unknown + text.substr(1);
    const json found = diff(json::parse(other), json::array({whole, json::parse(other)}));
    BOOST_TEST(found["same"] == 1);
    BOOST_TEST(found["came"].size() == 1u);
    BOOST_TEST(found["came"][0]["line"]["text"] == "a.cu:1");
    BOOST_TEST(found["after"]["reports"] == 2);
    BOOST_TEST(found["after"]["copies"]["bytes"] == 6000);
    BOOST_TEST(found["after"]["managed"]["bytes_to_host"] == 16384);
    BOOST_TEST(found["after"]["duration_ns"] == 40'000'000);
}

BOOST_AUTO_TEST_CASE(damaged_reports_are_refused_or_compared) {
    const json whole =
        report({finding("UMA-101", "a.cu", "up", 1, 2e6), finding("UMA-202", "ü.cu", "up", 2, 3e6)});
    const std::string text = whole.dump(2);
    BOOST_TEST(!refused(text));
    for (std::size_t end = 0; end < text.size(); ++end)
        BOOST_TEST(refused(text.substr(0, end)), end);
    std::mt19937 random(7);
    for (int round = 0; round < 2000; ++round) {
        std::string other = text;
        for (unsigned bytes = 1 + random() % 3; bytes != 0; --bytes)
            other[random() % other.size()] = static_cast<char>(random());
        refused(other);
    }
    // Every value of the document with every kind of value in its place.
    const json flat = whole.flatten();
    for (const auto& [path, value] : flat.items())
        for (const char* const kind :
             {"null", "true", "-1", "18446744073709551615", "1e308", "\"\"", "\"\\n\"", "[]", "[[]]", "{}"}) {
            json other = whole;
            other[json::json_pointer(path)] = json::parse(kind);
            refused(json::array({other, other}).dump());
        }
    const std::string deep(1'000'000, '[');
    BOOST_TEST(refused(deep));
    const std::string closed = deep + std::string(deep.size(), ']');
    BOOST_TEST(!refused(text.substr(0, text.rfind('}')) + ", \"more\": " + closed + "}"));
}

BOOST_AUTO_TEST_SUITE_END()
