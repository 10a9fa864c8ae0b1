/// The processes that a command line names.
#pragma once

#include "analyzer/live/connection.hpp"

#include <string>
#include <vector>

namespace umadvisor::cli {

struct Chosen {
    std::vector<live::Connection> connections;
    bool refused = false; ///< a line on stderr has said why a process is not asked
};

/// All of this user's. Throws reader::Error where there is none.
Chosen choose_all();

/// The one of this PID or NAME. Throws reader::Error where there is none, or where several have the name.
Chosen choose_one(const std::string& given);

/// All of each PID or NAME. Throws reader::Error where one stands for no process.
Chosen choose_each(const std::vector<std::string>& given);

} // namespace umadvisor::cli
