#include "analyzer/findings/untold_work.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace umadvisor::findings {

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

} // namespace umadvisor::findings
