/// The findings that a diff names, and whether the new run still has each.
#pragma once

#include "analyzer/cli/prove/diff_file.hpp"
#include "analyzer/reports/comparison/reported.hpp"

#include <cstdint>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace umadvisor::cli {

struct NamedFinding {
    enum class Fate : std::uint8_t {
        unseen, ///< the old program's run does not have it
        gone,
        left,
        unknown ///< a run failed
    };
    std::string name; ///< "UMA-407 page-locked again, a.cu:7 in main()"
    Fate fate = Fate::unseen;
    /// Where it is left: what it still saves, in all processes, and whether that is known.
    double saving_ns = 0;
    std::uint64_t saving_bytes = 0;
    bool unpriced = false;
};

/// Those that the text of the diff names, in its order, by the reports of runs before and after it. Their fate
/// is unknown where a run failed, which has none.
std::vector<NamedFinding> named_findings(const DiffFile& diff,
                                         const std::optional<reports::ReportedRuns>& before,
                                         const std::optional<reports::ReportedRuns>& after);

/// A line.
void write_text(const NamedFinding& finding, std::ostream& out);
/// `finding`, `state` ("gone", "still there", "not found before", "not known"), and for one that is left
/// `saving_ns`, `saving_bytes` and `unpriced`.
nlohmann::ordered_json to_json(const NamedFinding& finding);

} // namespace umadvisor::cli
