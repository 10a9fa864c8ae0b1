/// A command line of umadvisor, run in this process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace umadvisor::fuzz {

struct CapturedRun {
    int status = 0;
    std::string out, messages;                      ///< as far as the bounds reach
    std::uint64_t out_bytes = 0, message_bytes = 0; ///< all that was written
};

/// `arguments` begin with the subcommand. What goes to the standard output and error is kept up to the bounds,
/// in bytes. Not from several threads: the streams are the process's.
CapturedRun run_captured(const std::vector<std::string>& arguments, std::uint64_t out_bound,
                         std::uint64_t message_bound);

} // namespace umadvisor::fuzz
