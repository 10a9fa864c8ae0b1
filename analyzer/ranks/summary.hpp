/// What one process of a job did, in at most 100 KB: enough to compare it with its peers and to add up
/// findings.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::advice {
class Report;
}

namespace umadvisor::ranks {

inline constexpr std::size_t most_summary_bytes = 100'000;

/// What is measured of each rank, by Quantity.
enum class Quantity : std::uint8_t {
    run,         ///< time, contexts and pauses left out
    own,         ///< time of the program's own code, on the host thread that was in CUDA calls longest
    copies,      ///< time of that thread in copies, without waits
    calls,       ///< time of that thread in other calls, without waits
    waits,       ///< time of that thread waiting for the device
    kernels,     ///< time of the device in kernels, collectives left out
    collectives, ///< time of the device in kernels of NCCL and NVSHMEM
    to_device,   ///< bytes copied
    to_host,     ///< bytes copied
    up_rate,     ///< bytes a second of copies from page-locked memory to the device
    down_rate,   ///< and back
    managed,     ///< bytes of managed memory that moved, either way
    gain,        ///< time that all findings save together
};
inline constexpr std::size_t quantities = 13;

enum class Unit : std::uint8_t { time, bytes, rate };

struct QuantityWords {
    std::string_view key; ///< in JSON: ends in its unit
    std::string_view text;
    Unit unit;
};
/// By Quantity.
extern const std::array<QuantityWords, quantities> quantity_words;

using Quantities = std::array<double, quantities>; ///< by Quantity; nanoseconds, bytes, bytes a second

struct Step {
    std::string name, domain;
    std::uint64_t count = 0;
    double median_ns = 0, worst_ns = 0, total_ns = 0;
};

struct Saving {
    std::string rule, title, line, confidence;
    double ns = 0;
    std::uint64_t bytes = 0;
    bool unpriced = false; ///< what it saves is not known
};

/// A line of the program: how long its CUDA calls took, and what they copied.
struct Line {
    std::string text;
    double ns = 0, bytes = 0;
};

struct Summary {
    std::string rank; ///< as the launcher's environment has it; empty: none did
    std::string host, program, device;
    std::string trace;                   ///< name of its file, without the folder
    std::uint64_t pid = 0, begin_ns = 0; ///< begin_ns: CLOCK_REALTIME of the host
    std::uint64_t node = 0;              ///< NUMA node nearest to the device, plus 1; 0: not known
    bool complete = true;                ///< all that was to be recorded is there
    std::uint64_t calls = 0;             ///< of CUDA; 0: a launcher, or a worker without a device
    Quantities measured{};
    std::vector<Step> steps;
    std::vector<Line> lines; ///< whose calls took longest, and that copied most
    std::vector<Saving> findings;
    std::uint64_t findings_beyond = 0; ///< that the summary has no room for

    double of(Quantity quantity) const { return measured[static_cast<std::size_t>(quantity)]; }
    double& of(Quantity quantity) { return measured[static_cast<std::size_t>(quantity)]; }
    /// Identifies the process: host, pid and when it began.
    std::string key() const;
    std::string who() const; ///< "rank 3"; "pid 4242" where no launcher gave it one
};

/// Reads the source files of the lines of findings.
Summary summarize(advice::Report& report);

/// One line of JSON with its line feed, at most most_summary_bytes: what has no room is counted.
std::string to_line(const Summary& summary);
/// Throws reader::Error, which begins with `from`, where the line is no summary.
Summary from_line(std::string_view line, const std::string& from);

} // namespace umadvisor::ranks
