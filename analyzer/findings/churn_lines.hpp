/// Memory that is taken and given back again and again, by the line that takes it.
#pragma once

#include "analyzer/findings/edited_calls.hpp"
#include "analyzer/findings/finding.hpp"

#include <initializer_list>
#include <map>

namespace umadvisor::findings {

struct ChurnLine {
    std::uint64_t pairs = 0, bytes = 0, entry = 0, free_stack = 0, free_entry = 0;
    std::uint64_t peak_live = 0, largest_bytes = 0;
    EditedCalls calls;  ///< the allocations
    double kept_ns = 0; ///< what it costs to make as many once, each of the largest size, and to free them once
    double alloc_ns = 0, free_ns = 0, own_free_ns = 0, lifetime_ns = 0;
    std::uint64_t most = 0; ///< pairs of the site that `free_stack` is of
};

/// By line, of these kinds of memory.
std::map<std::uint64_t, ChurnLine> churn_lines(const model::Profile& profile, const LineOf& line_of,
                                               std::initializer_list<trace::Memory> memories);

/// The time that the program saves when it makes one set of the largest size and keeps it.
double spared_ns(const ChurnLine& line);

} // namespace umadvisor::findings
