#include "analyzer/ranks/summary.hpp"

#include "analyzer/reader/error.hpp"
#include "analyzer/rules/finding.hpp"
#include "analyzer/text/json_text.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace umadvisor::ranks {
namespace {

using Json = nlohmann::ordered_json;
using ReadJson = nlohmann::json; // finds keys by a tree: a line that others wrote may have thousands

constexpr std::string_view schema = "umadvisor-summary-1";
constexpr double most_exact = 9e15; ///< about 2^53: a larger number is none that a summary has

Json steps_json(const Summary& summary) {
    Json list = Json::array();
    for (const Step& step : summary.steps)
        list.push_back({{"name", step.name},
                        {"domain", step.domain},
                        {"count", step.count},
                        {"median_ns", std::round(step.median_ns)},
                        {"worst_ns", std::round(step.worst_ns)},
                        {"total_ns", std::round(step.total_ns)}});
    return list;
}

Json lines_json(const Summary& summary) {
    Json list = Json::array();
    for (const Line& line : summary.lines)
        list.push_back({{"line", line.text}, {"ns", std::round(line.ns)}, {"bytes", std::round(line.bytes)}});
    return list;
}

Json findings_json(const Summary& summary, std::size_t count) {
    Json list = Json::array();
    for (const Saving& finding : std::vector(summary.findings.begin(), summary.findings.begin() + count))
        list.push_back({{"rule", finding.rule},
                        {"title", finding.title},
                        {"line", finding.line},
                        {"confidence", finding.confidence},
                        {"saving_ns", std::round(finding.ns)},
                        {"saving_bytes", finding.bytes},
                        {"unpriced", finding.unpriced}});
    return list;
}

std::string line_of(const Summary& summary, std::size_t findings) {
    Json measured = Json::object();
    for (std::size_t i = 0; i < quantities; ++i)
        measured[std::string(quantity_words[i].key)] = std::round(summary.measured[i]);
    const Json document{{"schema", schema},
                        {"rank", summary.rank},
                        {"host", summary.host},
                        {"pid", summary.pid},
                        {"begin_ns", summary.begin_ns},
                        {"trace", summary.trace},
                        {"program", summary.program},
                        {"device", summary.device},
                        {"node", summary.node},
                        {"complete", summary.complete},
                        {"calls", summary.calls},
                        {"measured", std::move(measured)},
                        {"steps", steps_json(summary)},
                        {"lines", lines_json(summary)},
                        {"findings", findings_json(summary, findings)},
                        {"findings_beyond", summary.findings_beyond + summary.findings.size() - findings}};
    return text::json_text(document, -1) + "\n";
}

double number(const ReadJson& object, std::string_view key) {
    const ReadJson& value = object.at(std::string(key));
    const double number = value.get<double>();
    if (!std::isfinite(number) || number < 0 || number > 2e19)
        throw std::out_of_range("no such number");
    return number;
}

std::uint64_t count(const ReadJson& object, std::string_view key) {
    const ReadJson& value = object.at(std::string(key));
    if (!value.is_number_unsigned() && number(object, key) > most_exact)
        throw std::out_of_range("no such number");
    return value.get<std::uint64_t>();
}

std::string text(const ReadJson& object, std::string_view key) {
    return object.at(std::string(key)).get<std::string>();
}

Step step_of(const ReadJson& object) {
    return {text(object, "name"),        text(object, "domain"),     count(object, "count"),
            number(object, "median_ns"), number(object, "worst_ns"), number(object, "total_ns")};
}

Line line_of(const ReadJson& object) {
    return {text(object, "line"), number(object, "ns"), number(object, "bytes")};
}

Saving saving_of(const ReadJson& object) {
    return {text(object, "rule"),           text(object, "title"),       text(object, "line"),
            text(object, "confidence"),     number(object, "saving_ns"), count(object, "saving_bytes"),
            object.value("unpriced", false)}; // summaries of 1.0 lack it
}

Summary summary_of(const ReadJson& document) {
    Summary summary;
    if (document.at("schema") != schema)
        throw std::out_of_range("another schema");
    summary.rank = text(document, "rank");
    summary.host = text(document, "host");
    summary.program = text(document, "program");
    summary.device = text(document, "device");
    summary.pid = count(document, "pid");
    summary.begin_ns = count(document, "begin_ns");
    summary.node = count(document, "node");
    summary.complete = document.at("complete").get<bool>();
    summary.calls = count(document, "calls");
    for (std::size_t i = 0; i < quantities; ++i)
        summary.measured[i] = number(document.at("measured"), quantity_words[i].key);
    for (const ReadJson& step : document.at("steps"))
        summary.steps.push_back(step_of(step));
    summary.trace = document.value("trace", ""); // summaries of 1.0 lack it, and the lines
    for (const ReadJson& line : document.value("lines", ReadJson::array()))
        summary.lines.push_back(line_of(line));
    for (const ReadJson& finding : document.at("findings"))
        summary.findings.push_back(saving_of(finding));
    summary.findings_beyond = count(document, "findings_beyond");
    return summary;
}

} // namespace

std::string to_line(const Summary& summary) {
    std::size_t findings = summary.findings.size();
    std::string line = line_of(summary, findings);
    while (line.size() > most_summary_bytes && findings > 0) {
        findings /= 2;
        line = line_of(summary, findings);
    }
    return line;
}

Summary from_line(std::string_view line, const std::string& from) {
    try {
        return summary_of(ReadJson::parse(line));
    } catch (const std::exception&) { // of the parser, or of a member that is missing or of another kind
        throw reader::Error(from + ": is no summary of a run (umadvisor run --summary writes them)");
    }
}

} // namespace umadvisor::ranks
