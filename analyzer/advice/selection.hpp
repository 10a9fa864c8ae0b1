/// Which findings a report keeps.
#pragma once

#include "analyzer/advice/report.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::advice {

/// "RULE", "RULE@FILE" or "RULE@FILE:LINE"; a rule is its id or its name, a file the end of a path.
struct FindingPattern {
    const rules::Rule* rule = nullptr;
    std::string file; ///< empty: any
    int line = 0;     ///< 0: any
};

/// Throws Error when there is no such rule, or nothing stands after the "@".
FindingPattern parse_pattern(std::string_view text);

/// The patterns of a suppressions file: one a line; empty lines and those that begin with '#' are passed over.
/// Throws Error, naming the line, for what is none, and when the file cannot be read.
std::vector<FindingPattern> read_suppressions(const std::string& path);

struct Selection {
    std::vector<FindingPattern> only; ///< none: all
    std::vector<FindingPattern> ignored;

    /// Whether a finding of this rule is left, which has `places` to its lines.
    bool keeps(std::string_view rule, std::span<const symbols::CodePlace> places) const;

    /// Takes the others out of `report`, and counts them there. A pattern with a file speaks of the offending
    /// line and of the allocation's.
    void apply(Report& report) const;
};

} // namespace umadvisor::advice
