/// Looking at a program before it is run.
#pragma once

#include <string>

namespace umadvisor::cli {

struct ProgramFile {
    std::string path;    ///< what to execute
    std::string trouble; ///< one line: why it cannot be run under the advisor; empty: it can
    int status = 0; ///< exit status that goes with the trouble: 127 not found, 126 not executable, 2 no preload
};

/// Finds `name` as execvp(3) would, and checks that the dynamic loader will serve it: a static binary, a 32-bit
/// one and a set-user-ID one ignore LD_PRELOAD (ld.so(8)). Scripts pass: their interpreter decides.
ProgramFile find_program(const std::string& name);

} // namespace umadvisor::cli
