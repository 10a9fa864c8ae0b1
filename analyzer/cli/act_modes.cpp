#include "analyzer/cli/act_modes.hpp"

#include "trace/size_text.hpp"

#include <algorithm>
#include <sstream>

namespace umadvisor::cli {
namespace {

/// `known` may have SIZE in it, or end in FILE, which any name is.
bool is(std::string_view mode, std::string_view known) {
    constexpr std::string_view any_file = "FILE";
    if (known.ends_with(any_file))
        return mode.starts_with(known.substr(0, known.size() - any_file.size())) &&
               mode.size() > known.size() - any_file.size();
    const std::size_t size = known.find("SIZE");
    if (size == std::string_view::npos)
        return mode == known;
    const std::string_view before = known.substr(0, size), after = known.substr(size + 4);
    std::uint64_t bytes = 0;
    return mode.starts_with(before) && mode.ends_with(after) && mode.size() > before.size() + after.size() &&
           trace::parse_size(mode.substr(size, mode.size() - before.size() - after.size()), bytes);
}

} // namespace

std::string act_trouble(const std::string& list, std::span<const std::string_view> modes) {
    std::istringstream named(list);
    for (std::string mode; std::getline(named, mode, ',');) {
        if (mode.empty() || std::ranges::any_of(modes, [&](auto known) { return is(mode, known); }))
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
