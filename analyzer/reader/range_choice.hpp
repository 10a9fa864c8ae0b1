/// The ranges (NVTX) that a report is asked to look at.
#pragma once

#include "analyzer/reader/dictionary.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

namespace umadvisor::reader {

class TraceFile;

/// Globs, fnmatch(3) without flags.
struct RangeQuery {
    std::string name;   ///< empty: no range is asked for
    std::string domain; ///< empty: any but those of libraries
};

/// The domain of a library that marks its own parts: NCCL, cuBLAS, CCCL and the like. The default domain, which
/// has no name, is the program's.
bool is_library_domain(std::string_view domain);

/// Which Range records a query means.
class RangeChoice {
public:
    /// Reads the events once, to know which ranges there are. Throws Error, with their names, when the query
    /// means none of them.
    RangeChoice(TraceFile& file, const Dictionary& dictionary, const RangeQuery& query);

    bool has(std::uint64_t text, std::uint64_t domain) const {
        return texts_.contains(text) && domains_.contains(domain);
    }
    const RangeQuery& query() const { return query_; }

private:
    RangeQuery query_;
    std::unordered_set<std::uint64_t> texts_, domains_; ///< strings
};

} // namespace umadvisor::reader
