/// What `umadvisor report` says of a job.
#pragma once

#include "analyzer/ranks/comparison.hpp"

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace umadvisor::ranks {

/// For people. `all`: every finding, step and rank that deviates.
void write_text(const Comparison& job, bool all, std::ostream& out);

/// The parts of the text that the page has too. An empty text: there is nothing to say.
std::string value_text(Quantity quantity, double value);
std::string deviation_text(const Deviation& deviation);
std::string place_text(Quantity quantity, const DeviationPlace& place);
std::string waiting_text(const Comparison& job);
std::string saving_text(const Comparison& job, const SharedFinding& finding);
std::string devices_text(const Comparison& job);
std::vector<std::string> notes_of(const Comparison& job); ///< traces that are no rank, and what is missing

/// The document that docs/ranks.md describes.
nlohmann::ordered_json to_json(const Comparison& job);

} // namespace umadvisor::ranks
