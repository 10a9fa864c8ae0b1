/// What findings become where host and device share memory in another way than across PCIe.
#include "analyzer/advice/findings.hpp"
#include "analyzer/advice/memory_modes.hpp"
#include "analyzer/advice/report.hpp"
#include "analyzer/reports/html/page.hpp"
#include "analyzer/reports/json/json.hpp"
#include "analyzer/reports/text/text.hpp"
#include "command_run.hpp"
#include "found.hpp"
#include "rendered.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

BOOST_AUTO_TEST_SUITE(analyzer_machines, *umadvisor::test::on_rules("UMA-101 UMA-124 UMA-216 UMA-217"))

using namespace umadvisor;
using namespace umadvisor::test;
using machine::MemoryMode;

namespace {

trace::Device device_of(MemoryMode mode, std::string_view name = "NVIDIA GH200") {
    return {.pageable_memory_access = mode != MemoryMode::discrete,
            .device_name = name,
            .addressing_told = 1,
            .integrated = mode == MemoryMode::one_pool,
            .pageable_uses_host_page_tables = mode != MemoryMode::discrete && mode != MemoryMode::hmm,
            .numa_config = mode == MemoryMode::coherent_numa ? 2u : 1u};
}

/// Copies of pageable memory at a fifth of what PCIe carries, and a program that uses what they bring.
struct Machine : Scenario {
    explicit Machine(MemoryMode mode) : Scenario(0, device_of(mode)) {}

    std::uint64_t kernel = function("use"), line = stack();
    std::uint64_t memory = 0;

    /// Device memory, with the first upload.
    std::uint64_t target() { return memory = memory != 0 ? memory : allocate(64 * mib, Memory::device); }

    void upload_pageable() {
        for (int round = 0; round < 10; ++round) {
            copy(64 * mib, 6 * ms,
                 {.stack = line,
                  .to = target(),
                  .part = 1000u + static_cast<unsigned>(round),
                  .whole = 2000u + static_cast<unsigned>(round)});
            launch(kernel, {memory});
            synchronize();
        }
    }
    std::uint64_t range(std::uint64_t bytes, trace::HostRangeKind kind = trace::HostRangeKind::heap) {
        trace::HostRange record{.id = ++ranges_};
        record.first = 0x1000'0000 * record.id;
        record.last = record.first + bytes;
        record.kind = kind;
        builder.add(record);
        return record.id;
    }
    void reach(std::uint64_t host_range, int times, std::uint64_t at) {
        for (int i = 0; i < times; ++i)
            launch(kernel, {}, {.stack = at, .host_range = host_range});
    }
    void prefetch_pageable(std::uint64_t host_range, std::uint64_t at,
                           trace::Location where = trace::Location::device, std::uint64_t status = 0) {
        prefetch(0, 8 * mib, where, {.stack = at, .status = status, .host_range = host_range});
    }

    advice::Findings find(const machine::Rates& rates = {}) {
        file_ = std::make_unique<reader::Trace>(path());
        const rules::Profile profile(*file_, nullptr, rates);
        return advice::find_all(profile, own_line);
    }

private:
    std::uint64_t ranges_ = 0;
    std::unique_ptr<reader::Trace> file_;
};

machine::Rates measured_on(std::string_view device) {
    return {.device = std::string(device)};
}

/// Of a program whose kernels reach pageable memory, where it stays on the host: UMA-217, which has no price.
std::string trace_without_price() {
    Machine m(MemoryMode::coherent_cdmm);
    m.reach(m.range(8 * mib), 3, m.line);
    return m.path();
}

/// What a command prints, which ends as it should.
std::string printed(const std::vector<std::string>& arguments, int status = 0) {
    const Result result = run(arguments);
    BOOST_REQUIRE_MESSAGE(result.status == status, result.out + result.err);
    return result.out;
}

} // namespace

