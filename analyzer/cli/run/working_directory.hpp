/// Where programs are started.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace umadvisor::cli {

/// This process works in `folder` while this lives, and what it starts meanwhile does: a program may be named
/// relative to it, and PWD says where it is. posix_spawn(3) has no way of its own with every glibc.
class WorkingDirectory {
public:
    /// Empty: nothing changes. Throws std::filesystem::filesystem_error where it cannot be entered.
    explicit WorkingDirectory(const std::string& folder) {
        if (folder.empty())
            return;
        before_ = std::filesystem::current_path();
        if (const char* const pwd = std::getenv("PWD"))
            pwd_before_ = pwd;
        std::filesystem::current_path(folder);
        ::setenv("PWD", folder.c_str(), 1);
    }
    ~WorkingDirectory() {
        if (before_.empty())
            return;
        std::error_code failed; // it is gone: all names that are used from here on are absolute
        std::filesystem::current_path(before_, failed);
        if (pwd_before_)
            ::setenv("PWD", pwd_before_->c_str(), 1);
        else
            ::unsetenv("PWD");
    }
    WorkingDirectory(const WorkingDirectory&) = delete;
    WorkingDirectory& operator=(const WorkingDirectory&) = delete;

private:
    std::filesystem::path before_;
    std::optional<std::string> pwd_before_;
};

} // namespace umadvisor::cli
