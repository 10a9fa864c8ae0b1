#include "analyzer/reports/html/page.hpp"

#include "analyzer/reports/html/flames.hpp"
#include "analyzer/reports/html/parts.hpp"
#include "analyzer/reports/html/shell.hpp"
#include "analyzer/reports/html/timeline/packed_bytes.hpp"
#include "analyzer/reports/html/timeline/timeline.hpp"
#include "analyzer/reports/html/timeline/timeline_json.hpp"
#include "analyzer/reports/json/json.hpp"
#include "analyzer/rules/words.hpp"

#include <nlohmann/json.hpp>

namespace umadvisor::html {
namespace {

using Json = nlohmann::ordered_json;

void write_timeline_place(Markup& out) {
    out.markup(
        "<section id=\"timeline\" aria-labelledby=\"h-timeline\"><div class=\"sh\"><h2 "
        "id=\"h-timeline\">Timeline</h2><span class=\"hint desk js\">drag: zoom to a range · <kbd>Ctrl</kbd> + "
        "wheel: zoom, or wheel alone after a click · <kbd>Shift</kbd> + drag: pan · <kbd>N</kbd> next move · "
        "<kbd>0</kbd> whole run</span><div class=\"ctl js\" id=\"zoom\"></div></div><div class=\"panel\" "
        "id=\"tl-panel\"><noscript><p class=\"none\">The timeline and the flame graph need JavaScript; all "
        "else is here without.</p></noscript></div></section>");
}

void write_flame_place(Markup& out, bool any) {
    out.markup(
        "<section id=\"flamegraph\" aria-labelledby=\"h-flame\"><div class=\"sh\"><h2 id=\"h-flame\">Flame "
        "graph</h2><span class=\"mut\">by call stack; a click on a frame looks into it; time of devices counts "
        "where a thread "
        "waits for it</span><div "
        "class=\"ctl\" id=\"flame-ctl\"></div></div><figure class=\"panel fl\"><div id=\"flame\">");
    if (!any)
        out.element("p class=\"none\"", "The trace has no stacks.");
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

std::function<void()> PageMaker::beside(advice::Report& report) {
    report.statistics.emplace(report.trace.dictionary); // filled beside, too
    pass_ = std::make_unique<TimelinePass>(report.profile, report.symbolizer, &*report.statistics);
    return [this] { pass_->run(); };
}

std::string PageMaker::page(advice::Report& report) {
    const Json document = reports::to_json(report);
    Markup cards;
    write_cards(cards, document, options_);
    report.finish_beside();
    const Timeline timeline = pass_->finish(&report);
    Json flames = flames_json(report, timeline);
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
               fmt::format("{}, {} on {}", program,
                           text::time_text(document["process"]["net_ns"].get<double>()),
                           report.profile.device()),
               {{"findings", "Findings"},
                {"timeline", "Timeline"},
                {"flamegraph", "Flame graph"},
                {"tables", "Tables"}},
               file.substr(file.rfind('/') + 1));
    write_head(out, document, timeline, after(timeline, report.spared));
    out.markup(cards.str());
    write_timeline_place(out);
    write_flame_place(out, !data["flames"].empty());
    write_tables(out, report);
    end_page(out, {fmt::format("umadvisor {} · report of {}", options_.version, file), source_words(document)},
             data, bytes.text());
    return out.str();
}

} // namespace umadvisor::html
