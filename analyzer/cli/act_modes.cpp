#include "analyzer/cli/act_modes.hpp"

#include <algorithm>
#include <sstream>

namespace umadvisor::cli {
namespace {

bool is_mode(std::string_view text, std::string_view mode) {
    constexpr std::string_view any_file = "FILE";
    if (!mode.ends_with("=FILE"))
        return text == mode;
    mode.remove_suffix(any_file.size());
    return text.starts_with(mode) && text.size() > mode.size();
}

} // namespace

std::string act_trouble(const std::string& list, std::span<const std::string_view> modes) {
    std::istringstream named(list);
    for (std::string mode; std::getline(named, mode, ',');) {
        if (mode.empty() ||
            std::ranges::any_of(modes, [&](std::string_view known) { return is_mode(mode, known); }))
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
