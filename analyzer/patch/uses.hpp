/// What a function does with a variable, beyond its changes.
#pragma once

#include "analyzer/patch/syntax.hpp"

#include <string_view>
#include <vector>

namespace umadvisor::patch {

/// The declarations below `where` that have a variable of that name, parameters and those of lambdas included.
std::vector<Node> declarations_of(const Node& where, std::string_view name);
/// The declarator of that name in one of them, without its value: "*a[3]"; null: it has none.
Node declarator_of(const Node& declaration, std::string_view name);
/// Each place below `where` that has the name, as a variable or what the grammar takes for a type: "T x(name)".
std::vector<Node> uses_of(const Node& where, std::string_view name);
/// The largest expression that is the variable's value or address: "(char*)p + i" around "p".
Node value_around(const Node& use);
/// The call that the value is an argument of, without casts; null: it is none.
Node receiver_of(const Node& value);
/// Returns whether a call is one of CUDA's, or a launch of a kernel.
bool is_of_cuda(const Node& call);
/// Returns whether something else may keep the variable, or change it, unseen: a function that is not CUDA's,
/// another variable, an object or a lambda gets it below `where`.
bool hands_on(const Node& where, std::string_view name, const std::vector<Node>& except = {});
/// Likewise, without copies of its value.
bool gives_away(const Node& where, std::string_view name, const std::vector<Node>& except = {});
/// Returns whether evaluating the expression counts or assigns something.
bool counts(const Node& expression);
/// Returns whether the declaration's variables outlive the call of their function.
bool is_static(const Node& declaration);
/// Returns whether the function captures or builds a graph, where other calls are forbidden or are kept.
bool makes_graph(const Node& function);

} // namespace umadvisor::patch
