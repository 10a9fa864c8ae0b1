/// Formats of other tools that `umadvisor export` writes: one a file.
#pragma once

#include "analyzer/advice/report.hpp"
#include "analyzer/cli/command.hpp"
#include "analyzer/cli/output_file.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace umadvisor::cli {

struct ExportFormat {
    OptionSpec flag;                 ///< that asks for it
    std::vector<OptionSpec> options; ///< that it alone has, each by one name
    std::size_t most_traces = 1;     ///< that one file holds
    /// Called before anything is read. Returns false, with a line said, where its options cannot be followed.
    /// nullptr: it has none that could be wrong.
    bool (*check)(const Arguments&);
    /// Writes the traces that the arguments name. May throw reader::Error.
    void (*write)(const Arguments&, OutputFile&);
};

/// Makes the report of each trace that the arguments name, and says what is wrong with the trace after `then`.
void for_each_report(const Arguments& arguments,
                     const std::function<void(advice::Report&, const std::string& path)>& then);

/// Made when they are first asked for: commands are made before main() begins, in no order.
const ExportFormat& memory_viz_format();
const ExportFormat& perfetto_format();
const ExportFormat& sqlite_format();

} // namespace umadvisor::cli
