/// What runs with --act have learned, for the next one to follow from its first launch on.
#pragma once

#include "analyzer/advice/report.hpp"
#include "analyzer/reports/plan/plan_staging.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace umadvisor::reports {

/// Takes the traces of several processes or runs together.
class Plan {
public:
    void add(advice::Report& report);
    bool empty() const {
        return returns_.empty() && staging_.empty() && std::ranges::all_of(never_, &PlanEntries::empty);
    }

    /// The document that docs/plan.md describes.
    nlohmann::ordered_json document() const;

private:
    bool add_modes(const advice::Report& report);
    void add_returns(advice::Report& report);
    void add_shared(advice::Report& report, PlanEntries& never);

    std::set<std::string> modes_, programs_;
    PlanEntries returns_;
    PlanNever never_;
    PlanStaging staging_;
    std::set<std::uint64_t> given_up_; ///< in one of the runs at least
};

} // namespace umadvisor::reports
