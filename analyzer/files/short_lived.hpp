/// Names in the file system that are not to outlive the process that made them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace umadvisor::files {

/// A file that is not finished, or a folder with what a command needs while it runs, folders in it included. It
/// is removed when this ends, and by any signal that ends the process and can be caught. Where SIGKILL ended
/// the process, remove_left() finds it: whoever makes the file or folder locks it (flock(2)) for as long as it
/// is needed. Not thread-safe. The working directory must not change meanwhile where the name is relative.
class ShortLived {
public:
    /// A name of its own in `folder`, which nothing has yet: what it stands for is made after this, so that no
    /// signal comes between. `purpose`: "run" gives umadvisor-run-...; without one the name is hidden.
    explicit ShortLived(const std::string& folder, std::string_view purpose = {});
    ~ShortLived();
    ShortLived(const ShortLived&) = delete;
    ShortLived& operator=(const ShortLived&) = delete;

    const std::string& path() const { return path_; }

private:
    std::string path_;
    std::size_t slot_;
};

/// Removes what this process has unfinished, before it ends without destructors. Async-signal-safe.
void remove_unfinished() noexcept;

/// The same; then ends the process by `signal`, whose default action ends processes. Async-signal-safe; in a
/// handler of that signal the process ends when the handler returns.
void end_by(int signal) noexcept;

/// remove_left() removes either files, whose names have no purpose, or folders, whose names have one.
enum class Left { file, folder };

/// Removes what processes that are gone have left in `folder` ("" is the working directory): names of the form
/// that ShortLived gives, this user's, older than a day, and not locked.
void remove_left(const std::string& folder, Left kind) noexcept;

} // namespace umadvisor::files
