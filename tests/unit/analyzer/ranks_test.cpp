/// Summaries of ranks, jobs made of them, and ranks that deviate.
#include "analyzer/ranks/comparison.hpp"
#include "analyzer/ranks/job_file.hpp"
#include "analyzer/ranks/report.hpp"
#include "analyzer/reader/error.hpp"
#include "command_run.hpp"
#include "trace_builder.hpp"

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

BOOST_AUTO_TEST_SUITE(analyzer_ranks)

using namespace umadvisor;
using namespace umadvisor::test;
using ranks::Comparison;
using ranks::Merged;
using ranks::Quantity;
using ranks::Summary;

namespace {

constexpr double ms = 1e6;

/// One rank like the others: a run of a second.
Summary rank_like(unsigned number) {
    Summary summary{.rank = std::to_string(number),
                    .host = number < 4 ? "node1" : "node2",
                    .program = "train",
                    .device = "NVIDIA H100",
                    .pid = 100 + number,
                    .begin_ns = 5,
                    .calls = 1000};
    summary.of(Quantity::run) = 1000 * ms;
    summary.of(Quantity::own) = (300 + number) * ms;
    summary.of(Quantity::kernels) = 500 * ms;
    summary.of(Quantity::collectives) = 150 * ms;
    summary.of(Quantity::to_device) = 1 << 30;
    summary.of(Quantity::up_rate) = 50e9;
    return summary;
}

Comparison compared(const std::vector<Summary>& summaries) {
    Comparison job;
    for (const Summary& summary : summaries)
        job.add(summary);
    return job;
}

std::vector<Summary> ranks_like(unsigned count) {
    std::vector<Summary> all;
    for (unsigned number = 0; number < count; ++number)
        all.push_back(rank_like(number));
    return all;
}

std::string written(const Merged& job) {
    std::string text;
    job.write([&](std::string_view bytes) { text += bytes; });
    return text;
}

std::string text_of(const Comparison& job) {
    std::ostringstream out;
    ranks::write_text(job, false, out);
    return out.str();
}

bool is_refused(std::string_view line) {
    try {
        ranks::from_line(line, "x.umsum");
        return false;
    } catch (const reader::Error& error) {
        return std::string_view(error.what()).starts_with("x.umsum: ");
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(ranks_that_are_alike_do_not_deviate) {
    const Comparison job = compared(ranks_like(8));
    BOOST_TEST(job.deviations().empty());
    BOOST_TEST(!job.waiting());
    BOOST_TEST(contains(text_of(job), "no rank deviates"));
    BOOST_TEST(job.hosts() == 2u);
}

BOOST_AUTO_TEST_CASE(what_a_rank_does_more_of_is_named) {
    std::vector<Summary> summaries = ranks_like(8);
    summaries[5].of(Quantity::own) = 420 * ms;
    summaries[5].of(Quantity::collectives) = 30 * ms;
    const Comparison job = compared(summaries);
    const auto deviations = job.deviations();
    BOOST_TEST_REQUIRE(deviations.size() == 1u);
    BOOST_TEST(deviations[0].rank == 5u);
    BOOST_TEST((deviations[0].quantity == Quantity::own));
    BOOST_TEST(deviations[0].others == 303 * ms);
    BOOST_TEST_REQUIRE(job.waiting().has_value());
    BOOST_TEST(job.waiting()->for_rank == 5u);
    BOOST_TEST(job.waiting()->median_ns == 120 * ms);
    BOOST_TEST(contains(text_of(job), "waited 120 ms in the median for rank 5"));
}

BOOST_AUTO_TEST_CASE(the_line_that_has_most_of_what_a_rank_does_more_is_named) {
    std::vector<Summary> summaries = ranks_like(8);
    for (Summary& summary : summaries) {
        summary.of(Quantity::copies) = 100 * ms;
        summary.lines = {{"a.cu:1", 90 * ms, 0}, {"b.cu:2", 200 * ms, 0}};
    }
    summaries[5].of(Quantity::copies) = 300 * ms;
    summaries[5].lines[0].ns = 280 * ms;
    const auto place_of = [&] {
        const Comparison job = compared(summaries);
        const auto deviations = job.deviations();
        BOOST_TEST_REQUIRE(deviations.size() == 1u);
        return job.places(deviations).front();
    };
    BOOST_TEST_REQUIRE(place_of().has_value());
    BOOST_TEST(place_of()->text == "a.cu:1");
    BOOST_TEST(place_of()->others == 90 * ms);
    BOOST_TEST(contains(text_of(compared(summaries)), "most of it at a.cu:1 (280 ms there, the others 90 ms)"));
    summaries[5].lines[0].ns = 180 * ms; // less than half of what it does more
    BOOST_TEST(!place_of().has_value());
}

BOOST_AUTO_TEST_CASE(a_summary_has_the_trace_and_the_lines_and_one_without_them_can_be_read) {
    Summary summary = rank_like(0);
    summary.trace = "train.0.umtrace";
    summary.lines = {{"a.cu:1", 90, 7}};
    const std::string line = ranks::to_line(summary);
    const Summary read = ranks::from_line(line, "");
    BOOST_TEST(read.trace == "train.0.umtrace");
    BOOST_TEST_REQUIRE(read.lines.size() == 1u);
    BOOST_TEST((read.lines[0].text == "a.cu:1" && read.lines[0].ns == 90 && read.lines[0].bytes == 7));
    auto old = nlohmann::json::parse(line);
    old.erase("trace");
    old.erase("lines");
    BOOST_TEST(ranks::from_line(old.dump(), "").lines.empty());
}

BOOST_AUTO_TEST_CASE(own_code_for_which_nobody_waits_is_no_deviation) {
    std::vector<Summary> summaries = ranks_like(8);
    summaries[5].of(Quantity::own) = 420 * ms; // of its start
    BOOST_TEST(compared(summaries).deviations().empty());
    for (Summary& summary : summaries)
        summary.of(Quantity::collectives) = 0; // they never meet
    BOOST_TEST(compared(summaries).deviations().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_rank_that_does_less_does_not_deviate_but_one_with_a_slower_link_does) {
    std::vector<Summary> summaries = ranks_like(4);
    summaries[1].of(Quantity::own) = 10 * ms;
    BOOST_TEST(compared(summaries).deviations().empty());
    summaries[2].of(Quantity::up_rate) = 20e9;
    const auto deviations = compared(summaries).deviations();
    BOOST_TEST_REQUIRE(deviations.size() == 1u);
    BOOST_TEST((deviations[0].quantity == Quantity::up_rate));
    summaries[2].of(Quantity::up_rate) = 0; // not known
    BOOST_TEST(compared(summaries).deviations().empty());
}

BOOST_AUTO_TEST_CASE(where_all_ranks_differ_none_deviates) {
    std::vector<Summary> summaries = ranks_like(8);
    for (unsigned number = 0; number < 8; ++number)
        summaries[number].of(Quantity::own) = 300 * ms + number * 60 * ms;
    BOOST_TEST(compared(summaries).deviations().empty());
}

BOOST_AUTO_TEST_CASE(one_finding_of_many_ranks_is_one) {
    std::vector<Summary> summaries = ranks_like(3);
    for (unsigned number = 0; number < 3; ++number)
        summaries[number].findings = {
            {"UMA-101", "pageable copies", "train.py:12 in step()", "high", (10 + 10 * number) * ms, 0}};
    summaries[1].findings.push_back({"UMA-402", "never used", "train.py:3", "high", 0, 64 << 20});
    const auto findings = compared(summaries).findings();
    BOOST_TEST_REQUIRE(findings.size() == 2u);
    BOOST_TEST(findings[0].ns.count == 3u);
    BOOST_TEST(findings[0].ns.sum == 60 * ms);
    BOOST_TEST(findings[0].ns.median == 20 * ms);
    BOOST_TEST(findings[0].ns.most_rank == 2u);
    BOOST_TEST(findings[1].bytes == std::uint64_t{64} << 20);
}

BOOST_AUTO_TEST_CASE(what_is_to_be_mended_whatever_it_costs_comes_first) {
    Summary summary = rank_like(0);
    for (unsigned i = 0; i < 12; ++i)
        summary.findings.push_back({"UMA-101", "copies", "a.cu:" + std::to_string(i), "high", ms, 0});
    summary.findings.push_back({"UMA-604", "two streams without an order", "b.cu:1", "high", 0, 0});
    const Comparison job = compared({summary});
    BOOST_TEST(job.findings().front().rule == "UMA-604");
    BOOST_TEST(contains(text_of(job), "UMA-604"));
    BOOST_TEST(contains(text_of(job), "fixes an error"));
}

BOOST_AUTO_TEST_CASE(processes_of_one_rank_are_told_apart) {
    std::vector<Summary> summaries = ranks_like(3);
    summaries[1].rank = summaries[2].rank = "0";
    const Comparison job = compared(summaries);
    BOOST_TEST(job.ranks()[0].who == "rank 0, pid 100");
    BOOST_TEST(job.ranks()[1].who == "rank 0, pid 101");
    BOOST_TEST(job.ranks()[2].who == "rank 0, pid 102");
}

BOOST_AUTO_TEST_CASE(a_damaged_trace_is_no_launcher) {
    std::vector<Summary> summaries = ranks_like(2);
    summaries[0].calls = 0;
    summaries[0].complete = false;
    const Comparison job = compared(summaries);
    BOOST_TEST(job.left_out() == 0u);
    BOOST_TEST(job.unknown() == 1u);
    BOOST_TEST(contains(text_of(job), "not known: 1 trace"));
}

BOOST_AUTO_TEST_CASE(a_launcher_is_left_out) {
    std::vector<Summary> summaries = ranks_like(2);
    summaries[0].calls = 0;
    const Comparison job = compared(summaries);
    BOOST_TEST(job.ranks().size() == 1u);
    BOOST_TEST(job.left_out() == 1u);
    BOOST_TEST(text_of(compared({summaries[0]})).find("no rank called CUDA") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(merging_is_the_same_in_any_order_and_sorts_ranks_by_number) {
    const std::string folder = temporary_path("ranks");
    Merged forth, back;
    for (unsigned number = 0; number < 12; ++number)
        forth.add(rank_like(number));
    for (unsigned number = 12; number-- > 0;)
        back.add(rank_like(number));
    back.add(rank_like(3)); // again
    BOOST_TEST(written(forth) == written(back));
    BOOST_TEST(forth.size() == 12u);
    std::ofstream(folder) << written(forth);
    Merged read;
    read.add_file(folder);
    read.add(rank_like(11));
    BOOST_TEST(written(read) == written(forth));
    std::istringstream lines(written(forth));
    unsigned number = 0;
    for (std::string line; std::getline(lines, line); ++number)
        BOOST_TEST(ranks::from_line(line, "").rank == std::to_string(number));
    BOOST_TEST(number == 12u);
}

BOOST_AUTO_TEST_CASE(a_summary_has_at_most_so_many_bytes_and_counts_what_has_no_room) {
    Summary summary = rank_like(0);
    for (unsigned i = 0; i < 5000; ++i)
        summary.findings.push_back(
            {"UMA-101", "a\x1b[31m<script>\"", "main.cu:" + std::to_string(i), "low", 1, 0});
    const std::string line = ranks::to_line(summary);
    BOOST_TEST(line.size() <= ranks::most_summary_bytes);
    BOOST_TEST(line.find('\x1b') == std::string::npos);
    const Summary read = ranks::from_line(line, "");
    BOOST_TEST(read.findings.size() + read.findings_beyond == 5000u);
    BOOST_TEST(read.findings.size() > 100u);
}

BOOST_AUTO_TEST_CASE(what_is_no_summary_is_refused) {
    const std::string line = ranks::to_line(rank_like(0));
    BOOST_TEST(!is_refused(line));
    for (const auto& [from, to] : {std::pair{"umadvisor-summary-1", "umadvisor-summary-2"},
                                   {"\"pid\":100", "\"pid\":-1"},
                                   {"\"pid\":100", "\"pid\":\"x\""},
                                   {"\"run_ns\":1000000000.0", "\"run_ns\":-1"},
                                   {"\"run_ns\":1000000000.0", "\"run_ns\":1e300"},
                                   {"\"steps\":[]", "\"steps\":[1]"},
                                   {"\"host\":\"node1\",", ""}}) {
        std::string broken = line;
        BOOST_TEST_REQUIRE(broken.find(from) != std::string::npos, from);
        broken.replace(broken.find(from), std::string_view(from).size(), to);
        BOOST_TEST(is_refused(broken), to);
    }
    BOOST_TEST(is_refused(""));
    BOOST_TEST(is_refused(std::string(50'000, '[')));
}

BOOST_AUTO_TEST_CASE(a_job_as_json_has_the_same_numbers) {
    std::vector<Summary> summaries = ranks_like(4);
    summaries[3].of(Quantity::kernels) = 900 * ms;
    const auto document = ranks::to_json(compared(summaries));
    BOOST_TEST(document.at("measured").at("kernels_ns").at("max_rank") == "rank 3");
    BOOST_TEST(document.at("deviations").at(0).at("others") == 500 * ms);
    BOOST_TEST(document.at("ranks").size() == 4u);
}

BOOST_AUTO_TEST_SUITE_END()
