/// The tables of `umadvisor stats`, and the distributions they are made from.
#include "analyzer/facts/distribution.hpp"
#include "analyzer/text/table.hpp"
#include "command_run.hpp"
#include "scenario.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

BOOST_AUTO_TEST_SUITE(analyzer_stats)

using namespace umadvisor;
using namespace umadvisor::test;
using facts::Distribution;
using nlohmann::json;
namespace tt = boost::test_tools;

namespace {

json stats_of(const std::string& path) {
    const Result result = run({"stats", "--format", "json", path});
    BOOST_TEST_REQUIRE(result.status == 0, result.err);
    return json::parse(result.out);
}

/// The row whose `key` is `value`.
json row_of(const json& table, const std::string& key, const std::string& value) {
    for (const json& row : table)
        if (row[key] == value)
            return row;
    BOOST_FAIL("no row " + value + " in " + table.dump());
    return {};
}

} // namespace

BOOST_AUTO_TEST_CASE(a_distribution_of_nothing_is_all_zero) {
    const Distribution none;
    BOOST_TEST(none.count() == 0u);
    BOOST_TEST(none.min() == 0u);
    BOOST_TEST(none.max() == 0u);
    BOOST_TEST(none.median() == 0);
    BOOST_TEST(none.deviation() == 0);
}

