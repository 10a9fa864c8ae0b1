/// What the runs of a program left behind, held against what the first one left.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace umadvisor::cli {

/// Runs are of two kinds: of the program as it is, and with a change.
enum class Arm : std::uint8_t { bare, repaired };
using ArmNames = std::array<const char*, 2>; ///< by arm, as results call them

/// What results of changed runs are beside those of bare ones.
enum class Likeness : std::uint8_t { equal, varying /**< bare runs differ, too */, different };

/// "exit status 3", "signal 9 (status 137)"
std::string status_text(int status);

/// Compares byte by byte. Keeps a copy of the first run's results in `folder`, its owner's to remove.
class RunResults {
public:
    /// `output` is the file that runs write their standard output to, `files` what else they write. Throws
    /// reader::Error when one of those is there and is no regular file.
    RunResults(std::string folder, const std::string& output, const std::vector<std::string>& files,
               const ArmNames& names);

    /// Before a run: what is there already is not its result.
    void expect();
    /// After it; the first is bare, and the others are compared with it. Throws reader::Error when the first
    /// run did not write one of the files, or when they cannot be read.
    void add(Arm arm, int status);

    /// Lines, one for each result that was not the same in all runs.
    std::vector<std::string> differences() const;
    /// Different where one result is; else varying where one varies by itself.
    Likeness likeness() const;
    /// Lines, one for each result: "standard output (66 bytes)". Of the first run.
    std::vector<std::string> compared() const;

private:
    struct Stamp {
        std::uint64_t inode = 0, nanoseconds = 0; ///< both 0: there is no such file
        bool operator==(const Stamp&) const = default;
    };
    struct Result {
        std::string what, path, kept;
        Stamp before;
        std::uint64_t bytes = 0;  ///< of the first run
        std::string different[2]; ///< by arm: the first difference, empty: none
    };
    static Stamp stamp_of(const std::string& path);
    void compare(Result& result, Arm arm, const std::string& run);

    std::string folder_;
    ArmNames names_;
    std::vector<Result> results_;
    unsigned runs_[2] = {};
    int status_ = 0;
    std::string other_status_[2]; ///< by arm
};

} // namespace umadvisor::cli
