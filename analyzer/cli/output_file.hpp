/// Files that the user has named with -o.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>

namespace umadvisor::cli {

/// One such file, whole or not at all: it is written under another name in the same folder and takes its own
/// name when commit() is called; without that nothing stays behind. Follows no link. Not thread-safe.
class OutputFile {
public:
    /// Throws reader::Error: something of that name is there (a regular file does not count with `force`), or
    /// nothing can be made in its folder. `mode`: as for open(); the umask applies.
    OutputFile(std::string path, bool force, mode_t mode = 0666);
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    /// At the end of what was written. Throws reader::Error: the disk is full, or fails.
    void write(std::string_view bytes);
    /// Where it is until then, for one who writes it by that name.
    const std::string& temporary() const { return temporary_; }
    /// Gives the file its name. Throws reader::Error where that fails, or another has taken the name meanwhile.
    void commit();

private:
    [[noreturn]] void fail(int error) const;

    std::string path_, temporary_; ///< the latter is empty once it has its name
    bool force_;
    int file_ = -1;
};

/// Throws reader::Error where such a file may not be made, before time is spent on what it is to hold:
/// something of that name is there that is not a regular file of this user's, or it is and `force` is not
/// given.
void check_output_name(const std::string& path, bool force);

/// The same as OutputFile for bytes that are at hand.
void write_output_file(const std::string& path, bool force, std::string_view bytes, mode_t mode = 0666);

} // namespace umadvisor::cli
