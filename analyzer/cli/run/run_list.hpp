/// What the processes of one `umadvisor run` report about their traces (trace/run_list.hpp).
#pragma once

#include "analyzer/cli/run/working_folder.hpp"

#include <string>
#include <vector>

namespace umadvisor::cli {

/// A process that entered CUDA.
struct RunProcess {
    std::string pid;
    std::string path;    ///< absolute, of its trace; empty: it has none
    std::string trouble; ///< why it has none
};

/// A list for one run, gone with it.
class RunList {
public:
    /// Throws reader::Error where it cannot be made.
    RunList();

    const std::string& path() const { return path_; }
    /// In the order in which they entered CUDA; what is no entry is left out.
    std::vector<RunProcess> processes() const;

private:
    WorkingFolder folder_{"run"};
    std::string path_ = folder_ / "processes";
};

} // namespace umadvisor::cli
