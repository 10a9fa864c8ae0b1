/// Findings as code review tools read them: SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format).
#pragma once

#include "analyzer/advice/report.hpp"

#include <nlohmann/json.hpp>

namespace umadvisor::reports {

/// Collects the findings of any number of reports in one document.
class SarifLog {
public:
    SarifLog();

    void add(advice::Report& report);
    const nlohmann::ordered_json& document() const { return document_; }

private:
    nlohmann::ordered_json document_;
};

} // namespace umadvisor::reports
