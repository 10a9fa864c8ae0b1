/// A report's JSON, part by part.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

namespace umadvisor::reports {

using ReportedJson = nlohmann::json; // the one that finds keys by a tree: who wrote the file is not known

/// Gets the parts of one or several reports in the order in which they stand in the document.
struct ReportedPartVisitor {
    std::function<void()> begin, end; ///< of a report, and of what stands in its place and is no object
    /// A member of a report that comparisons look at; of "findings", "unpriced", "copies" and "calls" an empty
    /// list, and each element of it for `row`. Either holds the members whose names some part of a report has
    /// that is compared, texts and numbers and objects of such; lists in them are empty.
    std::function<void(std::string_view member, const ReportedJson&value)> part, row;
};

/// `text` may be anything; false: it is no JSON, or it is cut. Only one part is held at a time, and of that
/// four objects inside each other: a tree of the document would take up to 75 times its bytes, most of it for
/// what no comparison looks at. What is left out costs a bit for each container that is open.
bool visit_reported(std::string_view text, const ReportedPartVisitor& visitor);

} // namespace umadvisor::reports
