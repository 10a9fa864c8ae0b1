/// What `umadvisor report` says of a job.
#pragma once

#include "analyzer/ranks/comparison.hpp"

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>

namespace umadvisor::ranks {

/// For people. `all`: every finding, step and rank that deviates.
void write_text(const Comparison& job, bool all, std::ostream& out);

/// The document that docs/ranks.md describes.
nlohmann::ordered_json to_json(const Comparison& job);

} // namespace umadvisor::ranks
