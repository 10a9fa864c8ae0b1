/// Findings with all that a report shows of them looked up.
#pragma once

#include "analyzer/advice/report.hpp"
#include "analyzer/symbols/code_place.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace umadvisor::advice {

struct ResolvedPlace {
    std::string what;         ///< was seen there, or stands there
    ids::StackId stack{};     ///< 0: none was recorded
    symbols::CodePlace place; ///< empty without a stack
    std::string source;       ///< text of the line; empty: not known, or not to be shown

    std::string text() const; ///< "main.cu:12 in main()"; "no stack recorded"
};

/// Reads the source file of its line.
ResolvedPlace resolve_place(Report& report, ids::StackId stack, std::string what);

/// One part of a remedy.
struct ResolvedEdit {
    rules::EditKind kind{};
    std::string text;
    ResolvedPlace at;
};

/// The one view that text, JSON, Markdown, SARIF and the page are written from. Refers to the finding.
struct ResolvedFinding {
    const rules::Finding& finding;
    ResolvedPlace line; ///< the offending one, and the summary
    std::optional<ResolvedPlace>
        memory; ///< the allocation concerned; without a stack where its line is not known
    std::vector<ResolvedPlace> others; ///< further lines that matter
    std::vector<ResolvedEdit> remedy;  ///< the advice, line by line
    std::string verify;                ///< a command line that shows whether the remedy pays
};

/// Reads the source files of its lines.
ResolvedFinding resolve(Report& report, const rules::Finding& finding);

} // namespace umadvisor::advice
