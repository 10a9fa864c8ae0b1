/// What a call is named in reports.
#pragma once

#include <string>
#include <string_view>

namespace umadvisor::tables {

/// An exported driver symbol without its ABI suffixes: cuMemcpyHtoD_v2_ptds -> cuMemcpyHtoD.
std::string_view base_symbol(std::string_view symbol);

/// The runtime's name of the call that ends in this driver entry point (cuMemcpyHtoD_v2 -> cudaMemcpy), or the
/// driver's base symbol where the runtime has none. `runtime` false: always the base symbol.
std::string_view call_name(std::string_view symbol, bool runtime);

/// Whether calls to this entry point move, map or allocate memory, so that a trace which only counts them is
/// blind to something that matters here.
bool moves_memory(std::string_view symbol);

} // namespace umadvisor::tables
