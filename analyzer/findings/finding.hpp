/// Advice, and where it comes from.
#pragma once

#include "analyzer/findings/rules.hpp"
#include "analyzer/model/profile.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace umadvisor::findings {

/// Less than this in all is not worth changing a program for.
inline constexpr double least_saving_ns = 100'000;

enum class Confidence : std::uint8_t { low, medium, high };
std::string_view name(Confidence confidence);

struct Finding {
    const Rule* rule = nullptr;
    std::string title;
    std::string summary; ///< what was seen at the offending line, in one sentence
    std::vector<std::pair<std::string_view, double>> evidence; ///< the same in numbers; keys end in their unit
    std::vector<std::string> details;                          ///< further sentences
    std::uint64_t stack = 0;                                   ///< offending line; 0: none recorded
    std::uint64_t allocation_stack = 0; ///< line of the CUDA allocation concerned; 0: none
    std::string allocation_text; ///< "cudaMallocManaged 32 MiB"; empty where no CUDA allocation is concerned
    std::vector<std::pair<std::string, std::uint64_t>> places; ///< further lines that matter: what and stack
    std::string advice;                                        ///< what to write instead
    double saving_ns = 0;
    std::string basis; ///< what the saving was worked out from
    Confidence confidence{};
    std::vector<const Rule*> parts; ///< rules that speak of the same moves, and save less
};

/// Maps a stack to one that stands for all stacks with the same line of the program, so that a line which is
/// reached by many ways is one finding.
using LineOf = std::function<std::uint64_t(std::uint64_t stack)>;

// Each looks at a profile and reports a place once.
std::vector<Finding> find_pageable_copies(const model::Profile& profile, const LineOf& line_of);
std::vector<Finding> find_small_copies(const model::Profile& profile, const LineOf& line_of);
std::vector<Finding> find_narrow_rows(const model::Profile& profile, const LineOf& line_of);
std::vector<Finding> find_managed_copies(const model::Profile& profile, const LineOf& line_of);
std::vector<Finding> find_serial_copies(const model::Profile& profile, const LineOf& line_of);
std::vector<Finding> find_default_stream(const model::Profile& profile, const LineOf& line_of);
std::vector<Finding> find_through_host(const model::Profile& profile, const LineOf& line_of);
std::vector<Finding> find_scalar_downloads(const model::Profile& profile, const LineOf& line_of);
std::vector<Finding> find_allocation_churn(const model::Profile& profile, const LineOf& line_of);
std::vector<Finding> find_redundant_syncs(const model::Profile& profile, const LineOf& line_of);
std::vector<Finding> find_managed(const model::Profile& profile,
                                  const LineOf& line_of); ///< all on managed memory

/// Whether the device may have had work of which the trace tells no more than how often it was queued.
bool work_is_untold(const model::Profile& profile);

/// No change saves more than the time that was recorded.
double within_recorded(const model::Profile& profile, double saving_ns);

/// Findings of all rules, those that save most first.
std::vector<Finding> find_all(const model::Profile& profile, const LineOf& line_of);

} // namespace umadvisor::findings
