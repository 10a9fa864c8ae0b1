/// Which memory a kernel may write, as far as the types of its parameters say.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace umadvisor::symbols {

/// For each pointer among the parameters of the function with this mangled name, in their order: whether what
/// it points to is const. Nothing: the name has no types, or a parameter may hold pointers of its own.
std::optional<std::vector<bool>> const_pointers(std::string_view symbol);

} // namespace umadvisor::symbols
