#include "analyzer/reports/html/shell.hpp"

#include "analyzer/reports/html/bundle.hpp"
#include "analyzer/reports/html/page.hpp"
#include "analyzer/text/json_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace umadvisor::html {
namespace {

/// Inside of a script element nothing may look like its end, or like a comment.
std::string script_text(const nlohmann::ordered_json& document) {
    const std::string text = text::json_text(document, -1);
    std::string result;
    result.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t next = std::min(text.find('<', at), text.size());
        result.append(text, at, next - at);
        if (next < text.size())
            result += "\\u003c";
        at = next + 1;
    }
    return result;
}

constexpr std::string_view patterns =
    "<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>"
    "<pattern id=\"p-hfault\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\"><rect "
    "class=\"b-hfault\" width=\"8\" height=\"8\"/>"
    "<path class=\"hatch\" d=\"M-2 10L10 -2M-6 6L6 -6M2 14L14 2\"/></pattern>"
    "<pattern id=\"p-dfault\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\"><rect "
    "class=\"b-dfault\" width=\"8\" height=\"8\"/>"
    "<path class=\"hatch\" d=\"M-2 -2L10 10M-6 2L6 14M2 -6L14 6\"/></pattern>"
    "<pattern id=\"p-launch\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\"><rect "
    "class=\"b-launch\" width=\"5\" height=\"5\"/>"
    "<circle class=\"dot\" cx=\"2.5\" cy=\"2.5\" r=\"0.9\"/></pattern></defs></svg>";

} // namespace

bool available() {
    return !bundle().script.empty();
}

void begin_page(Markup& out, const std::string& title, const std::vector<Section>& sections,
                std::string_view file) {
    const Bundle made_of = bundle();
    out.markup("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
               "content=\"width=device-width,initial-scale=1\"><meta http-equiv=\"Content-Security-Policy\" "
               "content=\"default-src 'none'; "
               "script-src '");
    out.markup(made_of.script_hash).markup("'; style-src '").markup(made_of.style_hash);
    out.markup("'; img-src data:; base-uri 'none'; form-action 'none'\"><meta name=\"referrer\" "
               "content=\"no-referrer\"><title>umadvisor: ");
    out.text(title)
        .markup("</title><link rel=\"icon\" href=\"data:,\"><style>")
        .markup(made_of.style)
        .markup("</style></head><body>");
    out.markup(patterns).markup("<a class=\"vh\" href=\"#").markup(sections.at(1).id).markup("\">Skip to the ");
    std::string second(sections[1].words);
    second.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(second.front())));
    out.markup(second).markup("</a><header class=\"top\"><div><b>umadvisor</b><nav aria-label=\"Sections\">");
    for (const Section& section : sections)
        out.markup("<a href=\"#").markup(section.id).markup("\">").markup(section.words).markup("</a>");
    out.markup("</nav><span class=\"mut m pn nw\">")
        .text(file)
        .markup("</span><search class=\"find\"><label class=\"vh\" for=\"find\">Search the page; Enter goes to "
                "the next place, Shift and Enter to the one before</label><input type=\"search\" id=\"find\" "
                "placeholder=\"search: /\"><span class=\"mut\" id=\"found\" role=\"status\"></span></search>"
                "<button class=\"btn js\" id=\"theme\">Dark</button></div></header><main>");
}

void end_page(Markup& out, const std::vector<std::string>& footer, const nlohmann::ordered_json& data,
              std::string_view bytes) {
    out.markup("<footer>");
    for (const std::string& line : footer)
        out.element("span", line);
    out.markup("<span>This page loads nothing from the network.</span></footer></main>");
    out.markup("<div class=\"tip\" id=\"tip\" role=\"tooltip\"></div><div class=\"vh\" aria-live=\"polite\" "
               "id=\"live\"></div>");
    out.markup("<template id=\"bytes\">").markup(bytes).markup("</template>");
    out.markup("<script type=\"application/json\" id=\"data\">")
        .markup(script_text(data))
        .markup("</script><script>");
    out.markup(bundle().script).markup("</script></body></html>\n");
}

} // namespace umadvisor::html
