/// What a function does with the memory of a variable.
#pragma once

#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"

namespace umadvisor::patch {

/// Returns whether another variable of the function, or a lambda, may reach the memory: it is assigned to a
/// pointer or a reference, returned or captured.
bool has_other_name(const Node& function, std::string_view name);
/// Returns whether the variable is a pointer or reference that the function sets to the memory of another.
bool is_other_name(const Node& function, std::string_view name);

/// Returns whether the function only reads and writes the memory, copies it with CUDA, or passes it to
/// functions that do no more, so that it is freed where the function shows it, and no call works with it later.
bool stays_local(const Syntax& source, const Node& function, std::string_view name);

/// Returns whether a name of the function stands for a number.
bool is_number(const Node& function, std::string_view name);

/// Returns the only definition of a function or kernel in the source; null: there is none, or several.
Node definition_of(const Syntax& source, std::string_view name);
/// Returns the parameters of a definition.
std::vector<Node> parameters_of(const Node& definition);

/// Returns whether the function of the finding's line is called in a loop, as far as its file shows.
bool is_repeated(const Request& request);

} // namespace umadvisor::patch
