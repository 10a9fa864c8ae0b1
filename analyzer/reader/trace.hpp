/// A trace ready to be worked on: file, definitions, time.
#pragma once

#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/summary.hpp"
#include "analyzer/reader/timescale.hpp"
#include "analyzer/reader/trace_file.hpp"

#include <string>
#include <vector>

namespace umadvisor::reader {

struct Trace {
    /// Throws Error. Reads header, chunk headers and definitions, not yet the events.
    explicit Trace(const std::string& path) : file(path), time(file) {
        dictionary.read(file);
        dropped_calls = read_summary(file);
    }

    TraceFile file;
    Dictionary dictionary;
    std::vector<DroppedCalls> dropped_calls;
    Timescale time;
};

} // namespace umadvisor::reader
