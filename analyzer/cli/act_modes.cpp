#include "analyzer/cli/act_modes.hpp"

#include <algorithm>
#include <sstream>

namespace umadvisor::cli {

std::string act_trouble(const std::string& list, std::span<const std::string_view> modes) {
    std::istringstream named(list);
    for (std::string mode; std::getline(named, mode, ',');) {
        if (mode.empty() || std::ranges::find(modes, mode) != modes.end())
            continue;
        std::string text = "--act takes";
        for (const char* separator = " "; const std::string_view known : modes) {
            text += separator;
            text += known;
            separator = ", ";
        }
        return text + " (several with commas between), not " + mode;
    }
    return {};
}

} // namespace umadvisor::cli
