#include "analyzer/html/page.hpp"

#include "analyzer/findings/words.hpp"
#include "analyzer/html/bundle.hpp"
#include "analyzer/html/packed_bytes.hpp"
#include "analyzer/html/parts.hpp"
#include "analyzer/html/timeline.hpp"
#include "analyzer/html/timeline_json.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reader/plain.hpp"
#include "analyzer/reports/json_text.hpp"
#include "analyzer/reports/weighed_stacks.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace umadvisor::html {
namespace {

using Json = nlohmann::ordered_json;

/// Inside of a script element nothing may look like its end, or like a comment.
std::string script_text(const Json& document) {
    const std::string text = reports::json_text(document, -1);
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

/// What the flame graph is made of: stacks as numbers of frames.
Json flame_json(reports::Report& report, model::Weight by) try {
    constexpr std::size_t most_stacks = 200;
    const reports::WeighedStacks stacks =
        reports::weighed_stacks(report.profile, report.symbolizer, by, false, most_stacks);
    Json frames = Json::array(), list = Json::array();
    std::map<std::string, std::size_t> numbers;
    for (const reports::WeighedStack& stack : stacks.stacks) {
        Json entry = Json::array({stack.weight});
        for (const symbols::CodePlace& frame : stack.frames) {
            const std::string text = reader::plain(reports::frame_text(frame));
            const auto [found, fresh] = numbers.try_emplace(text, frames.size());
            if (fresh)
                frames.push_back(text);
            entry.push_back(found->second);
        }
        list.push_back(std::move(entry));
    }
    return {{"words", model::words(by)},    {"sum", stacks.sum()},         {"time", model::is_time(by)},
            {"count", model::is_count(by)}, {"frames", std::move(frames)}, {"stacks", std::move(list)}};
} catch (const reader::Error&) {
    return nullptr; // the trace does not tell
}

Json flames_json(reports::Report& report) {
    Json list = Json::array();
    for (const model::Weight by : {model::Weight::blocked, model::Weight::copied, model::Weight::faults})
        if (Json flame = flame_json(report, by); !flame.is_null() && !flame["stacks"].empty())
            list.push_back(std::move(flame));
    return list;
}

void write_timeline_place(Markup& out) {
    out.markup("<section id=\"timeline\" aria-labelledby=\"h-timeline\"><div class=\"sh\"><h2 "
               "id=\"h-timeline\">Timeline</h2>"
               "<span class=\"hint desk js\">drag: zoom to a range · <kbd>Ctrl</kbd> + wheel: zoom, or wheel "
               "alone after a click · "
               "<kbd>Shift</kbd> + drag: pan · <kbd>N</kbd> next move · <kbd>0</kbd> whole run</span><div "
               "class=\"ctl js\" id=\"zoom\"></div></div>"
               "<div class=\"panel\" id=\"tl-panel\"><noscript><p class=\"none\">The timeline and the flame "
               "graph need JavaScript; all else is here "
               "without.</p></noscript></div></section>");
}

void write_flame_place(Markup& out, bool any) {
    out.markup("<section id=\"flamegraph\" aria-labelledby=\"h-flame\"><div class=\"sh\"><h2 "
               "id=\"h-flame\">Flame graph</h2>"
               "<span class=\"mut\">by call stack; a click on a frame looks into it</span><div class=\"ctl\" "
               "id=\"flame-ctl\"></div></div>"
               "<figure class=\"panel fl\"><div id=\"flame\">");
    if (!any)
        out.element("p class=\"none\"", "The trace tells no stacks.");
    out.markup("</div></figure></section>");
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

std::string source_words(const Json& document) {
    const Json& managed = document["managed"];
    return managed.is_null() ? "no managed memory was seen"
                             : "source of managed events: " + managed["sees"].get<std::string>();
}

} // namespace

bool available() {
    return !bundle().script.empty();
}

PageMaker::PageMaker(PageOptions options) : options_(std::move(options)) {}
PageMaker::~PageMaker() = default;

std::function<void()> PageMaker::beside(reports::Report& report) {
    pass_ = std::make_unique<TimelinePass>(report);
    return [this] { pass_->run(); };
}

std::string PageMaker::page(reports::Report& report) {
    const Bundle made_of = bundle();
    const Json document = reports::to_json(report);
    const Timeline timeline = pass_->finish();
    PackedBytes bytes;
    Json data{{"timeline", timeline_json(report, timeline, options_.with_source, bytes)}};
    data["flames"] = flames_json(report);
    Json titles = Json::array();
    for (const Json& finding : document["findings"])
        titles.push_back(finding["title"]);
    data["titles"] = std::move(titles);
    data["bytes"] = bytes.text();
    const auto program = document["process"]["program"].get<std::string>();

    Markup out;
    out.markup("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
               "content=\"width=device-width,initial-scale=1\"><meta http-equiv=\"Content-Security-Policy\" "
               "content=\"default-src 'none'; "
               "script-src '");
    out.markup(made_of.script_hash).markup("'; style-src '").markup(made_of.style_hash);
    out.markup("'; img-src data:; base-uri 'none'; form-action 'none'\"><meta name=\"referrer\" "
               "content=\"no-referrer\"><title>umadvisor: ");
    out.text(program + ", " + findings::time_text(document["process"]["net_ns"].get<double>()) + " on " +
             report.profile.device());
    out.markup("</title><link rel=\"icon\" href=\"data:,\"><style>")
        .markup(made_of.style)
        .markup("</style></head><body>");
    out.markup(patterns).markup(
        "<a class=\"vh\" href=\"#timeline\">Skip to the timeline</a><header "
        "class=\"top\"><div><b>umadvisor</b><nav "
        "aria-label=\"Sections\"><a href=\"#findings\">Findings</a><a href=\"#timeline\">Timeline</a><a "
        "href=\"#flamegraph\">Flame graph</a><a href=\"#tables\">Tables</a></nav><span class=\"mut m pn nw\">");
    const auto file = document["file"].get<std::string>();
    out.text(file.substr(file.rfind('/') + 1))
        .markup("</span><button class=\"btn js\" id=\"theme\">Dark</button></div></header><main>");
    write_head(out, document, timeline);
    write_cards(out, document, options_);
    write_timeline_place(out);
    write_flame_place(out, !data["flames"].empty());
    write_tables(out, report);
    out.markup("<footer><span>umadvisor ")
        .text(options_.version)
        .markup(" · report of ")
        .text(file)
        .markup("</span><span>");
    out.text(source_words(document))
        .markup("</span><span>This page loads nothing from the network.</span></footer></main>");
    out.markup("<div class=\"tip\" id=\"tip\" role=\"tooltip\"></div><div class=\"vh\" aria-live=\"polite\" "
               "id=\"live\"></div>");
    out.markup("<script type=\"application/json\" id=\"data\">")
        .markup(script_text(data))
        .markup("</script><script>");
    out.markup(made_of.script).markup("</script></body></html>\n");
    return out.str();
}

} // namespace umadvisor::html
