/// The findings on a scenario, and what tests ask of them. Call stacks are their own lines.
#pragma once

#include "analyzer/advice/findings.hpp"
#include "analyzer/rules/finding.hpp"
#include "analyzer/rules/words.hpp"
#include "scenario.hpp"
#include "text.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::test {

using rules::Confidence;
using rules::Finding;
using trace::Memory;

inline const auto close = boost::test_tools::tolerance(0.001);
/// Of savings by replay: the first call begins at time 0, and nothing can be earlier.
inline const auto nearly = boost::test_tools::tolerance(0.01);

inline std::uint64_t own_line(std::uint64_t stack) {
    return stack;
}

/// Advice for a calibrated card tells no figure of the one that prices are from where nothing was calibrated.
inline void check_figures(const std::string& path) {
    machine::Rates other;
    std::vector<std::string> usual{"H200"};
    machine::Rates::each(other, [&usual](std::string_view name, double& value) {
        // How fast a trace's own pageable copies were is told as it was measured, and scenarios have the
        // H200's.
        if (value > 0 && name.ends_with("bytes_per_s") && name.find("pageable") == std::string_view::npos)
            usual.push_back(" " + text::rate_text(value));
        value *= 1.0371;
    });
    other.device = "Odd Card";
    reader::Trace trace(path);
    const rules::Profile profile(trace, nullptr, other);
    for (const Finding& finding : advice::find_all(profile, own_line).all) {
        std::string text = finding.title + "\n" + finding.summary + "\n" + finding.advice + "\n" +
                           finding.basis + "\n" + finding.allocation_text;
        for (const std::string& detail : finding.details)
            text += "\n" + detail;
        for (const std::string& figure : usual)
            BOOST_TEST(text.find(figure) == std::string::npos,
                       finding.rule->id << " tells " << figure << ": " << text);
    }
}

using Found = std::vector<Finding>;

inline Found findings_of(Scenario& scenario, const machine::Rates& rates = {}) {
    const std::string path = scenario.path();
    check_figures(path);
    reader::Trace trace(path);
    const rules::Profile profile(trace, nullptr, rates);
    return advice::find_all(profile, own_line).all;
}

/// Those of the rules whose ids begin so.
inline Found of_rule(Found found, std::string_view rule) {
    std::erase_if(found, [rule](const Finding& finding) { return !finding.rule->id.starts_with(rule); });
    return found;
}

/// All but those.
inline Found without_rule(Found found, std::string_view rule) {
    std::erase_if(found, [rule](const Finding& finding) { return finding.rule->id.starts_with(rule); });
    return found;
}

/// "UMA-101 UMA-103"
inline std::string rules_of(const Found& found) {
    std::string rules;
    for (const Finding& finding : found)
        rules += (rules.empty() ? "" : " ") + std::string(finding.rule->id);
    return rules;
}
inline std::string rules_of(Scenario& scenario) {
    return rules_of(findings_of(scenario));
}

inline Finding lone(const Found& found, std::string_view rule) {
    BOOST_REQUIRE_EQUAL(rules_of(found), rule);
    return found.front();
}
inline Finding lone(Scenario& scenario, std::string_view rule, const machine::Rates& rates = {}) {
    return lone(findings_of(scenario, rates), rule);
}

inline void nothing_in(const Found& found) {
    for (const Finding& finding : found)
        BOOST_ERROR("found " << finding.rule->id << ": " << finding.summary);
}
inline void nothing_in(Scenario& scenario) {
    nothing_in(findings_of(scenario));
}

/// The one of the rule, whatever else was found.
inline Finding among(const Found& found, std::string_view rule) {
    return lone(of_rule(found, rule), rule);
}
inline bool tells(const Found& found, std::string_view rule) {
    return !of_rule(found, rule).empty();
}

/// The line beside its own, where there is one.
inline std::uint64_t place(const Finding& finding) {
    BOOST_REQUIRE_EQUAL(finding.places.size(), 1u);
    return finding.places.front().second;
}

inline double evidence(const Finding& finding, std::string_view key) {
    const auto found = std::ranges::find(finding.evidence, key, &std::pair<std::string_view, double>::first);
    if (found == finding.evidence.end()) {
        BOOST_ERROR("no evidence " << key);
        return 0;
    }
    return found->second;
}

} // namespace umadvisor::test
