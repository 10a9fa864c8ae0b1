/// Memory, graphs, streams and events that the program makes and gives up again and again, by the line that
/// makes them.
#pragma once

#include "analyzer/rules/allocation/churn.hpp"
#include "analyzer/rules/line_rule.hpp"

#include <initializer_list>
#include <map>

namespace umadvisor::rules {

struct ChurnLine {
    std::uint64_t pairs = 0, bytes = 0, entry = 0;
    ids::StackId free_stack{};
    std::uint64_t free_entry = 0;
    std::uint64_t peak_live = 0, largest_bytes = 0;
    std::uint64_t upkeep_calls = 0;    ///< on each that one which stays needs once: advice, access rights
    std::uint64_t uses = 0, alike = 0; ///< of graphs, as in ChurnTotals
    EditedCalls calls;                 ///< that make them
    double kept_ns = 0; ///< what it costs to make as many once, each of the largest size, and to free them once
    bool slab = false;  ///< `kept_ns` is the price of one managed allocation that holds many small ones
    double alloc_ns = 0, upkeep_ns = 0, free_ns = 0, own_free_ns = 0, lifetime_ns = 0, built_ns = 0;
    std::uint64_t most = 0; ///< pairs of the site that `free_stack` is of
};

/// By line, of these kinds.
std::map<ids::StackId, ChurnLine> churn_lines(const Profile& profile, const LineOf& line_of,
                                              std::initializer_list<Made> kinds);

/// The time that the program saves when it makes one set of the largest size and keeps it.
double spared_ns(const ChurnLine& line);

/// A finding but for summary, advice and basis.
Finding churn_finding(const Profile& profile, const ChurnLine& line, std::string_view end_place);

} // namespace umadvisor::rules