BOOST_AUTO_TEST_CASE(page_locked_memory_is_advised_where_the_driver_stages_copies) {
    for (const MemoryMode mode : {MemoryMode::discrete, MemoryMode::hmm}) {
        Machine m(mode);
        m.upload_pageable();
        BOOST_TEST(lone(m.find().all, "UMA-101").saving_ns > 0);
    }
    for (const MemoryMode mode : {MemoryMode::coherent_numa, MemoryMode::coherent_cdmm}) {
        Machine m(mode);
        m.upload_pageable();
        const advice::Findings found = m.find();
        nothing_in(found.all);
        nothing_in(found.unpriced);
        nothing_in(m.find(measured_on("NVIDIA GH200")).all);
    }
}

BOOST_AUTO_TEST_CASE(no_saving_is_told_at_the_prices_of_another_link) {
    const auto upload_again = [](Machine& m) {
        for (int round = 0; round < 20; ++round) {
            m.copy(64 * mib, 6 * ms,
                   {.source = Memory::pinned, .stack = m.line, .to = m.target(), .part = 7, .whole = 8});
            m.launch(m.kernel, {m.memory});
            m.synchronize();
        }
    };
    Machine discrete(MemoryMode::discrete);
    upload_again(discrete);
    BOOST_REQUIRE(!discrete.find().all.empty());
    BOOST_TEST(discrete.find().unpriced.empty());

    Machine coherent(MemoryMode::coherent_numa);
    upload_again(coherent);
    const advice::Findings found = coherent.find();
    nothing_in(found.all);
    BOOST_TEST(rules_of(found.unpriced) == rules_of(discrete.find().all));
    for (const Finding& finding : found.unpriced) {
        BOOST_TEST(finding.saving_ns == 0);
        BOOST_TEST(lacks(finding.basis, "H200"));
    }
    BOOST_TEST(found.together_ns == 0);

    const advice::Findings priced = coherent.find(measured_on("NVIDIA GH200"));
    BOOST_TEST(rules_of(priced.all) == rules_of(found.unpriced));
    BOOST_TEST(priced.unpriced.empty());
    BOOST_TEST(coherent.find(measured_on("NVIDIA H100")).all.empty());
}

BOOST_AUTO_TEST_CASE(copies_within_one_memory_are_waste) {
    Machine m(MemoryMode::one_pool);
    m.upload_pageable();
    const advice::Findings found = m.find();
    const Finding finding = lone(found.all, "UMA-124");
    BOOST_TEST(finding.saving_ns > 10.0 * ms);
    BOOST_TEST(evidence(finding, "copies") == 10);
    nothing_in(found.unpriced);
}

