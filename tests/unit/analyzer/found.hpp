/// The findings on a scenario, and what tests ask of them. Call stacks are their own lines unless a test says
/// more.
#pragma once

#include "analyzer/advice/findings.hpp"
#include "analyzer/rules/finding.hpp"
#include "reported.hpp"
#include "scenario.hpp"
#include "text.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <sstream>
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

inline ids::StackId own_line(ids::StackId stack) {
    return stack;
}

using Found = std::vector<Finding>;

/// Of a suite, "UMA-501 UMA-506": its tests see the findings of these rules alone. What all rules say of the
/// same programs is in reported.txt.
class on_rules : public boost::unit_test::decorator::base {
public:
    explicit on_rules(std::string ids) : ids_(std::move(ids)) {}

private:
    void apply(boost::unit_test::test_unit& unit) override {
        std::istringstream ids(ids_);
        for (std::string id; ids >> id;)
            unit.add_label(id);
    }
    boost::unit_test::decorator::base_ptr clone() const override {
        return boost::unit_test::decorator::base_ptr(new on_rules(ids_));
    }

    std::string ids_;
};

/// The findings of the rules that the running test's suite is about.
inline Found of_suite(Found found) {
    namespace framework = boost::unit_test::framework;
    const boost::unit_test::test_unit* unit = &framework::current_test_case();
    while (unit->p_labels->empty() && unit->p_parent_id != boost::unit_test::INV_TEST_UNIT_ID)
        unit = &framework::get(unit->p_parent_id, boost::unit_test::TUT_SUITE);
    const std::vector<std::string>& ids = unit->p_labels;
    std::erase_if(found, [&ids](const Finding& finding) {
        return !ids.empty() && std::ranges::find(ids, finding.rule->id) == ids.end();
    });
    return found;
}

inline Found findings_of(Scenario& scenario, const machine::Rates& rates = {},
                         const rules::LineOf& line_of = own_line) {
    const std::string path = scenario.path();
    reader::Trace trace(path);
    const rules::Profile profile(trace, nullptr, rates);
    Found found = advice::find_all(profile, line_of).all;
    write_reported(boost::unit_test::framework::current_test_case().full_name(), path, found);
    return of_suite(std::move(found));
}

/// Those of the rules whose ids begin so.
inline Found of_rule(Found found, std::string_view rule) {
    std::erase_if(found, [rule](const Finding& finding) { return !finding.rule->id.starts_with(rule); });
    return found;
}

/// Those at this line.
inline Found of_line(Found found, std::uint64_t stack) {
    std::erase_if(found, [stack](const Finding& finding) { return finding.stack != stack; });
    return found;
}

/// "UMA-101 UMA-103"
inline std::string rules_of(const Found& found) {
    std::string rules;
    for (const Finding& finding : of_suite(found))
        rules += (rules.empty() ? "" : " ") + std::string(finding.rule->id);
    return rules;
}
inline std::string rules_of(Scenario& scenario) {
    return rules_of(findings_of(scenario));
}

inline Finding lone(const Found& found, std::string_view rule) {
    BOOST_REQUIRE_EQUAL(rules_of(found), rule);
    return of_suite(found).front();
}
inline Finding lone(Scenario& scenario, std::string_view rule, const machine::Rates& rates = {}) {
    return lone(findings_of(scenario, rates), rule);
}

inline void nothing_in(const Found& found) {
    for (const Finding& finding : of_suite(found))
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
inline ids::StackId place(const Finding& finding) {
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
