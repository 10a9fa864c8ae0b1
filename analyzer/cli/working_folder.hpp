/// A folder for what a command needs only while it runs.
#pragma once

#include <string>

namespace umadvisor::cli {

/// In the folder for temporary files (TMPDIR); it goes with its contents.
class WorkingFolder {
public:
    /// Throws reader::Error where none can be made.
    explicit WorkingFolder(const std::string& purpose);
    ~WorkingFolder();
    WorkingFolder(const WorkingFolder&) = delete;
    WorkingFolder& operator=(const WorkingFolder&) = delete;
    std::string operator/(const char* name) const { return path_ + "/" + name; }

private:
    std::string path_;
};

} // namespace umadvisor::cli
