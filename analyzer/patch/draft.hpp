/// Edits for one finding, before they are checked.
#pragma once

#include "analyzer/advice/resolved.hpp"
#include "analyzer/patch/edits.hpp"
#include "analyzer/patch/syntax.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace umadvisor::patch {

/// What the makers of edits get. All lines are of the one source.
struct Request {
    const advice::ResolvedFinding& finding;
    const Syntax& source;
    std::string device; ///< number of the only device that the run used; empty: it used several
    /// The calls that led to its line, the innermost first, in the program's own code and in that of libraries.
    std::vector<symbols::CodePlace> stack{};
    /// Lines of this source that have a finding of the same rule, and how many of their calls are needed.
    struct Needed {
        int line = 0;
        std::uint64_t calls = 0;
    };
    std::vector<Needed> needed{};
    std::vector<std::vector<symbols::CodePlace>> remedy_stacks{}; ///< likewise, of each line of the remedy
};

/// What a maker gives: edits, or why it makes none.
struct Draft {
    std::vector<TextEdit> edits{};
    std::vector<std::string> introduces{}; ///< variables that its edits declare in a block of the source
    std::vector<std::string> assumes{};    ///< sentences on what the calls of the run do not show
    std::string refused{};
};

using Make = Draft(const Request& request);

// Makers of edits, by what they do.
Draft insert_calls(const Request& request); ///< the finding's own calls, as prefetches and waits
Draft remove_statements(const Request& request);
Draft hoist_out_of_loop(const Request& request);        ///< what is made and destroyed in each round
Draft allocate_in_stream_order(const Request& request); ///< from a pool that keeps what is freed
Draft page_lock_buffer(const Request& request); ///< where it is allocated, or around the loop that copies it
Draft hoist_prefetch(const Request& request);
Draft join_prefetches(const Request& request);
Draft ask_once(const Request& request);
Draft wait_for_work(const Request& request); ///< of another stream, or before the host writes what is copied
Draft correct_failing_call(const Request& request);
Draft enable_peer_access(const Request& request);
Draft swap_pointers(const Request& request);
Draft move_copies(const Request& request);      ///< out of the loop that repeats them
Draft hoist_graph(const Request& request);      ///< that each round makes alike
Draft copy_to_device(const Request& request);   ///< memory of the host that kernels read in each round
Draft own_stream(const Request& request);       ///< for a launch on the default stream
Draft free_leaked(const Request& request);      ///< memory that a function allocates for itself
Draft keep_pool_memory(const Request& request); ///< raises a pool's release threshold

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
