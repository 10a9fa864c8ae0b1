#include "analyzer/reader/shown_name.hpp"
#include "analyzer/reports/html/parts.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace umadvisor::html {
namespace {

using Json = nlohmann::ordered_json;

/// Comments stand in a column of their own on the page of the rule, for which a card has no room.
std::string with_near_comment(std::string_view line) {
    const std::size_t at = std::min(line.find("  //"), line.find("  # "));
    if (at == std::string_view::npos || line.find_first_not_of(' ') > at)
        return std::string(line);
    return fmt::format("{}  {}", line.substr(0, line.find_last_not_of(' ', at) + 1),
                       line.substr(line.find_first_not_of(' ', at)));
}

/// A code block of a rule's page: the lines that are indented below `**heading**`.
std::vector<std::string> code_of(std::string_view page, std::string_view heading) {
    std::vector<std::string> lines;
    std::size_t at = page.find(heading);
    if (at == std::string_view::npos)
        return lines;
    at = page.find('\n', at);
    while (at != std::string_view::npos) {
        const std::size_t end = page.find('\n', ++at);
        const std::string_view line = page.substr(at, end - at);
        constexpr std::string_view indent = "    ";
        if (line.starts_with(indent))
            lines.push_back(with_near_comment(line.substr(indent.size())));
        else if (!line.empty())
            break;
        at = end;
    }
    return lines;
}

/// The lines of both, with what goes and what comes marked (longest common subsequence).
void write_difference(Markup& out, const std::vector<std::string>& before,
                      const std::vector<std::string>& after) {
    std::vector<std::vector<std::size_t>> common(before.size() + 1, std::vector<std::size_t>(after.size() + 1));
    for (std::size_t i = before.size(); i-- > 0;)
        for (std::size_t j = after.size(); j-- > 0;)
            common[i][j] =
                before[i] == after[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    std::size_t i = 0, j = 0;
    const auto line = [&out](std::string_view kind, std::string_view sign, const std::string& text) {
        out.markup("<span class=\"")
            .markup(kind)
            .markup("\"><i>")
            .markup(sign)
            .markup("</i>")
            .text(text)
            .markup("\n</span>");
    };
    out.markup("<div class=\"src\"><pre tabindex=\"0\" aria-label=\"before and after\">");
    while (i < before.size() || j < after.size())
        if (i < before.size() && j < after.size() && before[i] == after[j]) {
            line("", "", before[i++]);
            ++j;
        } else if (j == after.size() || (i < before.size() && common[i + 1][j] >= common[i][j + 1])) {
            line("d", "−", before[i++]);
        } else {
            line("a", "+", after[j++]);
        }
    out.markup("</pre></div>");
}

/// The paragraph of a rule's page that says why it costs.
std::string why_it_costs(std::string_view page) {
    constexpr std::string_view heading = "**Why it costs.** ";
    const std::size_t at = page.find(heading);
    if (at == std::string_view::npos)
        return {};
    const std::size_t begin = at + heading.size();
    std::string text(page.substr(begin, page.find("\n\n", begin) - begin));
    std::ranges::replace(text, '\n', ' ');
    return text;
}

/// The address under which an editor opens the line; empty: it is no file with a path. All bytes are escaped
/// that could end a path.
std::string editor_address(const Json& line) {
    const auto file = line["file"].get<std::string>();
    const int number = line["line"].get<int>();
    if (!file.starts_with('/') || number <= 0)
        return {};
    std::string address = "vscode://file";
    for (const char c : file)
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 ||
            std::string_view("/._-+").find(c) != std::string_view::npos)
            address += c;
        else
            address += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    return fmt::format("{}:{}", address, number);
}

void write_source(Markup& out, const Json& line, std::string_view what, const PageOptions& options) {
    if (line.is_null())
        return;
    const auto text = line["text"].get<std::string>();
    const std::string address = options.links_to_editor ? editor_address(line) : std::string();
    out.markup("<div class=\"src\"><div class=\"loc\"><span class=\"m\">");
    if (address.empty())
        out.text(text);
    else
        out.markup("<a href=\"").text(address).markup("\">").text(text).markup("</a>");
    out.markup("</span><span class=\"mut\">").text(what);
    out.markup("</span><button class=\"btn js\" data-place>Copy</button></div>");
    const auto source = line["source"].get<std::string>();
    if (options.with_source && !source.empty()) {
        out.markup("<pre tabindex=\"0\" aria-label=\"source line\"><span class=\"f\"><i>");
        out.text(std::to_string(line["line"].get<int>())).markup("</i>").text(source).markup("</span></pre>");
    }
    out.markup("</div>");
}

void write_where_column(Markup& out, const Json& finding, const PageOptions& options,
                        std::size_t& stack_text_left, std::size_t explained) {
    out.markup("<div><h3>Look here</h3>");
    write_source(out, finding["line"], "", options);
    out.element("p class=\"what\"", finding["summary"].get<std::string>());
    if (const Json& memory = finding["allocation"]; !memory.is_null()) {
        out.markup("<h3>Allocated here</h3>");
        if (memory["line"].is_null())
            out.element("p", memory["text"].get<std::string>());
        else
            write_source(out, memory["line"], memory["text"].get<std::string>(), options);
    }
    if (!finding["places"].empty())
        out.markup("<h3>Also</h3><div class=\"also\">");
    constexpr std::size_t most_places = 12;
    std::size_t count = 0;
    for (const Json& place : finding["places"]) {
        if (++count > most_places)
            break;
        if (place["line"].is_null())
            out.element("p", place["text"].get<std::string>());
        else
            write_source(out, place["line"], place["text"].get<std::string>(), options);
    }
    if (finding["places"].size() > most_places)
        out.element("p class=\"mut\"",
                    fmt::format("{} more lines: report --all", finding["places"].size() - most_places));
    if (!finding["places"].empty())
        out.markup("</div>");
    if (!finding["stack"].empty()) {
        out.markup("<details class=\"stack\"><summary>Stack (")
            .text(text::count_text(finding["stack"].size(), "frame"));
        out.markup(")</summary><ol>");
        constexpr std::size_t most_frames = 40, longest_frame = 160;
        std::size_t told = 0;
        for (const Json& frame : finding["stack"]) {
            const std::string text = reader::shown_name(frame.get<std::string>(), longest_frame);
            if (told == most_frames || text.size() > stack_text_left)
                break;
            stack_text_left -= text.size();
            out.element("li class=\"m\"", text);
            ++told;
        }
        if (told < finding["stack"].size())
            out.element("li class=\"mut\"",
                        fmt::format("{} more: umadvisor report --json", finding["stack"].size() - told));
        out.markup("</ol></details>");
    }
    const auto rule = finding["rule"].get<std::string>();
    if (explained != 0)
        out.element("p class=\"mut\"", fmt::format("Finding {} explains {}.", explained, rule));
    else if (options.page_of_rule)
        if (const std::string why = why_it_costs(options.page_of_rule(rule)); !why.empty()) {
            out.markup("<details class=\"stack\"><summary>What is ")
                .text(rule)
                .markup("?</summary><p>")
                .text(why);
            out.markup(" <span class=\"mut m\">umadvisor explain ").text(rule).markup("</span></p></details>");
        }
    out.markup("</div>");
}

std::string evidence_text(const std::string& key, double value) {
    if (key.ends_with("_ns"))
        return text::time_text(value);
    if (key.ends_with("_per_s"))
        return text::rate_text(value);
    if (key.ends_with("bytes") || key.starts_with("bytes"))
        return text::bytes_text(value);
    std::string text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.')
        text.pop_back();
    return text;
}

struct Card {
    std::size_t number = 0;
    std::map<std::string, std::size_t> explained; ///< rules, by the card that explains them
    double largest = 0, net = 0;
    std::size_t stack_text_left = 150'000; ///< bytes, of all cards
    bool unpriced = false;                 ///< of findings whose saving is not known
};

/// Returns whether the C++ example fits: the finding's line is not Python's, and the example has its call.
bool fits_example(const Json& finding, const std::vector<std::string>& example) {
    const Json& line = finding["line"];
    if (!line.is_null() && line["file"].get<std::string>().ends_with(".py"))
        return false;
    const auto summary = finding["summary"].get<std::string>();
    const std::size_t at = summary.find("cuda");
    if (at == std::string::npos)
        return true;
    std::string_view call = std::string_view(summary).substr(at);
    call = call.substr(
        0, call.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"));
    call = call.substr(0, call.find("Async"));
    return std::ranges::any_of(example,
                               [call](const std::string& code) { return code.find(call) != code.npos; });
}

void write_what_column(Markup& out, const Json& document, const Json& finding, const Card& card,
                       const PageOptions& options, std::size_t explained) {
    const auto advice = finding["advice"].get<std::string>();
    out.markup("<div><h3>Do</h3>").element("p class=\"do\"", advice);
    for (const Json& detail : finding["details"])
        out.element("p class=\"do mut\"", detail.get<std::string>());
    if (options.page_of_rule && explained == 0) {
        const std::string_view page = options.page_of_rule(finding["rule"].get<std::string>());
        const std::vector<std::string> before = code_of(page, "**Before**"), after = code_of(page, "**After**");
        if (!before.empty() && !after.empty() && fits_example(finding, before)) {
            out.markup("<h3>The same in an example</h3>");
            write_difference(out, before, after);
        }
    }
    const double saving = finding["saving_ns"].get<double>();
    out.markup("<h3>Why</h3>");
    write_arithmetic(out, document, finding);
    out.element("p", (card.unpriced ? "Saving " : "Basis: ") + finding["basis"].get<std::string>());
    if (finding.contains("saving_at_most_ns"))
        out.element("p", fmt::format("The calls leave the saving open: {}.",
                                     text::open_saving_text(finding["saving_at_least_ns"].get<double>(),
                                                            finding["saving_at_most_ns"].get<double>())));
    const std::string now = text::time_text(card.net),
                      fixed = text::time_text(std::max(0.0, card.net - saving));
    if (card.net > 0 && fixed != now) {
        const auto bar = [&](std::string_view words, double ns, const std::string& time,
                             std::string_view colour) {
            out.element("span", words)
                .markup(
                    "<svg class=\"cmpbar\" width=\"100%\" height=\"8\" aria-hidden=\"true\"><rect class=\"c-");
            out.markup(colour).markup(fmt::format("\" width=\"{}\" height=\"8\"/></svg>",
                                                  percent(std::clamp(ns / card.net, 0.0, 1.0))));
            out.element("b", time);
        };
        out.markup("<div class=\"cmp\">");
        bar("the run now", card.net, now, "launch");
        bar("with this fixed", card.net - saving, fixed, "good");
        out.markup("</div>");
    }
    if (!finding["evidence"].empty()) {
        out.markup("<details class=\"stack\"><summary>Evidence (")
            .text(text::count_text(finding["evidence"].size(), "number"));
        out.markup(")</summary><dl class=\"evidence\">");
        for (const auto& [key, value] : finding["evidence"].items())
            out.element("dt class=\"m\"", key).element("dd", evidence_text(key, value.get<double>()));
        out.markup("</dl></details>");
    }
    out.markup("</div>");
}

/// Where the finding is, with the line as the summary shows it.
std::string place_of(const Json& finding) {
    return finding["line"].is_null() ? "no stack recorded" : finding["line"]["text"].get<std::string>();
}

/// Returns whether another finding says the same of the same line.
bool shares_place(const Json& document, const Json& finding) {
    return std::ranges::count_if(document["findings"], [&](const Json& each) {
               return each["title"] == finding["title"] && place_of(each) == place_of(finding);
           }) > 1;
}

/// Where memory is from, without the function.
std::string file_and_line(const Json& memory) {
    const auto text = (memory["line"].is_null() ? memory : memory["line"])["text"].get<std::string>();
    return "memory of " + text.substr(0, text.find(" in "));
}

/// The remedy as a diff, with what it assumes above it.
void write_patch(Markup& out, const std::string& patch, std::size_t number) {
    const std::size_t begin = patch.find('\n') + 1, diff = patch.find("\n--- ") + 1;
    out.markup("<div class=\"wide\"><h3>Patch</h3>");
    for (std::size_t at = begin, end = 0; at + 1 < diff; at = end + 1) {
        end = patch.find('\n', at);
        out.element("p class=\"do mut\"", patch.substr(at, end - at));
    }
    out.markup("<div class=\"src\"><div class=\"loc\"><span class=\"m\">");
    out.text(fmt::format("umadvisor patch -n {}", number));
    out.markup("</span><button class=\"btn js\" data-copy>Copy</button></div><pre tabindex=\"0\" "
               "aria-label=\"patch\">");
    for (std::size_t at = diff, end = 0; at < patch.size(); at = end) {
        end = std::min(patch.find('\n', at), patch.size() - 1) + 1;
        const std::string line = patch.substr(at, end - at);
        const bool head = line.starts_with("---") || line.starts_with("+++") || line.starts_with("@@");
        out.markup(head                  ? "<span>"
                   : line.front() == '-' ? "<span class=\"d\">"
                   : line.front() == '+' ? "<span class=\"a\">"
                                         : "<span>");
        out.text(line).markup("</span>");
    }
    out.markup("</pre></div></div>");
}

void write_card(Markup& out, const Json& document, const Json& finding, Card& card,
                const PageOptions& options) {
    const double saving = finding["saving_ns"].get<double>();
    const auto bytes = finding["saving_bytes"].get<std::uint64_t>();
    const auto confidence = finding["confidence"].get<std::string>();
    const std::string number = std::to_string(card.number), id = "f" + number;
    out.markup(fmt::format(
        "<details class=\"card\" id=\"{}\"{}><summary><span class=\"rank\">{}</span><span class=\"ttl\">", id,
        card.number == 1 ? " open" : "", number));
    out.element("b", finding["title"].get<std::string>())
        .markup("<span><span class=\"at m\">")
        .text(place_of(finding));
    out.markup("</span> · ");
    if (const Json& memory = finding["allocation"]; shares_place(document, finding) && !memory.is_null())
        out.text(file_and_line(memory)).markup(" · ");
    out.text(finding["summary"].get<std::string>()).markup("</span></span>");
    const double share = card.largest > 0 ? saving / card.largest : 0;
    out.markup("<svg class=\"sbar\" width=\"100%\" height=\"9\" role=\"img\" aria-label=\"");
    if (card.unpriced)
        out.markup("part of the run not known");
    else
        out.text(text::percent_text(card.net > 0 ? saving / card.net : 0)).markup(" of the run");
    out.markup("\"><rect class=\"c-sunk\" width=\"100%\" height=\"9\"/><rect class=\"c-good\" width=\"");
    out.markup(percent(std::clamp(share, 0.0, 1.0)) + "\" height=\"9\"/></svg><span class=\"save\" data-ns=\"");
    out.text(std::to_string(saving))
        .markup("\">")
        .text(card.unpriced ? std::string(text::saving_unknown) : text::saving_text(saving, bytes))
        .markup("</span>");
    write_confidence(out, confidence);
    out.markup("<span class=\"mut rid m\">").text(finding["rule"].get<std::string>());
    out.markup("</span><span class=\"chev\" aria-hidden=\"true\">›</span></summary><div class=\"body\">");
    const auto [first, fresh] = card.explained.try_emplace(finding["rule"].get<std::string>(), card.number);
    const std::size_t explained = fresh ? 0 : first->second;
    write_where_column(out, finding, options, card.stack_text_left, explained);
    write_what_column(out, document, finding, card, options, explained);
    if (options.with_source && finding.contains("patch"))
        write_patch(out, finding["patch"].get<std::string>(), card.number);
    out.markup("<div class=\"wide\"><h3>Verify</h3><div class=\"line\"><pre class=\"m\" tabindex=\"0\" "
               "aria-label=\"command\">");
    out.text(finding["verify"].get<std::string>());
    out.markup("</pre><button class=\"btn js\" data-copy>Copy</button></div></div><div class=\"acts\">");
    if (!card.unpriced) // the timeline marks what saves time
        out.markup("<button class=\"btn js\" data-show=\"" + number + "\">Show on the timeline</button>");
    out.element("span class=\"mut\"",
                fmt::format("{}{} · confidence {}",
                            card.unpriced ? text::saving_unknown : text::saving_lead(saving, bytes),
                            card.unpriced ? "" : text::saving_text(saving, bytes, card.net), confidence));
    out.markup("</div></div></details>");
}

} // namespace

void write_confidence(Markup& out, std::string_view confidence) {
    out.markup("<span class=\"conf\"><span class=\"dots\" aria-hidden=\"true\">");
    out.markup(confidence == "high"     ? "●●●"
               : confidence == "medium" ? "●●○"
                                        : "●○○")
        .markup("</span> ")
        .text(confidence)
        .markup("</span>");
}

void write_open_all(Markup& out) {
    out.markup("<div class=\"ctl\"><button class=\"btn js\" id=\"openall\" aria-expanded=\"false\">Open "
               "all</button></div>");
}

void write_cards(Markup& out, const Json& document, const PageOptions& options) {
    const Json& list = document["findings"];
    const Json unpriced = document.value("unpriced", Json::array());
    const std::size_t count = list.size() + unpriced.size();
    Card card;
    card.net = document["process"]["net_ns"].get<double>();
    for (const Json& finding : list)
        card.largest = std::max(card.largest, finding["saving_ns"].get<double>());
    out.markup("<section id=\"findings\" aria-labelledby=\"h-findings\"><div class=\"sh\"><h2 "
               "id=\"h-findings\">Findings</h2>");
    out.element(
        "span class=\"mut\"",
        count == 0
            ? "none"
            : fmt::format("{}, biggest saving first{}", list.size(),
                          unpriced.empty() ? "" : fmt::format("; {}, saving not known", unpriced.size())));
    if (count != 0)
        write_open_all(out);
    out.markup("</div><div class=\"panel\"><div class=\"cards\">");
    constexpr std::size_t most_cards = 200;
    for (const Json* const each : {&list, &unpriced}) {
        card.unpriced = each == &unpriced;
        for (const Json& finding : *each)
            if (++card.number <= most_cards)
                write_card(out, document, finding, card, options);
    }
    out.markup("</div>");
    if (list.empty())
        out.element("p class=\"none\"",
                    document["why_empty"].is_null() ? "" : document["why_empty"].get<std::string>());
    if (count > most_cards)
        out.element("p class=\"more\"",
                    fmt::format("{} more findings: umadvisor report --all", count - most_cards));
    if (const auto left_out = document["findings_left_out"].get<std::size_t>(); left_out != 0)
        out.element("p class=\"more\"", text::count_text(left_out, "finding") + " left out as asked");
    out.markup("</div></section>");
}

} // namespace umadvisor::html
