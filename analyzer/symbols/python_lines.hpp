/// Lines of Python code from the tables that its interpreter keeps them in.
#pragma once

#include "trace/values.hpp"

#include <cstdint>
#include <string_view>

namespace umadvisor::symbols {

/// The line of the instruction at `offset` bytes into the code. 0 where it has none, or the table does not
/// reach that far.
int python_line(trace::LineTable format, std::string_view table, int first_line, std::uint64_t offset);

} // namespace umadvisor::symbols
