#include "analyzer/text/columns.hpp"

#include <algorithm>

namespace umadvisor::text {

std::size_t columns(std::string_view text) {
    return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, continues));
}

std::string cut(const std::string& text, std::size_t width) {
    if (columns(text) <= width)
        return text;
    std::size_t at = 0, seen = 0;
    while (at < text.size() && (continues(text[at]) || seen + 1 < width))
        seen += !continues(text[at++]);
    return text.substr(0, at) + "…";
}

} // namespace umadvisor::text
