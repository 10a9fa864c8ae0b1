/// What the source shows of kernels.
#pragma once

#include "analyzer/patch/uses.hpp"

namespace umadvisor::patch {

/// Returns the only launch of the line; null: there is none, or several.
Node only_launch(const Syntax& source, int line);
/// Returns whether the kernel takes its argument of this number, from 0, as a pointer to what it only reads.
bool only_reads(const Syntax& source, std::string_view kernel, std::size_t number);

} // namespace umadvisor::patch
