#include "analyzer/machine/memory_mode.hpp"
#include "analyzer/reports/html/parts.hpp"
#include "analyzer/reports/html/timeline/bar.hpp"
#include "analyzer/rules/rule.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

namespace umadvisor::html {

const std::array<CauseWords, causes> cause_words{{{"host code", "host code", "code"},
                                                  {"page faults on the host", "host page faults", "hfault"},
                                                  {"page faults on the device", "device page faults", "dfault"},
                                                  {"waiting for kernels", "kernels", "kwait"},
                                                  {"fills and copies", "fills and copies", "fill"},
                                                  {"allocation and free", "allocation", "alloc"},
                                                  {"launches and other calls", "calls", "launch"},
                                                  {"start of CUDA", "start of CUDA", "start"}}};

namespace {

using Json = nlohmann::ordered_json;

std::string time_of(double ns) {
    return text::time_text(ns);
}

constexpr auto start = static_cast<std::size_t>(Cause::start);

constexpr CauseWords remedies{"what the remedies need", "remedies", "pre"};

/// A replay reduces page faults by the time that a prefetch of the same bytes saves.
CauseWords words_after(std::size_t cause) {
    CauseWords words = cause_words[cause];
    if (cause == static_cast<std::size_t>(Cause::host_faults))
        words = {"page faults on the host or prefetches instead", "host faults or prefetch", words.colour};
    else if (cause == static_cast<std::size_t>(Cause::device_faults))
        words = {"page faults on the device or prefetches instead", "device faults or prefetch", words.colour};
    return words;
}

/// A bar of a run that takes `net_ns`, split by causes; `added_ns`: what the remedies need.
void write_bar(Markup& out, const std::string& what, const std::array<double, causes>& where, double added_ns,
               double net_ns, double whole_ns) {
    double sum = added_ns;
    for (std::size_t i = 0; i < start; ++i)
        sum += where[i];
    std::string label;
    const auto each_part = [&](const auto& part) {
        for (std::size_t i = 0; i < start; ++i)
            if (where[i] > 0) // no time is known of the others: their faults may be counted all the same
                part(net_ns < whole_ns ? words_after(i) : cause_words[i], where[i] / sum * net_ns);
        if (added_ns > 0)
            part(remedies, added_ns / sum * net_ns);
    };
    each_part([&](const CauseWords& words, double ns) {
        label += fmt::format("{}{} {}", label.empty() ? what + ": " : ", ", words.name, time_of(ns));
    });
    Bar bar(label);
    each_part([&](const CauseWords& words, double ns) {
        bar.part(ns / whole_ns, words.colour, fmt::format("{} {}", words.brief, time_of(ns)),
                 fmt::format("{}: {}", words.name, time_of(ns)));
    });
    if (const double saved = whole_ns - net_ns; saved > 0)
        bar.part(saved / whole_ns, "rest", "saved " + time_of(saved), "saved: " + time_of(saved));
    out.markup(fmt::format("<span class=\"k\">{} ", what)).element("b", time_of(net_ns)).markup("</span>");
    out.markup(bar.str());
}

void write_where(Markup& out, const Json& document, const Timeline& timeline, const After& after) {
    const std::array<double, causes> where = timeline.where();
    const double sum = std::accumulate(where.begin(), where.begin() + start, 0.0);
    if (sum <= 0)
        return;
    const double net = document["process"]["net_ns"].get<double>();
    const bool faults = where[static_cast<std::size_t>(Cause::host_faults)] > 0 ||
                        where[static_cast<std::size_t>(Cause::device_faults)] > 0;
    out.markup(
        "<div class=\"where\"><h2 class=\"cap\">Where the time goes <span class=\"mut\">(the main thread");
    out.markup(faults ? "; page faults are estimated" : "").markup(")</span></h2><div class=\"stk\">");
    write_bar(out, "now", where, 0, net, net);
    const double saved = std::min(net, document["together_ns"].get<double>());
    if (saved > 0) {
        write_bar(out, "after", after.where, after.added_ns, net - saved, net);
    }
    out.markup("</div><ul class=\"lg\">");
    const auto item = [&out](const CauseWords& words) {
        begin_legend_entry(out, words.colour, words.name);
        out.markup(" ");
    };
    constexpr double least = 0.0005; ///< share that rounds to 0.1%
    for (std::size_t i = 0; i < start; ++i)
        if (where[i] > 0) {
            item(cause_words[i]);
            out.element("b", time_of(where[i] / sum * net)).markup(" ");
            out.element("span class=\"mut\"",
                        where[i] / sum < least ? "<0.1%" : text::percent_text(where[i] / sum))
                .markup("</li>");
        }
    if (saved > 0 && after.added_ns > least * net) {
        item(remedies);
        const double whole =
            std::accumulate(after.where.begin(), after.where.begin() + start, after.added_ns); // of that bar
        out.element("b", time_of(after.added_ns / whole * (net - saved))).markup("</li>");
    }
    out.markup("</ul></div>");
}

void fact(Markup& out, std::string_view name, std::string_view value) {
    out.element("dt", name).element("dd", value);
}

std::string count_or_unknown(const Json& number) {
    return number.is_null() ? "not known" : std::to_string(number.get<std::uint64_t>());
}

/// With pagemap as the source, the page table shows where memory is, but no moves are counted.
std::string moved_text(const Json& totals, const char* bytes) {
    const auto moved = totals[bytes].get<double>();
    const bool counted = moved != 0 || totals["exact"].get<bool>() || totals["told"]["events"] != 0;
    return counted ? text::bytes_text(moved) : "not known";
}

void write_together(Markup& out, const Json& document) {
    const double net = document["process"]["net_ns"].get<double>();
    const double saved = std::min(net, document["together_ns"].get<double>());
    out.markup("<div class=\"tog\"><h2 class=\"cap\">All findings together</h2>");
    if (saved > 0) {
        out.markup("<p class=\"big\" id=\"together\">");
        if (time_of(net) != time_of(net - saved))
            out.markup("<span class=\"was\">").text(time_of(net)).markup(" → </span>");
        out.text(time_of(net - saved)).markup("</p>");
        out.element("p class=\"mut\"", fmt::format("{} less ({}), by replaying the trace with all remedies",
                                                   time_of(saved), text::percent_text(saved / net)));
    } else {
        out.markup("<p class=\"big\" id=\"together\">").text(time_of(net)).markup("</p>");
        out.element("p class=\"mut\"", "no finding saves time");
    }
    if (document.contains("together_at_most_ns"))
        out.element("p class=\"mut\"",
                    fmt::format("the calls leave it open: {} less",
                                text::open_saving_text(document["together_at_least_ns"].get<double>(),
                                                       document["together_at_most_ns"].get<double>())));
    out.markup("<dl>");
    fact(out, "Run time", time_of(net));
    const double whole = document["process"]["recorded_ns"].get<double>();
    if (whole > net)
        fact(out, "Start of CUDA", time_of(whole - net) + ", not in it");
    if (const Json& managed = document["managed"]; !managed.is_null()) {
        const Json& totals = managed["totals"];
        fact(out, "Moved to the device", moved_text(totals, "bytes_to_device"));
        fact(out, "Moved to the host", moved_text(totals, "bytes_to_host"));
        fact(out, "Page faults, host", count_or_unknown(totals["host_faults"]));
        fact(out, "Page faults, device", count_or_unknown(totals["device_faults"]));
    }
    double copied = 0;
    for (const Json& copy : document["copies"])
        copied += copy["bytes"].get<double>();
    if (copied > 0)
        fact(out, "Copied", text::bytes_text(copied));
    fact(out, "Records", std::to_string(document["records"].get<std::uint64_t>()));
    out.markup("</dl></div>");
}

std::string memory_mode(const Json& device) {
    const machine::MemoryMode mode = machine::mode_called(device["memory_mode"].get<std::string>());
    std::string text(machine::text(mode));
    if (!device["managed_memory"].get<bool>())
        text += ", no managed memory";
    else if (!device["concurrent_managed_access"].get<bool>())
        text += ", managed memory moves at launches";
    return text;
}

void write_facts(Markup& out, const Json& document) {
    out.markup("<div class=\"facts\">");
    std::vector<std::pair<std::pair<std::string, std::string>, std::size_t>> devices; // alike ones once
    for (const Json& device : document["devices"]) {
        std::pair kind(device["name"].get<std::string>(), memory_mode(device));
        const auto known = std::ranges::find(devices, kind, &decltype(devices)::value_type::first);
        if (known == devices.end())
            devices.emplace_back(std::move(kind), 1);
        else
            ++known->second;
    }
    for (const auto& [kind, count] : devices) {
        out.markup("<span><b>").text((count > 1 ? fmt::format("{} × ", count) : "") + kind.first);
        out.markup("</b>, ").text(kind.second).markup("</span>");
    }
    const auto item = [&out](std::string_view name, const std::string& value) {
        out.markup("<span>").text(name).markup(" ").element("b", value).markup("</span>");
    };
    const Json& process = document["process"];
    if (const Json& managed = document["managed"];
        !managed.is_null() && !managed["driver_release"].get<std::string>().empty())
        item("driver", managed["driver_release"].get<std::string>());
    const Json& priced = document["prices"]["device"]; // the machine of the run, or that of --machine
    item("prices", priced.is_null() ? "of an H200" : "measured with " + priced.get<std::string>());
    item("pid", std::to_string(process["pid"].get<std::uint64_t>()) +
                    (process.contains("host") ? " on " + process["host"].get<std::string>() : std::string()));
    const bool complete = document["completeness"]["complete"].get<bool>();
    out.markup(complete ? "<span class=\"ok\">✓ " : "<span class=\"fail\">");
    out.text(document["completeness"]["summary"].get<std::string>()).markup("</span>");
    const double net = process["net_ns"].get<double>();
    const Json& replay = document["replay"];
    if (replay["hidden_waits"].get<std::uint64_t>() != 0 && replay["error_ns"].get<double>() > 0.0005 * net)
        item("replay off by", text::percent_text(replay["error_ns"].get<double>() / net));
    item("recording cost about", time_of(document["recording_cost_ns"].get<double>()));
    std::uint64_t failed = 0;
    for (const Json& finding : document["findings"]) // calls that fail at the end, as some do, are in none
        if (finding["rule"] == rules::uma_701.id)
            failed += finding["evidence"]["failed"].get<std::uint64_t>();
    if (failed != 0)
        out.markup("<span><a href=\"#tables\">")
            .text(text::count_text(failed, "call") + " failed")
            .markup("</a></span>");
    out.markup("</div>");
    constexpr std::size_t most_notes = 2; ///< more unfold
    std::vector<std::string> notes;
    for (const auto* list : {&document["completeness"]["lines"], &document["notices"], &document["warnings"]})
        for (const Json& line : *list)
            notes.push_back(line.get<std::string>());
    if (notes.size() > most_notes)
        out.markup("<details class=\"stack\"><summary>")
            .text(fmt::format("{} notes", notes.size()))
            .markup("</summary>");
    for (const std::string& note : notes)
        out.element("p class=\"note\"", note);
    if (notes.size() > most_notes)
        out.markup("</details>");
}

} // namespace

void write_head(Markup& out, const Json& document, const Timeline& timeline, const After& after) {
    const Json& process = document["process"];
    out.markup("<div class=\"panel head\"><div>").element("h1", process["program"].get<std::string>());
    out.element("p class=\"cmd m\"", process["command_line"].get<std::string>());
    write_facts(out, document);
    write_where(out, document, timeline, after);
    out.markup("</div>");
    write_together(out, document);
    out.markup("</div>");
}

} // namespace umadvisor::html
