#include "analyzer/reports/html/comparison_page.hpp"

#include "analyzer/reports/comparison/comparison.hpp"
#include "analyzer/reports/html/parts.hpp"
#include "analyzer/reports/html/shell.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace umadvisor::html {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view whole_document = "umadvisor diff --json";

struct WherePart {
    std::string_view key, words, colour;
};
/// The parts of the bar, from left to right.
constexpr WherePart where_parts[] = {{"own_ns", "host code, page faults", "code"},
                                     {"calls_ns", "waits and other calls", "launch"},
                                     {"copies_ns", "copies", "fill"}};

std::string ns_text(const Json& ns) {
    return text::time_text(ns.get<double>());
}

/// Without the start of CUDA, as the run time beside it.
double where_sum(const Json& side) {
    double sum = 0;
    for (const WherePart& part : where_parts)
        sum += side["where"][std::string(part.key)].get<double>();
    return sum;
}

void write_where_bar(Markup& out, std::string_view name, const Json& side, double scale) {
    std::string label(name);
    for (const WherePart& part : where_parts)
        label += fmt::format(", {} {}", part.words, ns_text(side["where"][std::string(part.key)]));
    Bar bar(label);
    for (const WherePart& part : where_parts) {
        const Json& ns = side["where"][std::string(part.key)];
        const std::string words = fmt::format("{} {}", part.words, ns_text(ns));
        bar.part(ns.get<double>() / scale, part.colour, words, words);
    }
    out.markup("<span class=\"k\">").text(name).markup(" ").element("b", text::time_text(where_sum(side)));
    out.markup("</span>").markup(bar.str());
}

void write_where_of_both(Markup& out, const Json& document) {
    const double scale = std::max(where_sum(document["before"]), where_sum(document["after"]));
    if (scale <= 0)
        return;
    out.markup("<div class=\"where\"><h2 class=\"cap\">Where the time went <span class=\"mut\">(calls of all "
               "threads added up, without the start of CUDA; both bars have one scale)</span></h2><div "
               "class=\"stk\">");
    write_where_bar(out, "before", document["before"], scale);
    write_where_bar(out, "after", document["after"], scale);
    out.markup("</div><ul class=\"lg pairs\">");
    for (const WherePart& part : where_parts) {
        const std::string key(part.key);
        const Json &old = document["before"]["where"][key], &now = document["after"]["where"][key];
        if (old == 0 && now == 0)
            continue;
        begin_legend_entry(out, part.colour, part.words);
        out.markup(" ");
        out.element("b", ns_text(old) + " → " + ns_text(now)).markup("</li>");
    }
    out.markup("</ul></div>");
}

/// A row of the table in the head. `text` makes words of what `pointer` leads to on each side.
template <class Text>
void write_fact(Markup& out, const Json& document, std::string_view name, const std::string& pointer,
                const Text& text) {
    const Json::json_pointer path(pointer);
    const auto cell = [&](const char* side) {
        const Json& of = document[side];
        const Json value = of.contains(path) ? of[path] : Json();
        out.markup("<td class=\"r\" data-v=\"")
            .text(value.is_null() ? "" : value.dump())
            .markup("\">")
            .text(!value.is_null()                                             ? text(value)
                  : pointer.starts_with("/managed") && of["managed"].is_null() ? "none"
                                                                               : "not known")
            .markup("</td>");
    };
    out.markup("<tr><th scope=\"row\">").text(name).markup("</th>");
    cell("before");
    cell("after");
    out.markup("</tr>");
}

