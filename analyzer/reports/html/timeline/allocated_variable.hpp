/// The name that a row of the timeline has.
#pragma once

#include <string>
#include <string_view>

namespace umadvisor::html {

/// "work" of "cudaMalloc(&work, bytes)" and of "work = torch.empty(n)"; empty: the line shows none.
std::string allocated_variable(std::string_view source);

} // namespace umadvisor::html
