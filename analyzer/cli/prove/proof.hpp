/// What two builds of a tree showed about the diff between them.
#pragma once

#include "analyzer/cli/prove/named_finding.hpp"
#include "analyzer/cli/run/trial.hpp"

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace umadvisor::cli {

struct Proof {
    const Trial& trial;
    std::vector<NamedFinding> findings;

    /// The output is equal, or varies by itself, and no time is lost.
    bool holds() const;
};

void write_text(const Proof& proof, std::ostream& out);
/// The document of umadvisor-prove-1 (docs/commands.md).
nlohmann::ordered_json to_json(const Proof& proof);

} // namespace umadvisor::cli
