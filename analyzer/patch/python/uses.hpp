/// How names are used in a source in Python, and which variables they stand for.
#pragma once

#include "analyzer/patch/python/code.hpp"

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace umadvisor::patch::python {

/// How a name is used.
enum class Use : std::uint8_t {
    read,   ///< for its value, which nothing keeps
    bound,  ///< given another value
    stored, ///< written in place, or possibly so: `x += y`, `x[0] = y`, `x.add_(y)`, a method that is not known
    aliased,  ///< kept under another name, in a container or by a caller
    passed,   ///< as an argument, to a function that is not known
    iterated, ///< its elements get another name
};
/// Where the name is used below `where`, apart from functions and comprehensions that have their own variable
/// of it.
std::vector<Node> uses(const Node& where, std::string_view name);
Use use_of(const Node& identifier);
/// Returns whether the name is a variable of this function or class: a parameter, or bound there.
bool owns(const Node& scope, std::string_view name);
/// Returns whether one of the uses below `where` is one of these.
bool has_use(const Node& where, std::string_view name, std::initializer_list<Use> kinds);

/// A value that a variable gets.
struct Binding {
    Node target;
    Node value; ///< null: not known from the text, or another name's, too
    Node statement;
};

/// A variable that a name stands for at a place.
struct Variable {
    std::string_view name;
    Node home;                     ///< the function or module that it belongs to
    std::vector<Binding> bindings; ///< in the order of the text; those of `+=` are not among them
    bool shared = false;           ///< others than its own function use it, or may bind it
};
Variable variable_at(const Node& place, std::string_view name);
/// The last binding before the loop: where every run of the loop follows it. Null otherwise.
const Binding* binding_before(const Variable& variable, const Node& loop);
/// Returns whether every run of the loop follows some binding.
bool is_bound_before(const Variable& variable, const Node& loop);

/// Returns whether the loop writes what the variable's value was made of, or its value may have another name
/// from the start.
bool may_change_with_others(const Variable& variable, const Node& loop);
/// Returns whether the name stands for the same unchanged value in all rounds of the loop, as far as the file
/// shows.
bool holds_in(const Node& loop, std::string_view name);

} // namespace umadvisor::patch::python
