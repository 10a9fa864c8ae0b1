/// Marks of the findings on the timeline.
#pragma once

#include "analyzer/advice/report.hpp"
#include "analyzer/reports/html/timeline/timeline.hpp"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <vector>

namespace umadvisor::html {

struct FindingMarks {
    nlohmann::ordered_json list;       ///< one for each finding
    std::vector<ids::StackId> details; ///< that these lead to, by their stacks: the page has them
};

/// `line_numbers`: of Timeline::lines, in the page.
FindingMarks finding_marks(advice::Report& report, const Timeline& timeline,
                           const std::unordered_map<std::size_t, std::size_t>& line_numbers);

/// The time at which a finding costs most, as the page marks it; nanoseconds since the trace began.
struct FindingTime {
    double at = 0; ///< 0: no call of its lines and no move of its memory is known
    struct Round {
        double begin = 0, end = 0;
    };
    std::optional<Round> worst, typical; ///< rounds of the loop, as the page's buttons go through them
};

/// One for each finding of the report, then for each without a price. Reads the trace once more.
std::vector<FindingTime> finding_times(advice::Report& report);

} // namespace umadvisor::html
