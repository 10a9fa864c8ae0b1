/// Findings as code review tools read them: SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format).
#pragma once

#include "analyzer/advice/report.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <vector>

namespace umadvisor::reports {

/// Collects the findings of any number of reports in one document. It lists the rules that these findings refer
/// to, in the order in which they are first met.
class SarifLog {
public:
    SarifLog();

    void add(advice::Report& report);
    const nlohmann::ordered_json& document() const { return document_; }

private:
    std::size_t index_of(const rules::Rule& rule);

    nlohmann::ordered_json document_;
    std::vector<const rules::Rule*> rules_;
};

} // namespace umadvisor::reports
