/// Marks of the findings on the timeline.
#pragma once

#include "analyzer/advice/report.hpp"
#include "analyzer/reports/html/timeline/timeline.hpp"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
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

} // namespace umadvisor::html
