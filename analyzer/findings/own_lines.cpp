#include "analyzer/findings/own_lines.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace umadvisor::findings {
namespace {

const std::string touched_by_library =
    "the host touches it here, in a library that the program called; the caller was not recorded";

} // namespace

void prefer_own_lines(std::vector<Finding>& findings, const std::function<bool(std::uint64_t)>& is_own) {
    for (Finding& finding : findings) {
        if (!finding.touched_by_host || is_own(finding.stack))
            continue;
        const auto own = std::ranges::find_if(
            finding.places, [&](const auto& place) { return place.second != 0 && is_own(place.second); });
        if (own != finding.places.end()) {
            finding.summary += "; " + std::exchange(own->first, touched_by_library);
            std::swap(finding.stack, own->second);
        } else if (finding.allocation_stack != 0 && is_own(finding.allocation_stack)) {
            finding.places.emplace(finding.places.begin(), touched_by_library, finding.stack);
            finding.stack = finding.allocation_stack;
        }
    }
}

} // namespace umadvisor::findings
