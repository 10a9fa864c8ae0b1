/// What `umadvisor top --once --json` prints of one process.
#pragma once

#include "analyzer/live/held_lines.hpp"
#include "analyzer/live/watch.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace umadvisor::cli {

/// `lines`: nothing where they could not be read. The process has rates.
nlohmann::ordered_json top_json(const live::Watched& process,
                                const std::optional<std::vector<live::HeldLine>>& lines);

} // namespace umadvisor::cli
