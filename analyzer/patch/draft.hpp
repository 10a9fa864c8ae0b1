/// Edits for one finding, before they are checked.
#pragma once

#include "analyzer/advice/resolved.hpp"
#include "analyzer/patch/edits.hpp"
#include "analyzer/patch/syntax.hpp"

#include <functional>
#include <string>
#include <vector>

namespace umadvisor::patch {

/// What the makers of edits get. All lines are of the one source.
struct Request {
    const advice::ResolvedFinding& finding;
    const Syntax& source;
    std::string device; ///< number of the only device; empty: there are several
    /// The calls that led to its line, the innermost first, in the program's own code and in that of libraries.
    std::vector<symbols::CodePlace> stack{};
};

/// What a maker gives: edits, or why it makes none.
struct Draft {
    std::vector<TextEdit> edits{};
    std::vector<std::string> assumes{}; ///< sentences on what the calls of the run do not show
    std::string refused{};
};

using Make = Draft(const Request& request);

// Makers of edits, by what they do.
Draft insert_calls(const Request& request); ///< the finding's own calls, as prefetches and waits
Draft remove_statements(const Request& request);
Draft hoist_out_of_loop(const Request& request); ///< what is made and destroyed in each round
Draft keep_pool_memory(const Request& request);  ///< raises a pool's release threshold

namespace python {

Draft read_later(const Request& request);        ///< scalars that each round reads back
Draft join_copies(const Request& request);       ///< many small copies
Draft upload_once(const Request& request);       ///< bytes that are uploaded again and again
Draft mend_statement(const Request& request);    ///< statements that cost more than their calls
Draft pin_downloads(const Request& request);     ///< pageable downloads
Draft drop_graphs(const Request& request);       ///< values that keep the graphs of their rounds
Draft unpin(const Request& request);             ///< page-locked memory that no copy uses
Draft keep_freed_memory(const Request& request); ///< memory that the program makes PyTorch give back

} // namespace python
} // namespace umadvisor::patch
