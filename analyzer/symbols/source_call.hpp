/// A call of CUDA as a line of C++ has it: which of the program's own expressions it is given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace umadvisor::symbols {

enum class CallKind : std::uint8_t {
    none,
    allocation,
    registration,
    copy,
    set,
    prefetch,
    free,
    wait,
    query,
    launch
};

/// Expressions of the source; empty where there is none, or none that may stand elsewhere.
struct SourceCall {
    CallKind kind = CallKind::none;
    std::string pointer; ///< what is written, allocated, freed, set, prefetched, or asked about
    std::string from;    ///< what a copy reads
    std::string bytes;
    std::string stream; ///< "0": the default stream
    std::string copies; ///< "cudaMemcpyHostToDevice", where the source says which way
};

/// The one call of CUDA that reaches that line, which counts from 1. Without a name where there is no such
/// call, or several. Comments, strings and macros around the call are passed over. An expression is left out
/// where evaluating it a second time may change something: where it calls, assigns or increments.
SourceCall call_at(std::string_view source, int line);

/// Whether an expression of the first line means the same at the second: that line is behind it, no block that
/// the first line is in has ended in between, and the expression depends on no index.
bool holds_at(std::string_view source, std::string_view expression, int first, int second);

} // namespace umadvisor::symbols