BOOST_AUTO_TEST_CASE(a_distribution_knows_what_a_table_says) {
    Distribution values;
    for (const std::uint64_t value : {2, 4, 4, 4, 5, 5, 7, 9})
        values.add(value);
    BOOST_TEST(values.count() == 8u);
    BOOST_TEST(values.sum() == 40u);
    BOOST_TEST(values.min() == 2u);
    BOOST_TEST(values.max() == 9u);
    BOOST_TEST(values.mean() == 5.0, tt::tolerance(1e-12));
    BOOST_TEST(values.median() == 4.0);
    BOOST_TEST(values.deviation() == std::sqrt(32.0 / 7), tt::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_weight_is_so_many_values) {
    Distribution weighed, single;
    weighed.add(10, 3);
    weighed.add(90, 2);
    for (const std::uint64_t value : {10, 90, 10, 90, 10})
        single.add(value);
    BOOST_TEST(weighed.count() == single.count());
    BOOST_TEST(weighed.sum() == single.sum());
    BOOST_TEST(weighed.median() == single.median());
    BOOST_TEST(weighed.deviation() == single.deviation(), tt::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_median_of_large_values_is_near) {
    Distribution values;
    std::uint64_t value = 1'000'003;
    for (int i = 0; i < 1001; ++i, value += 40'009)
        values.add(value);
    const double exact = 1'000'003 + 500 * 40'009.0;
    BOOST_TEST(values.median() == exact, tt::tolerance(1.0 / 64));
    Distribution top;
    top.add(UINT64_MAX);
    BOOST_TEST(top.median() == 18446744073709551615.0, tt::tolerance(1.0 / 64));
}

BOOST_AUTO_TEST_CASE(distributions_add_up) {
    Distribution all, low, high;
    for (std::uint64_t value = 0; value < 200; ++value) {
        all.add(value);
        (value < 50 ? low : high).add(value);
    }
    low.add(high);
    low.add(Distribution());
    BOOST_TEST(low.count() == all.count());
    BOOST_TEST(low.mean() == all.mean(), tt::tolerance(1e-12));
    BOOST_TEST(low.deviation() == all.deviation(), tt::tolerance(1e-12));
    BOOST_TEST(low.median() == all.median());
    BOOST_TEST(low.max() == 199u);
}

BOOST_AUTO_TEST_CASE(a_table_is_written_in_three_ways) {
    const text::Table table{"things",
                            "Things",
                            {{"n", "N"}, {"share", "Share (%)", 1}, {"what", "What"}},
                            {{std::uint64_t{12}, 99.25, std::string("say \"a, b\"")},
                             {std::uint64_t{3}, std::monostate{}, std::string("é")}}};
    std::ostringstream text, csv;
    write_text(table, text);
    BOOST_TEST(text.str() == "Things\n\n"
                             "   N  Share (%)  What\n"
                             "  --  ---------  ----------\n"
                             "  12       99.2  say \"a, b\"\n"
                             "   3          –  é\n");
    write_csv(table, csv);
    BOOST_TEST(csv.str() == "N,Share (%),What\n12,99.2,\"say \"\"a, b\"\"\"\n3,,é\n");
    const json list = json::parse(to_json(table).dump());
    BOOST_TEST(list[0]["share"] == 99.25);
    BOOST_TEST(list[1]["share"].is_null());
    BOOST_TEST(list[1]["what"] == "é");
}

BOOST_AUTO_TEST_CASE(calls_and_copies_are_told_with_their_spread) {
    Scenario s;
    for (const std::uint64_t duration : {100, 200, 600})
        s.copy(1000, duration, {});
    s.copy(5000, 50, {.source = trace::Memory::pinned, .asynchronous = true});
    s.copy(7, 10, {.status = 1});
    s.copy(9, 10, {.origin = trace::Origin::umadvisor});
    const json tables = stats_of(s.path())["tables"];
    const json call = row_of(tables["api"], "name", "cudaMemcpy");
    BOOST_TEST(call["calls"] == 4); // with the failed one
    BOOST_TEST(call["failed"] == 1);
    BOOST_TEST(call["total_ns"] == 910);
    BOOST_TEST(call["min_ns"] == 10);
    BOOST_TEST(call["max_ns"] == 600);
    const json copy = row_of(tables["copies"], "copy", "HtoD, pageable to device");
    BOOST_TEST(copy["copies"] == 3);
    BOOST_TEST(copy["bytes"] == 3000);
    BOOST_TEST(copy["total_ns"] == 900);
    BOOST_TEST(copy["mean_ns"].get<double>() == 300.0, tt::tolerance(1e-9));
    BOOST_TEST(copy["median_ns"].get<double>() == 200.0, tt::tolerance(1.0 / 64));
    BOOST_TEST(copy["rate_bytes_per_s"].get<double>() == 3000 / 900e-9, tt::tolerance(1e-9));
    const json asynchronous = row_of(tables["copies"], "copy", "HtoD, pinned to device, asynchronous");
    BOOST_TEST(asynchronous["rate_bytes_per_s"].is_null());
    const json size = row_of(tables["copy-sizes"], "copy", "HtoD, pageable to device");
    BOOST_TEST(size["mean_bytes"].get<double>() == 1000.0, tt::tolerance(1e-9));
    BOOST_TEST(size["bytes_percent"].get<double>() == 37.5, tt::tolerance(1e-9));
}

BOOST_FIXTURE_TEST_CASE(a_batch_took_its_time_once, Scenario) {
    copy(1000, 300, {.symbol = "cuMemcpyBatchAsync_v2", .asynchronous = true, .batch = 1});
    copy(1000, 0, {.symbol = "cuMemcpyBatchAsync_v2", .asynchronous = true, .batch = 2});
    const json tables = stats_of(path())["tables"];
    BOOST_TEST(tables["copies"][0]["copies"] == 2);
    BOOST_TEST(tables["copies"][0]["mean_ns"].get<double>() == 300.0, tt::tolerance(1e-9));
    BOOST_TEST(tables["api"][0]["calls"] == 1);
}

BOOST_FIXTURE_TEST_CASE(kernels_and_allocations_are_told, Scenario) {
    const std::uint64_t kept = allocate(3000, trace::Memory::device);
    free(allocate(1000, trace::Memory::device));
    const std::uint64_t kernel = function("advance");
    launch(kernel, {kept}, 1);
    launch(kernel, {kept}, 2);
    synchronize();
    device_time(1, 4000);
    device_time(2, 2000);
    const json tables = stats_of(path())["tables"];
    const json row = row_of(tables["kernels"], "name", "advance");
    BOOST_TEST(row["launches"] == 2);
    BOOST_TEST(row["samples"] == 2);
    BOOST_TEST(row["basis"] == "measured");
    BOOST_TEST(row["min_ns"] == 2000);
    BOOST_TEST(row["max_ns"] == 4000);
    const json memory = row_of(tables["allocations"], "memory", "device");
    BOOST_TEST(memory["bytes"] == 4000);
    BOOST_TEST(memory["live_at_end"] == 1);
    BOOST_TEST(memory["live_bytes_at_end"] == 3000);
}

/// Two launches that were sampled took long; the waits behind the others say that these did not.
BOOST_AUTO_TEST_CASE(kernels_take_no_longer_than_the_waits_behind_them_allow) {
    Scenario s;
    const auto function = s.function("_Z7advancev");
    for (const std::uint64_t sample : {1, 2}) {
        s.launch(function, {}, sample);
        s.device_time(sample, 5'000'000);
        s.synchronize({.duration = 5'000'000});
    }
    for (int i = 0; i < 100; ++i) {
        s.launch(function, {});
        s.synchronize({.duration = 20'000});
    }
    const json row = row_of(stats_of(s.path())["tables"]["kernels"], "name", "advance()");
    BOOST_TEST(row["basis"] == "extrapolated");
    BOOST_TEST(row["total_ns"].get<double>() >= 10e6);
    BOOST_TEST(row["total_ns"].get<double>() <= 10e6 + 100 * 25e3);
}

BOOST_FIXTURE_TEST_CASE(what_is_not_known_is_no_zero, Scenario) {
    launch(function("_Z7advancev"), {});
    const std::string file = path();
    const json row = row_of(stats_of(file)["tables"]["kernels"], "name", "advance()");
    BOOST_TEST(row["basis"] == "unknown");
    BOOST_TEST(row["total_ns"].is_null());
    BOOST_TEST(row["mean_ns"].is_null());
    const std::string text = run({"stats", "--table", "kernels", file}).out;
    BOOST_TEST(contains(text, "–  unknown"));
    BOOST_TEST(run({"stats", "--format", "csv", "--table", "kernels", file}).out.find("–") ==
               std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(empty_tables_are_left_out_unless_asked_for, Scenario) {
    copy(1000, 100, {});
    const std::string file = path();
    const Result all = run({"stats", file});
    BOOST_TEST(all.status == 0);
    BOOST_TEST(contains(all.out, "Calls of the CUDA API"));
    BOOST_TEST(lacks(all.out, "Kernels by device time"));
    const Result one = run({"stats", "--format", "csv", "--table", "kernels", file});
    BOOST_TEST(one.out == "Time (%),Total Time (ns),Basis,Launches,Avg (ns),Med (ns),Min (ns),Max (ns),"
                          "StdDev (ns),Samples,Name\n");
}

BOOST_FIXTURE_TEST_CASE(what_there_is_not_is_refused, Scenario) {
    check_one_line(run({"stats", "--table", "frobs", path()}), 2, "api, copies, copy-sizes");
    check_one_line(run({"stats", "--format", "xml", path()}), 2, "text, csv or json");
    check_one_line(run({"stats", "/nowhere.umtrace"}), 1, "/nowhere.umtrace");
}

BOOST_AUTO_TEST_SUITE_END()
