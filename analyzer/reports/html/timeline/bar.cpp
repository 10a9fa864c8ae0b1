#include "analyzer/reports/html/timeline/bar.hpp"

#include <cstdio>
#include <fmt/core.h>

namespace umadvisor::html {

std::string percent(double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2f%%", share * 100);
    return text;
}

void begin_legend_entry(Markup& out, std::string_view colour, std::string_view words) {
    out.markup("<li><svg class=\"sw\" aria-hidden=\"true\"><rect class=\"c-").markup(colour);
    out.markup("\" width=\"100%\" height=\"100%\"/></svg>").text(words);
}

Bar::Bar(std::string_view label) {
    out_.markup("<svg class=\"bar\" width=\"100%\" height=\"24\" role=\"img\" aria-label=\"")
        .text(label)
        .markup("\">");
}

void Bar::part(double share, std::string_view colour, std::string_view words, const std::string& title) {
    constexpr double least = 0.0005, chars_of_bar = 115;
    if (share < least)
        return;
    out_.markup(fmt::format("<svg x=\"{}\" width=\"{}\" height=\"24\"><title>", percent(at_), percent(share)));
    out_.text(title)
        .markup("</title><rect class=\"c-")
        .markup(colour)
        .markup("\" width=\"100%\" height=\"24\"/>");
    if (share * chars_of_bar > static_cast<double>(words.size()))
        out_.markup("<text class=\"t-")
            .markup(colour)
            .markup("\" x=\"6\" y=\"16\">")
            .text(words)
            .markup("</text>");
    out_.markup(
        "<rect class=\"edge\" x=\"100%\" width=\"2\" height=\"24\" transform=\"translate(-1)\"/></svg>");
    at_ += share;
}

std::string Bar::str() {
    out_.markup("</svg>");
    return out_.str();
}

} // namespace umadvisor::html
