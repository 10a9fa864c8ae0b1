/// The findings on a scenario, and what tests ask of them. Call stacks are their own lines.
#pragma once

#include "analyzer/findings/finding.hpp"
#include "analyzer/findings/words.hpp"
#include "scenario.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::test {

inline const auto close = boost::test_tools::tolerance(0.001);
/// Of savings by replay: the first call begins at time 0, and nothing can be earlier.
inline const auto nearly = boost::test_tools::tolerance(0.01);

/// Advice for a calibrated card tells no figure of the one that prices are from where nothing was calibrated.
inline void check_figures(const std::string& path) {
    machine::Rates other;
    std::vector<std::string> usual{"H200"};
    machine::Rates::each(other, [&usual](std::string_view name, double& value) {
        // How fast a trace's own pageable copies were is told as it was measured, and scenarios have the
        // H200's.
        if (value > 0 && name.ends_with("bytes_per_s") && name.find("pageable") == std::string_view::npos)
            usual.push_back(" " + findings::rate_text(value));
        value *= 1.0371;
    });
    other.device = "Odd Card";
    reader::Trace trace(path);
    const model::Profile profile(trace, nullptr, other);
    for (const findings::Finding& finding :
         findings::find_all(profile, [](std::uint64_t stack) { return stack; }).all) {
        std::string text = finding.title + "\n" + finding.summary + "\n" + finding.advice + "\n" +
                           finding.basis + "\n" + finding.allocation_text;
        for (const std::string& detail : finding.details)
            text += "\n" + detail;
        for (const std::string& figure : usual)
            BOOST_TEST(text.find(figure) == std::string::npos,
                       finding.rule->id << " tells " << figure << ": " << text);
    }
}

inline std::vector<findings::Finding> findings_of(Scenario& scenario, const machine::Rates& rates = {}) {
    const std::string path = scenario.path();
    check_figures(path);
    reader::Trace trace(path);
    const model::Profile profile(trace, nullptr, rates);
    return findings::find_all(profile, [](std::uint64_t stack) { return stack; }).all;
}

inline std::vector<std::string> rules_of(const std::vector<findings::Finding>& found) {
    std::vector<std::string> rules;
    for (const findings::Finding& finding : found)
        rules.emplace_back(finding.rule->id);
    return rules;
}

inline findings::Finding lone(const std::vector<findings::Finding>& found, std::string_view rule) {
    BOOST_REQUIRE_EQUAL(found.size(), 1u);
    BOOST_TEST(found.front().rule->id == rule);
    return found.front();
}

inline void nothing_in(const std::vector<findings::Finding>& found) {
    for (const findings::Finding& finding : found)
        BOOST_ERROR("found " << finding.rule->id << ": " << finding.summary);
}

inline double evidence(const findings::Finding& finding, std::string_view key) {
    const auto found = std::ranges::find(finding.evidence, key, &std::pair<std::string_view, double>::first);
    if (found == finding.evidence.end()) {
        BOOST_ERROR("no evidence " << key);
        return 0;
    }
    return found->second;
}

} // namespace umadvisor::test
