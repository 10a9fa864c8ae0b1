/// Calls in a source in C++: where they stand, what they are given, and how the program checks them.
#pragma once

#include "analyzer/patch/syntax.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::patch {

/// Calls whose text has part of `line`, outer ones first. A kernel's launch is a call, too.
std::vector<Node> calls_at(const Syntax& source, int line);

/// "cudaMalloc", without namespace or template arguments.
std::string_view called_name(const Node& call);
std::vector<Node> arguments(const Node& call);

/// The expression without casts, parentheses and, once, the address-of operator.
Node plain(Node expression);

/// A call that stands as a statement: alone, or alone in a macro or function that checks what it returns.
struct Statement {
    Node call;
    Node whole;                 ///< with the semicolon, and an `if` around it that has no other statement
    std::string_view wrapper{}; ///< "CHECK"; empty: none
};

/// Without `whole` where the call's value is used, or more is done in the same statement.
Statement statement_of(const Node& call);

/// The only call of the line whose name begins with `begin`; null: there is none, or several.
Node only_call(const Syntax& source, int line, std::string_view begin);
/// What stands between <<< and >>>; empty: the call is no launch.
std::vector<Node> launch_configuration(const Node& call);
/// The stream that a launch, a copy or a memory set is put into, as the source writes it: "0" where it names
/// none. Empty: the call is none of these.
std::string stream_of(const Node& call);
/// The variable that a pointer expression begins with: "a" of "a", "a + i", "&a[i]" and "a.data()"; null: there
/// is none.
Node base_of(Node pointer);

/// The function or macro by which the function around `at` checks its calls of CUDA; empty: it checks none.
std::string_view wrapper_near(const Node& at);
/// The call as a statement, checked by `wrapper` where that is not empty.
std::string checked(std::string_view call, std::string_view wrapper);
/// The calls of this name below `where`; without a name, all.
std::vector<Node> calls_of(const Node& where, std::string_view name = {});

} // namespace umadvisor::patch
