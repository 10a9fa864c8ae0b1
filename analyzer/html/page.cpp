#include "analyzer/html/page.hpp"

#include "analyzer/findings/words.hpp"
#include "analyzer/html/packed_bytes.hpp"
#include "analyzer/html/parts.hpp"
#include "analyzer/html/shell.hpp"
#include "analyzer/html/timeline.hpp"
#include "analyzer/html/timeline_json.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reader/plain.hpp"
#include "analyzer/reports/weighed_stacks.hpp"

#include <nlohmann/json.hpp>

namespace umadvisor::html {
namespace {

using Json = nlohmann::ordered_json;

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

std::string source_words(const Json& document) {
    const Json& managed = document["managed"];
    return managed.is_null() ? "no managed memory was seen"
                             : "source of managed events: " + managed["sees"].get<std::string>();
}

} // namespace

PageMaker::PageMaker(PageOptions options) : options_(std::move(options)) {}
PageMaker::~PageMaker() = default;

std::function<void()> PageMaker::beside(reports::Report& report) {
    report.statistics.emplace(report.trace.dictionary); // filled beside, too
    pass_ = std::make_unique<TimelinePass>(report);
    return [this] { pass_->run(); };
}

std::string PageMaker::page(reports::Report& report) {
    const Json document = reports::to_json(report);
    Json flames = flames_json(report);
    Markup cards;
    write_cards(cards, document, options_);
    report.finish_beside();
    const Timeline timeline = pass_->finish();
    PackedBytes bytes;
    Json data{{"timeline", timeline_json(report, timeline, options_.with_source, bytes)},
              {"flames", std::move(flames)}};
    Json titles = Json::array();
    for (const Json& finding : document["findings"])
        titles.push_back(finding["title"]);
    data["titles"] = std::move(titles);
    const auto program = document["process"]["program"].get<std::string>();

    const auto file = document["file"].get<std::string>();
    Markup out;
    begin_page(out,
               program + ", " + findings::time_text(document["process"]["net_ns"].get<double>()) + " on " +
                   report.profile.device(),
               {{"findings", "Findings"},
                {"timeline", "Timeline"},
                {"flamegraph", "Flame graph"},
                {"tables", "Tables"}},
               file.substr(file.rfind('/') + 1));
    write_head(out, document, timeline);
    out.markup(cards.str());
    write_timeline_place(out);
    write_flame_place(out, !data["flames"].empty());
    write_tables(out, report);
    end_page(out,
             {"umadvisor " + std::string(options_.version) + " · report of " + file, source_words(document)},
             data, bytes.text());
    return out.str();
}

} // namespace umadvisor::html
