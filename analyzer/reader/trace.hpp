/// A trace ready to be worked on: file, definitions, time.
#pragma once

#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/range_choice.hpp"
#include "analyzer/reader/summary.hpp"
#include "analyzer/reader/timescale.hpp"
#include "analyzer/reader/trace_file.hpp"

#include <optional>
#include <string>
#include <vector>

namespace umadvisor::reader {

struct Trace {
    /// Throws Error. Reads header, chunk headers and definitions, not yet the events.
    /// With a query, its ranges are all that is looked at; Error where it means none.
    explicit Trace(const std::string& path, const RangeQuery& query = {}) : file(path), time(file) {
        dictionary.read(file);
        dropped_calls = read_summary(file);
        if (!query.name.empty())
            ranges.emplace(file, dictionary, query);
    }

    /// nullptr: all of the run is looked at.
    const RangeChoice* choice() const { return ranges ? &*ranges : nullptr; }

    TraceFile file;
    Dictionary dictionary;
    std::vector<DroppedCalls> dropped_calls;
    Timescale time;
    std::optional<RangeChoice> ranges;
};

} // namespace umadvisor::reader
