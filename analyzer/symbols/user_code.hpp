/// Which frames are the program's own.
#pragma once

#include "analyzer/symbols/code_place.hpp"

namespace umadvisor::symbols {

/// False for the CUDA libraries, the C and C++ libraries, umadvisor, the CUDA runtime that is linked into the
/// program itself, and what was inlined from system headers: the line to change is never there.
bool is_user_code(const CodePlace& place);

/// True for functions of the CUDA runtime by their names, wherever they are linked: what they call is not the
/// program's code either.
bool is_runtime_function(const CodePlace& place);

} // namespace umadvisor::symbols