void write_both(Markup& out, const Json& document) {
    const auto bytes = [](const Json& value) { return text::bytes_text(value.get<double>()); };
    const auto count = [](const Json& value) { return std::to_string(value.get<std::uint64_t>()); };
    out.markup("<div class=\"tog\"><h2 class=\"cap\">Run time</h2><p class=\"big\" id=\"together\"><span "
               "class=\"was\">");
    out.text(ns_text(document["before"]["net_ns"]))
        .markup(" → </span>")
        .text(ns_text(document["after"]["net_ns"]));
    const reports::RunChange change = reports::run_change(document["before"]["net_ns"].get<double>(),
                                                          document["after"]["net_ns"].get<double>());
    out.markup("</p>");
    if (change.slower || change.faster)
        out.element(change.slower ? "p class=\"worse\"" : "p class=\"ok\"",
                    change.text.substr(change.text.find(", ") + 2));
    out.markup("<p class=\"mut\">as recorded, without the start of CUDA</p><table "
               "class=\"both\"><thead><tr><td></td><th scope=\"col\" class=\"r\">Before</th><th scope=\"col\" "
               "class=\"r\">After</th></tr></thead><tbody>");
    write_fact(out, document, "Start of CUDA", "/where/start_ns", ns_text);
    write_fact(out, document, "Whole process", "/duration_ns", ns_text);
    write_fact(out, document, "Findings", "/findings", count);
    write_fact(out, document, "They save", "/saving_ns", ns_text);
    write_fact(out, document, "Copies", "/copies/count", count);
    write_fact(out, document, "Copied", "/copies/bytes", bytes);
    write_fact(out, document, "Time in copies", "/copies/time_ns", ns_text);
    if (!document["before"]["managed"].is_null() || !document["after"]["managed"].is_null()) {
        write_fact(out, document, "Moved to the device", "/managed/bytes_to_device", bytes);
        write_fact(out, document, "Moved to the host", "/managed/bytes_to_host", bytes);
        write_fact(out, document, "Page faults, host", "/managed/host_faults", count);
    }
    out.markup("</tbody></table></div>");
}

std::string program_of(const Json& side) {
    const auto program = side["program"].get<std::string>();
    const auto reports = side["reports"].get<std::uint64_t>();
    return (program.empty() ? "unknown program" : program) +
           (reports == 1 ? "" : " (" + text::count_text(reports, "report") + ")");
}

std::string title_of_both(const Json& document) {
    const std::string old = program_of(document["before"]), now = program_of(document["after"]);
    return old == now ? old + ", before and after" : fmt::format("{} and {}", old, now);
}

void write_comparison_head(Markup& out, const Json& document) {
    out.markup("<div class=\"panel head\"><div>").element("h1", title_of_both(document));
    for (const char* const side : {"before", "after"})
        out.element("p class=\"cmd m\"", std::string(side) + ": " + document[side]["file"].get<std::string>());
    write_where_of_both(out, document);
    out.markup("</div>");
    write_both(out, document);
    out.markup("</div>");
}

std::string save_text(const Json& finding) {
    if (finding["unpriced"].get<bool>())
        return std::string(text::saving_unknown);
    return text::saving_text(finding["saving_ns"].get<double>(), finding["saving_bytes"].get<std::uint64_t>());
}

std::string place_of_compared(const Json& finding) {
    return finding["line"].is_null() || finding["line"]["text"] == ""
               ? "unknown place"
               : finding["line"]["text"].get<std::string>();
}

