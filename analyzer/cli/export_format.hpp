/// Formats of other tools that `umadvisor export` writes: one a file.
#pragma once

#include "analyzer/cli/command.hpp"
#include "analyzer/cli/output_file.hpp"

#include <vector>

namespace umadvisor::cli {

struct ExportFormat {
    OptionSpec flag;                 ///< that asks for it
    std::vector<OptionSpec> options; ///< that it alone has
    /// Called before anything is read. Returns false, with a line said, where its options cannot be followed.
    bool (*check)(const Arguments&);
    /// Writes the trace that the arguments name. May throw reader::Error.
    void (*write)(const Arguments&, OutputFile&);
};

/// Made when they are first asked for: commands are made before main() begins, in no order.
const ExportFormat& memory_viz_format();

} // namespace umadvisor::cli
