/// One request to many processes.
#pragma once

#include "analyzer/live/connection.hpp"

#include <functional>
#include <vector>

namespace umadvisor::cli {

/// Sends to all before any answer is read, so that they act at one time. `made` gives each its request,
/// `answered` gets its answer; where one fails, a line on stderr says so. Returns how many failed.
std::size_t ask_all(std::vector<live::Connection>& connections,
                    const std::function<live::Request(const live::Process&)>& made,
                    const std::function<void(live::Connection&, const nlohmann::json&)>& answered);

} // namespace umadvisor::cli
