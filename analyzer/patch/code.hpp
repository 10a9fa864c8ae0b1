/// Questions about a source in C++ that edits depend on.
#pragma once

#include "analyzer/patch/calls.hpp"
#include "analyzer/patch/edits.hpp"
#include "analyzer/patch/syntax.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::patch {

/// The loops around a node, the innermost first, within its function.
std::vector<Node> loops_around(const Node& node);
/// The function that holds it; null outside all functions.
Node function_of(const Node& node);
/// The block whose direct statement `statement` is; null where it is the only statement of an `if` or a loop.
Node block_of(const Node& statement);

/// Returns whether evaluating the expression may change something: it contains a call, an assignment or `++`.
bool has_effect(const Node& expression);
/// Returns the names that an expression or statement uses, without members and functions that are called.
std::set<std::string_view> names_in(const Node& node);
/// Returns whether the code below `where` uses the name in any way, as a variable, function or constant.
bool mentions(const Node& where, std::string_view name);
/// The identifier of a declarator, "a" of "*a[3]"; null: it has none.
Node declared_by(Node declarator);
/// Returns whether a declaration below `where` has a variable of that name.
bool declares(const Node& where, std::string_view name);
/// The kinds of change that changes() looks for.
enum class Changed : std::uint8_t {
    any_part, ///< of the variable, or of the memory that it points to
    itself,   ///< the variable alone
};
/// Returns whether the code below `where`, apart from the nodes in `except`, may change the variable: the code
/// assigns, counts, reads into or swaps it, takes its address, or calls one of its methods that is not known to
/// leave it as it is.
bool changes(const Node& where, std::string_view name, Changed what = Changed::any_part,
             const std::vector<Node>& except = {});

/// Returns whether the name means at `at` what it means elsewhere in its function: it is declared before, or
/// not in the function.
bool is_there(std::string_view name, const Node& at);
/// Returns whether a loop is left by return, goto or throw.
bool leaves_early(const Node& loop);
/// The innermost statement around a node, or itself, that stands in a block; null: there is none.
Node statement_around(const Node& node);
/// What each level of a function's lines is indented by.
std::string indent_step(std::string_view text, const Node& function);
/// Returns the statements behind `statement`: in its block and in those around it, within its function.
std::vector<Node> following(const Node& statement);
/// Returns whether `outer` holds all of `inner`.
inline bool holds(const Node& outer, const Node& inner) {
    return outer.begin() <= inner.begin() && inner.end() <= outer.end();
}
/// The statement of the line, which stands in a block; null: there is none, or it is compiled under a
/// condition.
Node statement_at(const Syntax& source, int line);

/// Returns whether the lines of the node have nothing else but a comment behind it, and no pragma is for it.
bool is_alone(std::string_view text, const Node& node);
/// Returns the lines of a node that is alone on them, its comment included, indented by `indent`.
std::string lines_of(std::string_view text, const Node& node, const std::string& indent);
/// Returns the edit that removes these lines.
TextEdit without_lines(std::string_view text, const Node& node);

} // namespace umadvisor::patch
