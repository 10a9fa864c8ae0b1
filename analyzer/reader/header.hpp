/// The file header as plain values.
#pragma once

#include "trace/layout.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace umadvisor::reader {

class Source;

/// trace::FileHeader without its atomics, as it stood when it was read.
struct Header {
    std::uint16_t major = 0, minor = 0;
    std::uint32_t header_bytes = 0, chunk_size = 0, pid = 0, chunks = 0;
    trace::ClockKind clock{};
    bool closed = false;
    bool late = false;           ///< the recording began while the program ran
    std::uint64_t first_lap = 0; ///< of a ring: earlier ones are gone; 0: no ring
    std::uint64_t realtime_ns = 0;
    trace::ClockPair first{}, last{};
    std::array<std::uint64_t, static_cast<std::size_t>(trace::DropReason::count_)> dropped{};
    std::uint64_t own_ticks = 0;
    std::uint32_t stacks_cut = 0;
    std::vector<std::uint64_t> counters; ///< by entry id; shorter when the file is cut
};

/// Reads and checks the header. Throws Error: too short, not a trace, other byte order, newer version, sizes
/// that cannot be.
Header read_header(const Source& source);

} // namespace umadvisor::reader
