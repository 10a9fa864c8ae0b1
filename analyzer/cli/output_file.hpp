/// Files that the user has named with -o.
#pragma once

#include "analyzer/files/new_file.hpp"

#include <string>
#include <string_view>
#include <sys/types.h>

namespace umadvisor::cli {

/// One such file, whole or not at all: it takes its name when commit() is called; without that nothing stays
/// behind, also where a signal ends the process (files::NewFile). Follows no link. Not thread-safe.
class OutputFile {
public:
    /// Throws reader::Error: something of that name is there (a regular file does not count with `force`), or
    /// nothing can be made in its folder. `mode`: as for open(); the umask applies.
    OutputFile(std::string path, bool force, mode_t mode = 0666);

    /// At the end of what was written. Throws reader::Error: the disk is full, or fails.
    void write(std::string_view bytes);
    /// A name that it has until then, for one who writes it by a name. Throws reader::Error.
    const std::string& temporary();
    /// Gives the file its name. Throws reader::Error where that fails, or another file got that name meanwhile.
    void commit();

private:
    [[noreturn]] void fail(int error) const;

    std::string path_;
    bool force_;
    files::NewFile file_;
};

/// Throws reader::Error where such a file may not be made, before time is spent on what it is to hold:
/// something of that name is there that is not a regular file of this user's, or it is and `force` is not
/// given.
void check_output_name(const std::string& path, bool force);

/// The same as OutputFile for bytes that are at hand.
void write_output_file(const std::string& path, bool force, std::string_view bytes, mode_t mode = 0666);

} // namespace umadvisor::cli
