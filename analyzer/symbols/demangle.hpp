/// Names as the source has them.
#pragma once

#include <string>
#include <string_view>

namespace umadvisor::symbols {

/// Full demangled name as reader::shown_name has it; the symbol itself where it is not mangled, and where its
/// name would take more than 16 KiB.
std::string demangle(std::string_view symbol);

/// The demangled name without parameters and return type: "saxpy<float>" for _Z5saxpyIfEvPT_i.
std::string short_name(std::string_view symbol);

} // namespace umadvisor::symbols
