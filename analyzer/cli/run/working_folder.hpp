/// A folder for what a command needs only while it runs.
#pragma once

#include "analyzer/files/short_lived.hpp"

#include <optional>
#include <string>

namespace umadvisor::cli {

/// In the folder for temporary files (TMPDIR); it goes with its files, also where a signal ends the process
/// (files::ShortLived).
class WorkingFolder {
public:
    /// Throws reader::Error where none can be made.
    explicit WorkingFolder(const std::string& purpose);
    ~WorkingFolder();
    WorkingFolder(const WorkingFolder&) = delete;
    WorkingFolder& operator=(const WorkingFolder&) = delete;
    std::string operator/(const char* name) const { return folder_->path() + "/" + name; }

private:
    std::optional<files::ShortLived> folder_;
    int lock_ = -1;
};

} // namespace umadvisor::cli
