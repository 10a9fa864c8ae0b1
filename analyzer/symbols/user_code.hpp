/// Which frames are the program's own.
#pragma once

#include "analyzer/symbols/code_place.hpp"

namespace umadvisor::symbols {

/// False for the CUDA libraries, the C and C++ libraries, umadvisor, the CUDA runtime that is linked into the
/// program itself, and what was inlined from system headers: the line to change is never there.
bool is_user_code(const CodePlace& place);

} // namespace umadvisor::symbols
