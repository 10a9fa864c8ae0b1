/// What runs with --act have learned, for the next one to follow from its first launch on.
#pragma once

#include "analyzer/reports/report.hpp"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace umadvisor::reports {

/// Takes the traces of several processes or runs together.
class Plan {
public:
    void add(Report& report);
    bool empty() const { return returns_.empty() && never_prefetch_.empty() && never_rewrite_.empty(); }

    /// The document that docs/plan.md describes.
    nlohmann::ordered_json document() const;

private:
    void add_returns(Report& report);
    void add_losses(Report& report);
    void add_shared(Report& report);

    std::set<std::string> modes_, programs_;
    std::map<std::uint64_t, nlohmann::ordered_json> returns_, never_prefetch_, never_rewrite_; ///< by key
    std::set<std::uint64_t> given_up_; ///< in one of the runs at least
};

} // namespace umadvisor::reports
