#include "analyzer/rules/unknown_work.hpp"

#include <algorithm>
#include <span>
#include <string_view>

namespace umadvisor::rules {
namespace {

bool calls_any(const Profile& profile, std::span<const std::string_view> parts) {
    return std::ranges::any_of(profile.counted(), [&](const CountedEntry& called) {
        return std::ranges::any_of(
            parts, [&](std::string_view part) { return called.symbol.find(part) != std::string_view::npos; });
    });
}

} // namespace

bool work_is_unknown(const Profile& profile) {
    constexpr std::string_view queueing[] = {
        "cuLaunch", "cuGraphUpload", "cuGraphics", "Decompress", "ExternalSemaphoresAsync",
        "cuGL",     "cuEGL",         "cuVDPAU"};
    return profile.dropped() != 0 || calls_any(profile, queueing);
}

bool memory_use_is_unknown(const Profile& profile) {
    constexpr std::string_view hiding[] = {"cuTexObjectCreate", "cuTexRefSetAddress", "cuSurfObjectCreate",
                                           "cuTensorMap"};
    return work_is_unknown(profile) || !profile.trace().file.completeness().whole() ||
           calls_any(profile, hiding);
}

} // namespace umadvisor::rules
