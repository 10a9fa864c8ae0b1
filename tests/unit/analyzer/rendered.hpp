/// The report of a trace, as people and as programs read it.
#pragma once

#include "analyzer/advice/report.hpp"
#include "analyzer/reports/json/json.hpp"
#include "analyzer/reports/text/text.hpp"
#include "text.hpp"

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace umadvisor::test {

inline nlohmann::json json_of(const std::string& path) {
    advice::Report report(path);
    return nlohmann::json::parse(reports::to_json(report).dump());
}

inline std::string text_of(const std::string& path, const symbols::Options& options = {}) {
    advice::Report report(path, options);
    report.all_managed = true;
    std::ostringstream out;
    reports::write_text(report, out);
    return out.str();
}

} // namespace umadvisor::test