/// `before` and `after`: null on the side that does not have it.
void write_compared_card(Markup& out, std::string_view sign, const Json& before, const Json& after,
                         double largest) {
    const Json& finding = after.is_null() ? before : after;
    const auto title = finding["title"].get<std::string>();
    out.markup("<details class=\"card\"><summary><span class=\"rank\">")
        .markup(sign)
        .markup("</span><span class=\"ttl\">");
    out.element("b", title.empty() ? finding["name"].get<std::string>() : title);
    out.markup("<span class=\"at m\">").text(place_of_compared(finding)).markup("</span></span>");
    const auto width = [&](const Json& side) {
        return percent(side.is_null() || largest <= 0 ? 0 : side["saving_ns"].get<double>() / largest);
    };
    out.markup("<svg class=\"sbar\" width=\"100%\" height=\"10\" aria-hidden=\"true\"><rect class=\"c-launch\" "
               "width=\"");
    const auto costs = [](const Json& side) {
        return side.is_null()
                   ? std::pair(0.0, std::uint64_t{0})
                   : std::pair(side["saving_ns"].get<double>(), side["saving_bytes"].get<std::uint64_t>());
    };
    const bool worse = before.is_null() || (!after.is_null() && costs(after) > costs(before));
    out.markup(width(before))
        .markup(worse ? "\" height=\"4\"/><rect class=\"c-worse\" y=\"6\" width=\""
                      : "\" height=\"4\"/><rect class=\"c-good\" y=\"6\" width=\"")
        .markup(width(after));
    out.markup(worse ? "\" height=\"4\"/></svg><span class=\"save worse\""
                     : "\" height=\"4\"/></svg><span class=\"save ok\"");
    for (const auto& [name, side] : {std::pair("data-before", &before), std::pair("data-after", &after)})
        if (!side->is_null())
            out.markup(" ").markup(name).markup("=\"").text((*side)["saving_ns"].dump()).markup("\"");
    out.markup(">");
    if (!before.is_null() && !after.is_null())
        out.markup("<span class=\"was nw\">").text(save_text(before)).markup(" →</span> ");
    out.element("span class=\"nw\"", save_text(finding)).markup("</span>");
    write_confidence(out, finding["confidence"].get<std::string>());
    out.element("span class=\"mut rid m\"", finding["rule"].get<std::string>());
    out.markup(
        "<span class=\"chev\" aria-hidden=\"true\">›</span></summary><div class=\"body\"><div><h3>Do</h3>");
    out.element("p class=\"do\"", finding["advice"].get<std::string>()).markup("</div><div>");
    if (!before.is_null())
        out.element("h3", "Before").element("p class=\"m\"", place_of_compared(before));
    if (!after.is_null())
        out.element("h3", "After").element("p class=\"m\"", place_of_compared(after));
    out.markup("</div></div></details>");
}

struct ComparedList {
    std::string_view key, heading, sign, words;
};
constexpr ComparedList compared_lists[] = {{"went", "Gone", "−", "before only: this time is no longer lost"},
                                           {"came", "New", "+", "after only: this time is lost now"},
                                           {"changed", "Changed", "~", "in both, with another saving"}};

void write_compared_findings(Markup& out, const Json& document) {
    const Json null;
    double largest = 0;
    std::size_t cards = 0;
    const auto sides = [&](const ComparedList& list, const Json& each) {
        return list.key == "went"   ? std::pair<const Json&, const Json&>(each, null)
               : list.key == "came" ? std::pair<const Json&, const Json&>(null, each)
                                    : std::pair<const Json&, const Json&>(each["before"], each["after"]);
    };
    for (const ComparedList& list : compared_lists)
        for (const Json& each : document[std::string(list.key)]) {
            const auto [before, after] = sides(list, each);
            for (const Json* const side : {&before, &after})
                if (!side->is_null())
                    largest = std::max(largest, (*side)["saving_ns"].get<double>());
            ++cards;
        }
    out.markup("<section id=\"findings\" aria-labelledby=\"h-findings\"><div class=\"sh\"><h2 "
               "id=\"h-findings\">Findings</h2>");
    out.element("span class=\"mut\"", fmt::format("{} unchanged", document["same"].get<std::uint64_t>()));
    if (cards != 0)
        write_open_all(out);
    out.markup("</div>");
    for (const ComparedList& list : compared_lists) {
        const Json& found = document[std::string(list.key)];
        out.markup("<div class=\"th\"><h3>").markup(list.heading).markup("</h3>");
        out.element("span class=\"mut\"", fmt::format("{}, {}", found.size(), list.words));
        out.markup("</div>");
        if (found.empty())
            continue;
        out.markup("<div class=\"panel\"><div class=\"cards\" id=\"").markup(list.key).markup("\">");
        constexpr std::size_t most_cards = 200;
        for (std::size_t i = 0; i < std::min(found.size(), most_cards); ++i) {
            const auto [before, after] = sides(list, found[i]);
            write_compared_card(out, list.sign, before, after, largest);
        }
        out.markup("</div>");
        if (found.size() > most_cards)
            out.element("p class=\"more\"",
                        fmt::format("{} more: {}", found.size() - most_cards, whole_document));
        out.markup("</div>");
    }
    out.markup("</section>");
}

