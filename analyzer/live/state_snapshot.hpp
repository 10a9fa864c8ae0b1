/// What a process has in use now, written by itself.
#pragma once

#include "analyzer/files/short_lived.hpp"
#include "analyzer/live/connection.hpp"

#include <optional>
#include <string>

namespace umadvisor::live {

/// A trace with the live allocations of a process, in a folder for temporary files that both see. It is removed
/// when this ends.
class StateSnapshot {
public:
    /// Asks for it, and waits. Throws reader::Error where there is none.
    explicit StateSnapshot(Connection& connection);

    const std::string& path() const { return path_; }

private:
    std::optional<files::ShortLived> folder_;
    std::string path_;
};

} // namespace umadvisor::live
