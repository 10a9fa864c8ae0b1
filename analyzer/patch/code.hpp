/// Questions about a source in C++ that edits depend on.
#pragma once

#include "analyzer/patch/syntax.hpp"

#include <set>
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

/// The loops around a node, the innermost first, within its function.
std::vector<Node> loops_around(const Node& node);
/// The function that holds it; null outside all functions.
Node function_of(const Node& node);
/// The block whose direct statement `statement` is; null where it is the only statement of an `if` or a loop.
Node block_of(const Node& statement);

/// Whether evaluating it changes something, as far as its text shows: it calls, assigns or counts.
bool has_effect(const Node& expression);
/// Names that an expression or statement uses, members and functions that are called left out.
std::set<std::string_view> names_in(const Node& node);
/// Whether anything below `where` declares a variable of that name.
bool declares(const Node& where, std::string_view name);
/// What of a variable counts as changed.
enum class Changed : std::uint8_t {
    any_part,
    itself, ///< and not what it points to
};
/// Whether anything below `where` may change the variable: it is assigned, counted, read into or swapped, its
/// address is used, or one of its methods is called that is not known to leave it as it is. The nodes in
/// `except` may do so.
bool changes(const Node& where, std::string_view name, Changed what = Changed::any_part,
             const std::vector<Node>& except = {});

/// Whether its lines have nothing else but a comment behind it.
bool is_alone(std::string_view text, const Node& node);
/// Its lines, the comment included, where it is alone on them. They begin with `indent` in the place of theirs.
std::string lines_of(std::string_view text, const Node& node, const std::string& indent);
/// Spaces and tabs before the first character of the line that has this byte.
std::string indent_at(std::string_view text, std::size_t byte);
/// Where that line begins.
std::size_t line_begin(std::string_view text, std::size_t byte);
/// Where the next line begins.
std::size_t line_end(std::string_view text, std::size_t byte);

} // namespace umadvisor::patch
