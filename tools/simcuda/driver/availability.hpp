#pragma once

#include <string_view>

namespace simcuda {

/// The CUDA version (as in cuGetProcAddress) that an exported symbol's ABI came with. Only symbols that share
/// their base name with another ABI need to be told apart; for the others 0, for the 64-bit ABIs of CUDA 3.2
/// and 4.0 too.
int introduced_in(std::string_view symbol);

/// False for what the driver variant being built does not have.
bool is_available(std::string_view symbol);

/// What cuGetProcAddress answers for the exported symbol at `address`: mostly just that.
void* answer_for(std::string_view symbol, void* address);

} // namespace simcuda
