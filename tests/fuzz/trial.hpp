/// One command line, run in this process on one damaged trace.
#pragma once

#include "command_lines.hpp"
#include "damage.hpp"
#include "made_up_traces.hpp"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace umadvisor::fuzz {

inline constexpr double most_seconds = 5; ///< of the processor
inline constexpr std::uint64_t most_memory = std::uint64_t{1} << 30, most_output = 10'000'000;
inline constexpr std::uint64_t most_dump = 32; ///< times the input

/// What a command reads; made from a seed and a number alone, so those two repeat it.
struct Input {
    Bytes trace;
    std::string trace_name; ///< of the file, relative to the working folder
    std::string baseline;   ///< JSON, more or less
    std::string baseline_name;
    std::string other_name; ///< a trace that is as it was
};

class Inputs {
public:
    /// Lays what the traces name down in the working folder: whole traces, a file that is no source, a FIFO.
    Inputs(std::uint64_t seed, std::vector<TraceImage> starting_traces);
    Input make(std::uint64_t number, bool with_baseline) const;

private:
    std::uint64_t seed_;
    std::vector<TraceImage> traces_;
    std::vector<std::string> reports_; ///< JSON of whole traces
};

struct Outcome {
    int status = 0;
    double seconds = 0; ///< of the processor
    std::uint64_t memory = 0, output = 0;
    std::vector<Objection> objections;
};

/// Writes the input into the working folder and runs the command on it. Time and memory are judged in builds
/// without sanitizers. A command that takes four times as long as it may, or waits for seconds without any
/// work, ends the process by a signal.
Outcome run(const CommandLine& line, const Input& input);

} // namespace umadvisor::fuzz
