/// Questions about a source in Python that edits depend on. Where a text leaves an answer open, it is the one
/// that makes no edit.
#pragma once

#include "analyzer/patch/edits.hpp"
#include "analyzer/patch/syntax.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::patch::python {

/// Calls whose text has part of `line`, outer ones first.
std::vector<Node> calls_on(const Syntax& source, int line);
/// Returns whether it calls the method `name` of an object, without arguments: "x.item()".
bool calls_method(const Node& call, std::string_view name);
/// The object whose method or attribute it is: "x" of "x.item()" and of "x.item".
Node object_of(const Node& expression);
/// "sum" of "x.sum(1)", "float" of "float(x)"; empty where the called function has no name.
std::string_view callee(const Node& call);
/// The first name of "a.b[i].c()"; empty where it begins with no name.
std::string_view root_name(const Node& expression);
/// The arguments of a call: positional ones and `name=value`.
std::vector<Node> call_arguments(const Node& call);
/// Its only argument, a positional one; null: it has none or several.
Node only_argument(const Node& call);
/// Returns whether it is a name, or attributes and elements of one by names and numbers: reading it twice is
/// the same.
bool is_simple(const Node& expression);

/// The statement of a block, or of the module, that holds it.
Node whole_statement(const Node& node);
/// The function, class, lambda or module that holds it.
Node scope_around(const Node& node);
/// The loops whose body has it, the innermost first, within its scope.
std::vector<Node> loops_over(const Node& node);
/// Returns whether it makes a scope inside another: a function, a lambda or a class.
bool is_inner_scope(const Node& node);
/// Returns whether it is the part of `outer` that the grammar calls `field`.
bool is_part(const Node& outer, std::string_view field, const Node& node);
/// Returns whether a `try` of its scope holds it: what stands behind it may be left out.
bool is_tried(const Node& node);
/// Returns whether every run of `later` follows one of `earlier`, a statement, without a condition between
/// them.
bool always_before(const Node& earlier, const Node& later);
/// Returns whether the file imports a module of this name: "torch" by `import torch.nn`.
bool imports(const Syntax& source, std::string_view module);
/// Returns whether the module is imported by its own name: `import torch`.
bool has_module(const Syntax& source, std::string_view module);

/// The names that an expression uses.
std::vector<std::string_view> names_of(const Node& expression);

/// Returns whether nothing else but a comment behind it stands on its lines.
bool has_own_lines(std::string_view text, const Node& statement);
/// Edits that put lines, each with its end, before and behind a statement. Lines are not indented.
TextEdit lines_before(std::string_view text, const Node& statement, const std::vector<std::string>& lines);
TextEdit lines_behind(std::string_view text, const Node& statement, const std::vector<std::string>& lines);
TextEdit instead(const Node& node, std::string code);
/// The code of an expression, in parentheses where a method could not be called on it otherwise.
std::string primary(const Node& expression);

} // namespace umadvisor::patch::python
