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
    /// `never`: calls whose copies are not staged; gets those of which the run has learned that.
    void add(advice::Report& report, bool acted, PlanEntries& never);
    bool empty() const { return sites_.empty(); }

    nlohmann::ordered_json stage(const PlanEntries& never) const;

private:
    struct Site {
        std::uint64_t key;
        std::string line;
        std::uint64_t copies = 0, bytes = 0;
    };
    using Sites = std::map<std::string, Site>; ///< by key, or by line where there is none

    Sites sites_;
};

} // namespace umadvisor::reports