/// Columns of both sides, and what the time changed by.
void add_sides(std::vector<text::Cell>& cells, const Json& row, std::initializer_list<const char*> keys) {
    for (const char* const key : keys)
        for (const char* const side : {"before", "after"})
            cells.emplace_back(row[side][key].get<std::uint64_t>());
    cells.emplace_back(row["after"]["time_ns"].get<double>() - row["before"]["time_ns"].get<double>());
}

void write_compared_tables(Markup& out, const Json& document) {
    text::Table calls{"calls",
                      "CUDA calls",
                      {{"name", "Call"},
                       {"count_before", "Count Before"},
                       {"count_after", "Count After"},
                       {"failed_before", "Failed Before"},
                       {"failed_after", "Failed After"},
                       {"time_before_ns", "Time Before (ns)"},
                       {"time_after_ns", "Time After (ns)"},
                       {"change_ns", "Change (ns)"}},
                      {}};
    for (const Json& row : document["calls"]) {
        std::vector<text::Cell>& cells = calls.rows.emplace_back();
        cells.emplace_back(row["call"].get<std::string>());
        add_sides(cells, row, {"count", "failed", "time_ns"});
    }
    text::Table copies{"copies",
                       "Copies",
                       {{"copy", "Copy"},
                        {"count_before", "Count Before"},
                        {"count_after", "Count After"},
                        {"bytes_before", "Bytes Before (B)"},
                        {"bytes_after", "Bytes After (B)"},
                        {"time_before_ns", "Time Before (ns)"},
                        {"time_after_ns", "Time After (ns)"},
                        {"change_ns", "Change (ns)"}},
                       {}};
    for (const Json& row : document["copies"]) {
        std::vector<text::Cell>& cells = copies.rows.emplace_back();
        cells.emplace_back(fmt::format("{} {} → {}", row["direction"].get<std::string>(),
                                       row["source_memory"].get<std::string>(),
                                       row["destination_memory"].get<std::string>()));
        add_sides(cells, row, {"count", "bytes", "time_ns"});
    }
    out.markup("<section id=\"tables\" aria-labelledby=\"h-tables\"><div class=\"sh\"><h2 "
               "id=\"h-tables\">Tables</h2><span class=\"mut\">largest change of time first</span></div>");
    for (const text::Table* const table : {&calls, &copies})
        if (!table->rows.empty())
            write_table(out, *table, std::string(whole_document), true);
    if (calls.rows.empty() && copies.rows.empty())
        out.element("p class=\"none\"", "Neither report has calls or copies.");
    out.markup("</section>");
}

} // namespace

std::string comparison_page(const Json& document, std::string_view version,
                            const std::optional<OverTime>& before, const std::optional<OverTime>& after) {
    Markup out;
    std::vector<Section> sections{{"findings", "Findings"}, {"tables", "Tables"}};
    if (before && after)
        sections.insert(sections.begin(), {"over-time", "Over time"});
    begin_page(out,
               fmt::format("{}, {} → {}", title_of_both(document), ns_text(document["before"]["net_ns"]),
                           ns_text(document["after"]["net_ns"])),
               sections, "");
    write_comparison_head(out, document);
    if (before && after)
        write_over_time(out, *before, *after);
    write_compared_findings(out, document);
    write_compared_tables(out, document);
    end_page(out, {fmt::format("umadvisor {} · comparison of two runs", version)}, Json::object());
    return out.str();
}

} // namespace umadvisor::html
