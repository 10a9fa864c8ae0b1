#include "analyzer/findings/finding.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace umadvisor::findings {

std::string_view name(Confidence confidence) {
    constexpr std::array<std::string_view, 3> names{"low", "medium", "high"};
    return names[static_cast<std::size_t>(confidence)];
}

std::vector<Finding> find_all(const model::Profile& profile, const LineOf& line_of) {
    std::vector<Finding> all;
    for (const auto find : {&find_pageable_copies, &find_small_copies, &find_ping_pongs, &find_first_touches})
        std::ranges::move(find(profile, line_of), std::back_inserter(all));
    std::ranges::stable_sort(all, std::ranges::greater{}, &Finding::saving_ns);
    return all;
}

} // namespace umadvisor::findings
