/// Files that are there whole or not at all.
#pragma once

#include "analyzer/files/short_lived.hpp"

#include <optional>
#include <string>
#include <sys/types.h>

namespace umadvisor::files {

/// A file without a name, so that nothing stays behind however its writer ends; it takes its name with
/// commit(). Where the file system has no such files (O_TMPFILE of open(2)) it has a name of its own in the
/// same folder until then. Not thread-safe.
class NewFile {
public:
    /// To be called `path`. What earlier writers left in its folder is removed. `mode`: as for open().
    NewFile(std::string path, mode_t mode);
    ~NewFile();
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    /// Why there is none, as errno has it; 0: there is one.
    int error() const { return error_; }
    int descriptor() const { return file_; }
    /// Gives it a name of its own for one who writes it by a name; empty, with errno set, where that fails.
    const std::string& temporary();
    /// Gives it its name and ends the writing. `replace`: also where something of that name is there. Returns
    /// 0, or why it failed, as errno has it.
    int commit(bool replace);

private:
    bool make_named(mode_t mode);
    bool link_to(const std::string& name) const;
    int take_name(bool replace);

    std::string path_, folder_;
    std::optional<ShortLived> named_;
    int file_ = -1, error_ = 0;
};

} // namespace umadvisor::files
