/// Pageable memory that kernels may reach, on machines where they do: by line, what their parameters held.
#pragma once

#include "analyzer/advice/report.hpp"
#include "trace/values.hpp"

#include <cstdint>
#include <iosfwd>
#include <vector>

namespace umadvisor::reports {

/// Launches at one line that were given addresses inside of one piece of memory.
struct PageableLine {
    ids::StackId stack{};
    std::uint64_t function = 0;            ///< function: of the last kernel
    std::uint64_t launches = 0, bytes = 0; ///< bytes: of the whole piece
    trace::HostRangeKind kind{};
};

/// The largest pieces first. A trace does not show how much of a piece kernels read.
std::vector<PageableLine> pageable_lines(advice::Report& report);

/// A note of the text report. Nothing where no kernel was given a large piece.
void write_pageable(std::ostream& out, advice::Report& report);

/// A note on copies whose source is a mapped file that the disk had to be read for. Nothing where they took
/// little.
void write_disk_copies(std::ostream& out, advice::Report& report);

} // namespace umadvisor::reports