BOOST_AUTO_TEST_CASE(neither_copies_inside_the_device_nor_small_ones_are_waste) {
    Machine m(MemoryMode::one_pool);
    for (int round = 0; round < 40; ++round) {
        m.copy(64 * mib, 6 * ms, {.source = Memory::device, .stack = m.line, .to = m.target()});
        m.copy(4096, 10'000, {.stack = m.line, .to = m.target()});
        m.launch(m.kernel, {m.memory});
        m.synchronize();
    }
    const advice::Findings found = m.find();
    for (const auto& list : {found.all, found.unpriced})
        nothing_in(of_rule(list, "UMA-124"));
}

BOOST_AUTO_TEST_CASE(kernels_that_reach_pageable_memory_again_and_again_where_it_stays_on_the_host) {
    Machine m(MemoryMode::coherent_cdmm);
    m.reach(m.range(8 * mib), 3, m.line);
    const advice::Findings found = m.find();
    const Finding finding = lone(found.unpriced, "UMA-217");
    BOOST_TEST(evidence(finding, "launches") == 3);
    BOOST_TEST(evidence(finding, "range_bytes") == 8 * mib);
    BOOST_TEST((finding.stack == m.line));
    nothing_in(found.all);
    lone(m.find(measured_on("NVIDIA GH200")).unpriced, "UMA-217");
}

BOOST_AUTO_TEST_CASE(nothing_is_said_of_pageable_memory_that_is_used_little_or_moves) {
    const auto reached = [](std::uint64_t bytes, int times,
                            trace::HostRangeKind kind = trace::HostRangeKind::heap) {
        Machine m(MemoryMode::coherent_cdmm);
        m.reach(m.range(bytes, kind), times, m.line);
        return m.find().unpriced;
    };
    lone(reached(8 * mib, 3), "UMA-217");
    nothing_in(reached(8 * mib, 2));
    nothing_in(reached(64 * kib, 30));
    nothing_in(reached(8 * mib, 30, trace::HostRangeKind::stack));
    for (const MemoryMode mode : {MemoryMode::hmm, MemoryMode::coherent_numa, MemoryMode::one_pool}) {
        Machine other(mode);
        other.reach(other.range(8 * mib), 30, other.line);
        other.prefetch_pageable(1, other.line);
        nothing_in(other.find().unpriced);
    }
}

BOOST_AUTO_TEST_CASE(a_prefetch_of_pageable_memory_is_not_done_where_it_stays_on_the_host) {
    Machine m(MemoryMode::coherent_cdmm);
    const std::uint64_t range = m.range(8 * mib);
    m.prefetch_pageable(range, m.line);
    m.prefetch_pageable(range, m.line);
    const Finding finding = lone(m.find().unpriced, "UMA-216");
    BOOST_TEST(evidence(finding, "prefetches") == 2);
    BOOST_TEST(evidence(finding, "bytes") == 16 * mib);

    Machine others(MemoryMode::coherent_cdmm);
    others.prefetch_pageable(others.range(8 * mib), others.line, trace::Location::host);
    others.prefetch_pageable(1, others.line, trace::Location::device, 1);
    others.prefetch_pageable(0, others.line);
    nothing_in(others.find().unpriced);
}

BOOST_AUTO_TEST_CASE(one_discrete_device_beside_another_makes_no_pool) {
    Machine m(MemoryMode::one_pool);
    m.builder.add(device_of(MemoryMode::discrete, "NVIDIA H200"));
    m.upload_pageable();
    const advice::Findings found = m.find();
    nothing_in(found.all);
}

BOOST_AUTO_TEST_CASE(the_report_names_the_mode_and_lists_what_has_no_price) {
    Machine m(MemoryMode::coherent_cdmm);
    m.reach(m.range(8 * mib), 3, m.line);
    advice::Report report(m.path());
    std::ostringstream text;
    reports::write_text(report, text);
    BOOST_TEST(contains(text.str(), "NVIDIA GH200, coherent (CDMM)"));
    BOOST_TEST(contains(text.str(), "seen, but what it costs is not known"));
    BOOST_TEST(contains(text.str(), "UMA-217"));
    const auto document = reports::to_json(report);
    BOOST_TEST(document["devices"][0]["memory_mode"] == "coherent_cdmm");
    BOOST_TEST(document["unpriced"].size() == 1u);
    BOOST_TEST(document["findings"].empty());
}

BOOST_AUTO_TEST_CASE(the_report_names_the_pageable_memory_that_kernels_reach) {
    for (const MemoryMode mode :
         {MemoryMode::hmm, MemoryMode::coherent_numa, MemoryMode::coherent_cdmm, MemoryMode::one_pool}) {
        Machine m(mode);
        m.reach(m.range(8 * mib), 2, m.line);
        m.reach(m.range(4096), 5, m.line);
        const std::string text = text_of(m.path());
        BOOST_TEST(contains(text, "kernels may reach pageable memory"));
        BOOST_TEST(contains(text, "8 MiB (heap) by 2 launches of use"));
        BOOST_TEST(lacks(text, "4 KiB (heap)"));
        const auto pieces = json_of(m.path())["pageable"];
        BOOST_REQUIRE(pieces.size() == 2u);
        BOOST_TEST(pieces[0]["bytes"] == 8 * mib);
        BOOST_TEST(pieces[0]["launches"] == 2);
        BOOST_TEST(pieces[0]["function"] == "use");
        BOOST_TEST(pieces[1]["memory"] == "heap");
    }
    Machine discrete(MemoryMode::discrete);
    discrete.upload_pageable();
    BOOST_TEST(!contains(text_of(discrete.path()), "may reach pageable"));
    BOOST_TEST(!json_of(discrete.path()).contains("pageable"));
}

BOOST_AUTO_TEST_CASE(markdown_has_what_has_no_price) {
    const std::string markdown = printed({"report", "--markdown", trace_without_price()});
    BOOST_TEST(contains(markdown, "| UMA-217 | kernels access pageable memory"));
    BOOST_TEST(contains(markdown, "| not known | low |"));
    BOOST_TEST(contains(markdown, "**Saving** (confidence low): unknown: a trace does not show"));
    BOOST_TEST(lacks(markdown, "Mend it first"));
}

BOOST_AUTO_TEST_CASE(sarif_has_what_has_no_price_without_a_rank) {
    const auto log = nlohmann::json::parse(printed({"report", "--sarif", trace_without_price()}));
    const auto& results = log["runs"][0]["results"];
    BOOST_REQUIRE(results.size() == 1u);
    BOOST_TEST(results[0]["ruleId"] == "UMA-217");
    BOOST_TEST(results[0]["level"] == "note");
    BOOST_TEST(!results[0].contains("rank"));
    BOOST_TEST(results.at(0).at("properties").at("unpriced") == true);
    const auto message = results[0]["message"]["text"].get<std::string>();
    BOOST_TEST(contains(message, "Saving: unknown: a trace does not show"));
    BOOST_TEST(lacks(message, "Mend it first"));
}

BOOST_AUTO_TEST_CASE(the_page_has_a_card_for_what_has_no_price) {
    if (!html::available()) // built without npm
        return;
    const std::string page = printed({"report", "--html", trace_without_price()});
    BOOST_TEST(contains(page, "0, biggest saving first; 1, saving not known"));
    BOOST_TEST(contains(page, "UMA-217"));
    BOOST_TEST(contains(page, ">saving not known</span>"));
    BOOST_TEST(contains(page, "Saving unknown: a trace does not show"));
    BOOST_TEST(lacks(page, "data-show=")); // nothing of it is on the timeline
    BOOST_TEST(lacks(page, "fixes an error"));
}

BOOST_AUTO_TEST_CASE(a_job_has_what_has_no_price) {
    const std::string job = trace_without_price() + ".umjob";
    printed({"merge", "-f", "-o", job, trace_without_price()});
    const std::string text = printed({"report", job});
    BOOST_TEST(contains(text, "UMA-217"));
    BOOST_TEST(contains(text, "on 1 of 1 rank · saving not known\n"));
    const auto document = nlohmann::json::parse(printed({"report", "--json", job}));
    BOOST_TEST(document.at("findings").at(0).at("unpriced") == true);
}

BOOST_AUTO_TEST_CASE(diff_and_check_have_what_has_no_price) {
    const std::string path = trace_without_price(), with = path + "-with", without = path + "-without";
    std::filesystem::rename(path, with);
    Machine clean(MemoryMode::coherent_cdmm);
    clean.reach(clean.range(8 * mib), 2, clean.line);
    std::filesystem::rename(clean.path(), without);
    BOOST_TEST(contains(
        printed({"diff", without, with}),
        "+ UMA-217 kernels access pageable memory across the link again and again   saving not known"));
    const auto document = nlohmann::json::parse(printed({"diff", "--json", with, without}));
    BOOST_TEST(document.at("went").at(0).at("unpriced") == true);
    BOOST_TEST(document["before"]["findings"] == 1);
    BOOST_TEST(contains(printed({"diff", with, with}), "= 1 unchanged"));

    BOOST_TEST(contains(printed({"check", "--baseline", without, with}),
                        "none is new but 1 of less than medium confidence"));
    BOOST_TEST(contains(printed({"check", "--fail-on", "low", "--baseline", without, with}, 3),
                        "saving not known · confidence low"));
    printed({"report", "--fail-on", "low", with}, 3);
    printed({"report", "--fail-on", "medium", with});
}

BOOST_AUTO_TEST_SUITE_END()
