/// Reports that were written as JSON, read again: as much of them as a comparison needs.
#pragma once

#include "analyzer/rules/finding.hpp"
#include "analyzer/symbols/code_place.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace umadvisor::reports {

struct ReportedFinding {
    std::string rule, name; ///< the id, where the catalogue has the rule
    std::string title, advice;
    std::string line_text;                    ///< empty without a line
    symbols::CodePlace line, allocation_line; ///< as far as the report knows them
    double saving_ns = 0;
    std::uint64_t saving_bytes = 0;
    bool unpriced = false; ///< what it saves was not known
    rules::Confidence confidence{};
};

/// Moves and faults of managed memory.
struct ReportedMoves {
    std::uint64_t bytes_to_device = 0, bytes_to_host = 0;
    std::optional<std::uint64_t> host_faults; ///< nothing: never recorded
};

/// Calls of one function, on all threads.
struct ReportedCalls {
    std::uint64_t count = 0, failed = 0, time_ns = 0;
};

struct ReportedCopies {
    std::uint64_t count = 0, bytes = 0, time_ns = 0;
};

/// Direction, and the kinds of memory copied from and to.
using CopyKind = std::array<std::string, 3>;

struct ReportedTotals {
    std::uint64_t reports = 0, findings = 0;
    double saving_ns = 0;
    std::string program;           ///< of the first report
    std::uint64_t duration_ns = 0; ///< of all processes, one after the other
    std::uint64_t recorded_ns = 0; ///< of it, in no pause
    std::uint64_t net_ns = 0;      ///< of that, what did not go into making contexts
    ReportedCopies copies;         ///< in all
    std::map<CopyKind, ReportedCopies> copies_of_kind;
    std::map<std::string, ReportedCalls> calls; ///< by the name that the program called
    std::optional<ReportedMoves> managed;       ///< nothing: no report has managed memory
    std::uint64_t moves_unknown = 0;            ///< reports on managed memory whose moves were not counted
};

/// One or several reports, added up.
class ReportedRuns {
public:
    /// `text` is what `umadvisor report --json` writes, and `path` names it in errors. Throws Error, one line,
    /// for anything else. Returns whether less of the report's trace could be read than was recorded.
    bool add(const std::string& path, std::string_view text);

    /// Takes findings out that `keep` does not want.
    template <class Keep>
    void keep_only(const Keep& keep) {
        std::erase_if(findings_, [&](const ReportedFinding& finding) { return !keep(finding); });
    }

    const std::deque<ReportedFinding>& findings() const { return findings_; }
    /// Whether add() has returned so.
    bool lacks_records() const { return lacks_records_; }
    ReportedTotals totals() const;

private:
    std::deque<ReportedFinding> findings_; ///< no vector, which holds twice as many while it grows
    bool lacks_records_ = false;
    ReportedTotals totals_; ///< without what findings_ holds
};

} // namespace umadvisor::reports
