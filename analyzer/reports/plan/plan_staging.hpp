/// What plans say of `--act stage`.
#pragma once

#include "analyzer/reports/plan/plan_entries.hpp"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace umadvisor::reports {

/// Takes the traces of several processes or runs together.
class PlanStaging {
public:
    /// `acted`: the run was made with --act. Of one that was not, the copies count that would have been staged.
    void add(advice::Report& report, bool acted);
    bool empty() const { return sites_.empty() && never_.empty(); }

    nlohmann::ordered_json stage() const;
    nlohmann::ordered_json never_stage() const { return values_of(never_); }

private:
    struct Site {
        std::uint64_t key;
        std::string line;
        std::uint64_t copies = 0, bytes = 0;
    };
    using Sites = std::map<std::string, Site>; ///< by key, or by line where there is none

    Sites sites_;
    PlanEntries never_;
};

} // namespace umadvisor::reports
