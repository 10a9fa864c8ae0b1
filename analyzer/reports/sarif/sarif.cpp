#include "analyzer/reports/sarif/sarif.hpp"

#include "analyzer/advice/resolved.hpp"
#include "analyzer/reports/completeness_text.hpp"
#include "analyzer/rules/words.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace umadvisor::reports {
namespace {

using SarifJson = nlohmann::ordered_json;

/// A file as a URI reference (RFC 3986), without `..` in it: of an absolute path with its scheme.
std::string uri_of(const std::string& path) {
    std::string uri = path.starts_with('/') ? "file://" : "";
    for (const char c : std::filesystem::path(path).lexically_normal().string()) {
        const auto byte = static_cast<unsigned char>(c);
        const bool unreserved = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
                                (byte >= 'A' && byte <= 'Z') ||
                                std::string_view("-._~/").find(c) != std::string_view::npos;
        char escaped[4];
        std::snprintf(escaped, sizeof escaped, "%%%02X", byte);
        uri += unreserved ? std::string(1, c) : std::string(escaped);
    }
    return uri;
}

/// `text` may be empty.
SarifJson location_of(const symbols::CodePlace& place, const std::string& text) {
    SarifJson location = SarifJson::object();
    if (!place.file.empty()) {
        location["physicalLocation"]["artifactLocation"]["uri"] = uri_of(place.file);
        if (place.line > 0)
            location["physicalLocation"]["region"]["startLine"] = place.line;
    }
    if (!place.function.empty())
        location["logicalLocations"] = {
            {{"fullyQualifiedName", place.function.string()}, {"kind", "function"}}};
    if (!text.empty())
        location["message"]["text"] = text;
    return location;
}

std::string fingerprint_of(const rules::Finding& finding, const symbols::CodePlace& place) {
    const symbols::SharedText& file = place.file.empty() ? place.module : place.file;
    return std::string(finding.rule->id).append("|").append(file.name()).append("|").append(place.function);
}

SarifJson result_of(advice::Report& report, const rules::Finding& finding, std::size_t rule_index) {
    const advice::ResolvedFinding resolved = resolve(report, finding);
    const symbols::CodePlace& place = resolved.line.place;
    const double whole = static_cast<double>(std::max<std::uint64_t>(1, report.profile.net_ns()));
    const std::string saving = finding.unpriced
                                   ? "Saving: " + finding.basis
                                   : text::saving_sentence(finding.saving_ns, finding.saving_bytes);
    SarifJson result{{"ruleId", finding.rule->id},
                     {"ruleIndex", rule_index},
                     {"level", finding.confidence == rules::Confidence::low ? "note" : "warning"},
                     {"rank", std::clamp(100 * finding.saving_ns / whole, 0.0, 100.0)},
                     {"message",
                      {{"text", fmt::format("{}: {}. Do: {}. {}.", finding.title, finding.summary,
                                            finding.advice, saving)}}},
                     {"partialFingerprints", {{"ruleFileFunction/v1", fingerprint_of(finding, place)}}},
                     {"properties",
                      {{"saving_ns", finding.saving_ns},
                       {"saving_bytes", finding.saving_bytes},
                       {"basis", finding.basis},
                       {"confidence", name(finding.confidence)},
                       {"trace", report.trace.file.path()}}}};
    if (finding.unpriced) {
        result.erase("rank");
        result["properties"]["unpriced"] = true;
    }
    if (SarifJson location = location_of(place, ""); !location.empty())
        result["locations"] = {std::move(location)};
    SarifJson related = SarifJson::array();
    if (resolved.memory && resolved.memory->stack.known())
        related.push_back(location_of(resolved.memory->place, resolved.memory->what));
    for (const advice::ResolvedPlace& each : resolved.others)
        if (each.stack.known())
            related.push_back(location_of(each.place, each.what));
    if (!related.empty())
        result["relatedLocations"] = std::move(related);
    return result;
}

} // namespace

SarifLog::SarifLog() {
    document_ = {
        {"version", "2.1.0"},
        {"$schema", "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/"
                    "sarif-schema-2.1.0.json"},
        {"runs",
         {{{"tool",
            {{"driver",
              {{"name", "umadvisor"}, {"version", UMADVISOR_VERSION}, {"rules", SarifJson::array()}}}}},
           {"invocations",
            {{{"executionSuccessful", true}, {"toolExecutionNotifications", SarifJson::array()}}}},
           {"results", SarifJson::array()}}}}};
}

std::size_t SarifLog::index_of(const rules::Rule& rule) {
    const auto known = std::ranges::find(rules_, &rule);
    const auto index = static_cast<std::size_t>(known - rules_.begin());
    if (known == rules_.end()) {
        rules_.push_back(&rule);
        document_["runs"][0]["tool"]["driver"]["rules"].push_back(
            {{"id", rule.id},
             {"name", rule.name},
             {"shortDescription", {{"text", rule.title}}},
             {"help", {{"text", fmt::format("umadvisor explain {}", rule.id)}}}});
    }
    return index;
}

void SarifLog::add(advice::Report& report) {
    SarifJson& invocation = document_["runs"][0]["invocations"][0];
    for (const std::string& line : missing_lines(report.trace))
        invocation["toolExecutionNotifications"].push_back(
            {{"level", "warning"}, {"message", {{"text", report.trace.file.path() + ": " + line}}}});
    if (lacks_records(report.trace))
        invocation["executionSuccessful"] = false;
    for (const std::vector<rules::Finding>* const list : {&report.findings, &report.unpriced})
        for (const rules::Finding& finding : *list)
            document_["runs"][0]["results"].push_back(result_of(report, finding, index_of(*finding.rule)));
}

} // namespace umadvisor::reports
