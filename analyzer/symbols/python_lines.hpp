/// Lines of Python code from the tables that its interpreter keeps them in.
#pragma once

#include "trace/values.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace umadvisor::symbols {

struct LineRange {
    std::uint64_t end = 0; ///< bytes into the code; it begins where the range before ends
    int line = 0;          ///< 0: none
};

/// The whole table, once: a table of 60 KB may be asked for each frame of each stack.
std::vector<LineRange> read_line_table(trace::LineTable format, std::string_view table, int first_line);

/// The line of the instruction at `offset` bytes into the code. 0 where it has none, or the table does not
/// reach that far.
int line_at(std::span<const LineRange> ranges, std::uint64_t offset);

} // namespace umadvisor::symbols
