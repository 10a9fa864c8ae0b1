#include "analyzer/reports/html/markup.hpp"

#include "analyzer/reader/plain.hpp"
#include "analyzer/reader/shown_name.hpp"

namespace umadvisor::html {

std::string escaped(std::string_view text) {
    constexpr std::size_t longest = 4096;
    std::string result;
    for (const char c : reader::plain(reader::shown_name(text, longest)))
        switch (c) {
        case '&':
            result += "&amp;";
            break;
        case '<':
            result += "&lt;";
            break;
        case '>':
            result += "&gt;";
            break;
        case '"':
            result += "&quot;";
            break;
        case '\'':
            result += "&#39;";
            break;
        default:
            result += c;
        }
    return result;
}

Markup& Markup::element(std::string_view tag, std::string_view text_of_it) {
    markup("<").markup(tag).markup(">").text(text_of_it);
    return markup("</").markup(tag.substr(0, tag.find(' '))).markup(">");
}

} // namespace umadvisor::html
