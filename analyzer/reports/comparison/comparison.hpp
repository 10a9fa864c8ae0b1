/// What is different between two runs, by their reports.
#pragma once

#include "analyzer/reports/comparison/reported.hpp"

#include <functional>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace umadvisor::reports {

/// Findings by what became of them, in each list those that matter most first.
struct Comparison {
    struct Pair {
        ReportedFinding before, after;
    };
    std::vector<ReportedFinding> went, came;
    std::vector<Pair> changed; ///< in both, with savings that are not alike
    std::vector<Pair> same;    ///< in both, with savings that are
};

/// Returns the number that a line of `before` has in `after`; 0: it was changed or removed.
using MovedLine = std::function<int(const symbols::CodePlace&)>;

/// docs/comparison.md says when two findings are one. Where the change is known by its lines (`moved`),
/// findings of lines that it left as they were belong together before others of their function.
Comparison compare(const ReportedRuns& before, const ReportedRuns& after, const MovedLine& moved = {});

/// A side of a comparison as it was named.
struct ComparedSide {
    std::string file;
    ReportedRuns runs;
};

/// What became of the time of a run, as words: "1.2 s -> 1.5 s, 300 ms slower (25%)". Neither slower nor
/// faster: both times are alike. No text: a time is not known.
struct RunChange {
    bool slower = false, faster = false;
    std::string text;
};
RunChange run_change(double before_ns, double after_ns);

/// What `umadvisor diff` prints.
void write_text(const ComparedSide& before, const ComparedSide& after, std::ostream& out);
/// The document that docs/comparison.md describes.
nlohmann::ordered_json to_json(const ComparedSide& before, const ComparedSide& after);

/// A finding as `umadvisor check` shows it.
void write_text(const ReportedFinding& finding, std::ostream& out);

} // namespace umadvisor::reports
