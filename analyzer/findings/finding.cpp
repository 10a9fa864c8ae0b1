#include "analyzer/findings/finding.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

namespace umadvisor::findings {

std::string_view name(Confidence confidence) {
    constexpr std::array<std::string_view, 3> names{"low", "medium", "high"};
    return names[static_cast<std::size_t>(confidence)];
}

bool work_is_untold(const model::Profile& profile) {
    constexpr std::array<std::string_view, 8> queueing{
        "cuLaunch", "cuGraphUpload", "cuGraphics", "Decompress", "ExternalSemaphoresAsync",
        "cuGL",     "cuEGL",         "cuVDPAU"};
    return profile.dropped() != 0 || std::ranges::any_of(profile.counted(), [&](const auto& called) {
               return std::ranges::any_of(queueing, [&](std::string_view part) {
                   return called.symbol.find(part) != std::string_view::npos;
               });
           });
}

double within_recorded(const model::Profile& profile, double saving_ns) {
    const auto recorded = static_cast<double>(profile.recorded_ns());
    return recorded > 0 ? std::min(saving_ns, recorded) : saving_ns;
}

std::vector<Finding> find_all(const model::Profile& profile, const LineOf& line_of) {
    std::vector<Finding> all;
    for (const auto find :
         {&find_pageable_copies, &find_small_copies, &find_narrow_rows, &find_managed_copies,
          &find_serial_copies, &find_default_stream, &find_through_host, &find_scalar_downloads,
          &find_allocation_churn, &find_redundant_syncs, &find_managed})
        std::ranges::move(find(profile, line_of), std::back_inserter(all));
    for (Finding& finding : all)
        finding.saving_ns = within_recorded(profile, finding.saving_ns);
    std::ranges::stable_sort(all, std::ranges::greater{}, &Finding::saving_ns);
    return all;
}

} // namespace umadvisor::findings
