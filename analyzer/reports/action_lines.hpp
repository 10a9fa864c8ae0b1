/// What umadvisor did to the program (--act), what it gained, and what it refused.
#pragma once

#include "analyzer/advice/report.hpp"
#include "analyzer/tables/actions.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::reports {

/// Bytes that were prefetched for nothing.
struct WastedBytes {
    std::uint64_t there = 0;  ///< they did not move
    std::uint64_t unused = 0; ///< they moved, and left again before they could be used
    std::uint64_t sum() const;
};

struct ActionPlace {
    ids::StackId stack{}; ///< of the program's call that it was done for
    tables::ActionTotals totals;
    WastedBytes wasted;
    std::optional<double> gain_ns; ///< below zero: the program was slower with it; nothing: not known
};

struct ActionLine {
    tables::ActionKind kind{};
    tables::ActionTotals totals;
    WastedBytes wasted;
    std::optional<double> gain_ns;
    std::string basis;               ///< of the gain, in a sentence without its end
    std::vector<ActionPlace> places; ///< those that gained most first
};

std::vector<ActionLine> action_lines(const advice::Report& report);

/// Whether a notice of the recorder is about --act: what was refused or switched off, and why.
bool is_action_notice(const trace::Notice& notice);

/// Whether there is anything to report about --act.
bool has_actions(const advice::Report& report);

} // namespace umadvisor::reports
