#include "analyzer/patch/python/uses.hpp"

#include <algorithm>
#include <array>

namespace umadvisor::patch::python {
namespace {

/// Functions that leave their arguments as they are and keep none.
constexpr std::array<std::string_view, 15> readers{"len",  "int",    "float", "print",      "range",
                                                   "str",  "bool",   "round", "isinstance", "repr",
                                                   "type", "device", "hash",  "device_get", "abs"};
/// Methods and functions of tensors whose result may be in the same memory.
constexpr std::array<std::string_view, 34> views{
    "view",      "reshape", "t",        "transpose",  "squeeze",      "unsqueeze", "flatten",
    "ravel",     "permute", "detach",   "expand",     "contiguous",   "to",        "cpu",
    "cuda",      "narrow",  "select",   "split",      "chunk",        "unbind",    "numpy",
    "as_tensor", "asarray", "diagonal", "from_numpy", "movedim",      "swapaxes",  "unfold",
    "float",     "double",  "half",     "type",       "broadcast_to", "pin_memory"};
/// Methods whose result is in memory of its own, or a number.
constexpr std::array<std::string_view, 33> pure_methods{
    "sum",    "mean",    "item",      "tolist",    "size",         "dim",    "numel", "argmax", "argmin",
    "max",    "min",     "clone",     "abs",       "square",       "sqrt",   "norm",  "any",    "all",
    "prod",   "std",     "var",       "exp",       "log",          "matmul", "mm",    "index",  "count",
    "cumsum", "softmax", "is_pinned", "new_zeros", "element_size", "astype"};
constexpr std::array<std::string_view, 9> facts{"shape",  "dtype",    "device",        "ndim",   "size",
                                                "nbytes", "itemsize", "requires_grad", "is_cuda"};
/// Modules whose functions leave their arguments as they are.
constexpr std::array<std::string_view, 8> pure_modules{
    "torch", "F", "torch.nn.functional", "torch.linalg", "np", "numpy", "jnp", "math"};
/// Functions of them that do not.
constexpr std::array<std::string_view, 6> writers{"copyto",         "put",          "place", "putmask",
                                                  "put_along_axis", "fill_diagonal"};

template <typename Known>
bool is_any(std::string_view name, const Known& known) {
    return std::ranges::find(known, name) != known.end();
}

/// Returns whether the node, with the pattern it is in, gets a value.
bool is_target(Node node) {
    for (Node outer = node.parent(); outer; node = outer, outer = outer.parent()) {
        const std::string_view kind = outer.kind();
        if (kind == "assignment" || kind == "for_statement" || kind == "for_in_clause")
            return is_part(outer, "left", node);
        if (kind == "named_expression")
            return is_part(outer, "name", node);
        if (kind == "as_pattern_target" || kind == "delete_statement" || kind == "global_statement" ||
            kind == "nonlocal_statement" || kind == "parameters" || kind == "lambda_parameters" ||
            kind == "import_statement" || kind == "import_from_statement" || kind == "case_pattern")
            return true;
        if (kind == "default_parameter" || kind == "typed_default_parameter") {
            if (!is_part(outer, "name", node))
                return false;
            continue;
        }
        if (kind == "function_definition" || kind == "class_definition")
            return is_part(outer, "name", node);
        if (!kind.ends_with("pattern") && !kind.ends_with("pattern_list") && kind != "tuple" &&
            kind != "list" && kind != "expression_list" && kind != "parenthesized_expression" &&
            kind != "typed_parameter" && kind != "dotted_name" && kind != "aliased_import")
            return false;
    }
    return false;
}

/// What becomes of an argument of the call.
Use use_of_argument(const Node& call, const Node& argument) {
    const std::string_view name = callee(call);
    const auto is_named = [](const Node& node, std::string_view keyword) {
        return node.kind() == "keyword_argument" && node.field("name").text() == keyword;
    };
    if (name.ends_with('_') || is_named(argument, "out") ||
        std::ranges::any_of(call_arguments(call), [&](const Node& each) { return is_named(each, "inplace"); }))
        return Use::stored;
    if (call.field("function").kind() == "identifier")
        return is_any(name, readers) ? Use::read : Use::passed;
    if (is_named(argument, "device") || name == "to" || name == "device_get" || name == "device_put")
        return Use::read;
    const bool pure = object_of(call) && is_any(object_of(call).text(), pure_modules) &&
                      !is_any(name, writers) &&
                      std::ranges::none_of(name, [](char each) { return each >= 'A' && each <= 'Z'; });
    return !pure ? Use::passed : is_any(name, views) ? Use::aliased : Use::read;
}

} // namespace

Use use_of(const Node& identifier) {
    if (is_target(identifier))
        return Use::bound;
    for (Node node = identifier, outer = node.parent(); outer; node = outer, outer = outer.parent()) {
        const std::string_view kind = outer.kind();
        if (kind == "attribute") {
            if (is_target(outer))
                return Use::stored;
            const Node call = outer.parent();
            const std::string_view name = outer.field("attribute").text();
            if (call.kind() == "call" && is_part(call, "function", outer)) {
                if (is_any(name, pure_methods))
                    return Use::read;
                if (!is_any(name, views) && !(is_any(identifier.text(), pure_modules) && !name.ends_with('_')))
                    return Use::stored;
                outer = call;
            } else if (is_any(name, facts) || is_any(identifier.text(), pure_modules))
                return Use::read;
            continue;
        }
        if (kind == "subscript") {
            if (!is_part(outer, "value", node))
                return Use::read;
            if (is_target(outer))
                return Use::stored;
            continue;
        }
        if (kind == "augmented_assignment")
            return is_part(outer, "left", node) ? Use::stored : Use::read;
        if (kind == "argument_list")
            return use_of_argument(outer.parent(), node);
        if (kind == "keyword_argument") {
            const Node list = outer.parent();
            return list.kind() == "argument_list" ? use_of_argument(list.parent(), outer) : Use::passed;
        }
        if (kind == "for_statement" || kind == "for_in_clause")
            return is_part(outer, "right", node) ? Use::iterated : Use::read;
        if (kind == "conditional_expression") {
            if (outer.children().size() == 3 && outer.children()[1] == node)
                return Use::read;
            continue;
        }
        if (kind == "parenthesized_expression" || kind == "boolean_operator")
            continue;
        if (kind.ends_with("_operator") || kind == "interpolation" || kind == "slice" ||
            kind == "if_statement" || kind == "elif_clause" || kind == "while_statement" ||
            kind == "assert_statement" || kind == "expression_statement" || kind == "if_clause" ||
            kind == "type")
            return Use::read;
        return Use::aliased;
    }
    return Use::aliased;
}

bool owns(const Node& function, std::string_view name) {
    bool bound = false, shared = false;
    function.walk([&](const Node& node) {
        if (node != function && is_inner_scope(node)) {
            bound |= node.field("name") && node.field("name").text() == name;
            return false;
        }
        if (node.kind() == "identifier" && node.text() == name && !(node.parent() == function)) {
            const std::string_view outer = node.parent().kind();
            shared |= outer == "global_statement" || outer == "nonlocal_statement";
            bool inside = false; // a variable of a comprehension
            for (Node each = node.parent(); each && each != function; each = each.parent())
                inside |= each.kind().ends_with("comprehension") || each.kind() == "generator_expression";
            bound |= !inside && use_of(node) == Use::bound;
            const Node update = node.parent();
            bound |= !inside && update.kind() == "augmented_assignment" && is_part(update, "left", node);
        }
        return true;
    });
    return bound && !shared;
}

namespace {

/// Returns whether the comprehension's own variable has the name.
bool is_variable_of(const Node& comprehension, std::string_view name) {
    for (const Node& clause : comprehension.children())
        if (clause.kind() == "for_in_clause")
            for (const std::string_view each : names_of(clause.field("left")))
                if (each == name)
                    return true;
    return false;
}

void add_uses(const Node& where, std::string_view name, std::vector<Node>& found) {
    where.walk([&](const Node& node) {
        if (node != where && is_inner_scope(node) && owns(node, name))
            return false;
        if ((node.kind().ends_with("comprehension") || node.kind() == "generator_expression") &&
            is_variable_of(node, name)) {
            for (const Node& clause : node.children()) // what the first loop is over belongs to the outside
                if (clause.kind() == "for_in_clause") {
                    add_uses(clause.field("right"), name, found);
                    break;
                }
            return false;
        }
        if (node.kind() != "identifier" || node.text() != name)
            return true;
        const Node outer = node.parent();
        if (!is_part(outer, "attribute", node) &&
            !(outer.kind() == "keyword_argument" && is_part(outer, "name", node)))
            found.push_back(node);
        return true;
    });
}

} // namespace

std::vector<Node> uses(const Node& where, std::string_view name) {
    std::vector<Node> found;
    if (where)
        add_uses(where, name, found);
    return found;
}

bool has_use(const Node& where, std::string_view name, std::initializer_list<Use> kinds) {
    return std::ranges::any_of(uses(where, name), [&](const Node& node) {
        return std::ranges::find(kinds, use_of(node)) != kinds.end();
    });
}

} // namespace umadvisor::patch::python
