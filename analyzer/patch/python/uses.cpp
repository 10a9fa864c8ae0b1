/// How names are used, and which variables they are.
#include "analyzer/patch/python/code.hpp"

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

/// Whether it is a part of `outer` by this name.
bool is_field(const Node& outer, std::string_view field, const Node& node) {
    const Node part = outer.field(field);
    return part && part == node;
}

/// Whether the node, with the pattern it is in, gets a value.
bool is_target(Node node) {
    for (Node outer = node.parent(); outer; node = outer, outer = outer.parent()) {
        const std::string_view kind = outer.kind();
        if (kind == "assignment" || kind == "for_statement" || kind == "for_in_clause")
            return is_field(outer, "left", node);
        if (kind == "named_expression")
            return is_field(outer, "name", node);
        if (kind == "as_pattern_target" || kind == "delete_statement" || kind == "global_statement" ||
            kind == "nonlocal_statement" || kind == "parameters" || kind == "lambda_parameters" ||
            kind == "import_statement" || kind == "import_from_statement" || kind == "case_pattern")
            return true;
        if (kind == "default_parameter" || kind == "typed_default_parameter") {
            if (!is_field(outer, "name", node))
                return false;
            continue;
        }
        if (kind == "function_definition" || kind == "class_definition")
            return is_field(outer, "name", node);
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
            if (call.kind() == "call" && is_field(call, "function", outer)) {
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
            if (!is_field(outer, "value", node))
                return Use::read;
            if (is_target(outer))
                return Use::stored;
            continue;
        }
        if (kind == "augmented_assignment")
            return is_field(outer, "left", node) ? Use::stored : Use::read;
        if (kind == "argument_list")
            return use_of_argument(outer.parent(), node);
        if (kind == "keyword_argument") {
            const Node list = outer.parent();
            return list.kind() == "argument_list" ? use_of_argument(list.parent(), outer) : Use::passed;
        }
        if (kind == "for_statement" || kind == "for_in_clause")
            return is_field(outer, "right", node) ? Use::iterated : Use::read;
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

namespace {

bool is_own_scope(const Node& node) {
    const std::string_view kind = node.kind();
    return kind == "function_definition" || kind == "lambda" || kind == "class_definition";
}

/// Whether a parameter or an assignment makes the name a variable of this function; a class's names are not
/// seen in its functions.
bool owns(const Node& function, std::string_view name) {
    bool bound = false, shared = false;
    function.walk([&](const Node& node) {
        if (node != function && is_own_scope(node)) {
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
            bound |= !inside && update.kind() == "augmented_assignment" && is_field(update, "left", node);
        }
        return true;
    });
    return bound && !shared;
}

/// Whether the comprehension's own variable has the name.
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
        if (node != where && is_own_scope(node) && owns(node, name))
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
        if (!is_field(outer, "attribute", node) &&
            !(outer.kind() == "keyword_argument" && is_field(outer, "name", node)))
            found.push_back(node);
        return true;
    });
}

/// Whether its value cannot change: a number, a string, a device or type of PyTorch.
bool is_constant(const Node& value) {
    constexpr std::array<std::string_view, 6> literals{"integer", "float", "string", "true", "false", "none"};
    if (!value)
        return false;
    if (is_any(value.kind(), literals))
        return true;
    if (value.kind() == "unary_operator" || value.kind() == "not_operator" ||
        value.kind() == "binary_operator" || value.kind() == "parenthesized_expression")
        return std::ranges::all_of(value.children(), is_constant);
    if (value.kind() == "call")
        return value.field("function").text() == "torch.device";
    return value.kind() == "attribute" && object_of(value).text() == "torch" &&
           value.field("attribute").text() != "cuda";
}

/// The value that an assignment gives to this target, also among others: "a, b = 1, 2" and "a = b = 1". Null
/// where two names get the same object that may change.
Node value_for(const Node& target) {
    const Node outer = target.parent();
    Node assignment = outer, place = target;
    if (outer.kind() == "pattern_list" || outer.kind() == "tuple_pattern") {
        assignment = outer.parent();
        place = outer;
    }
    if (assignment.kind() != "assignment" || !is_field(assignment, "left", place))
        return {};
    Node value = assignment.field("right");
    while (value && value.kind() == "assignment")
        value = value.field("right");
    const bool several = assignment.parent().kind() == "assignment" || assignment.field("right") != value;
    if (!value || (several && !is_constant(value)))
        return {};
    if (place == target)
        return value;
    const std::vector<Node> targets = place.children(), values = value.children();
    if ((value.kind() != "expression_list" && value.kind() != "tuple") || targets.size() != values.size())
        return {};
    const auto at = std::ranges::find(targets, target);
    return at == targets.end() ? Node() : values[static_cast<std::size_t>(at - targets.begin())];
}

bool is_imported(const Variable& variable) {
    return !variable.bindings.empty() && std::ranges::all_of(variable.bindings, [](const Binding& binding) {
        return binding.statement.kind().starts_with("import_");
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

Variable variable_at(const Node& place, std::string_view name) {
    Variable variable{.name = name, .home = scope_around(place), .bindings = {}};
    const Node nearest = variable.home;
    const auto sees = [&](const Node& scope) { return scope == nearest || scope.kind() != "class_definition"; };
    while (variable.home.kind() != "module" && !(sees(variable.home) && owns(variable.home, name)))
        variable.home = scope_around(variable.home);
    const Node& home = variable.home;
    for (const Node& node : uses(home, name)) {
        const Node scope = scope_around(node);
        if (scope != home) // a function's own name belongs to the scope around it
            variable.shared |=
                !(is_own_scope(scope) && is_field(scope, "name", node) && scope_around(scope) == home);
        if (use_of(node) == Use::bound)
            variable.bindings.push_back({node, value_for(node), whole_statement(node)});
    }
    Node root = home;
    while (root.parent())
        root = root.parent();
    root.walk([&](const Node& node) {
        if (node.kind() == "global_statement" || node.kind() == "nonlocal_statement")
            for (const Node& each : node.children())
                variable.shared |= each.text() == name;
        return true;
    });
    return variable;
}

const Binding* binding_before(const Variable& variable, const Node& loop) {
    const Binding* last = nullptr;
    for (const Binding& binding : variable.bindings)
        if (binding.target.begin() < loop.begin())
            last = &binding;
    return last != nullptr && always_before(last->statement, loop) ? last : nullptr;
}

bool is_bound_before(const Variable& variable, const Node& loop) {
    const Node parameters = variable.home.field("parameters");
    return std::ranges::any_of(variable.bindings, [&](const Binding& binding) {
        return always_before(binding.statement, loop) ||
               (parameters && binding.target.begin() >= parameters.begin() &&
                binding.target.end() <= parameters.end());
    });
}

bool may_change_with_others(const Variable& variable, const Node& loop) {
    return std::ranges::any_of(variable.bindings, [&](const Binding& binding) {
        const bool assigned = binding.target.parent().kind() == "assignment" ||
                              binding.target.parent().parent().kind() == "assignment";
        if (!binding.value) // two names of one object, or one of several that a call returns
            return assigned && binding.target.parent().kind() != "pattern_list";
        return std::ranges::any_of(names_of(binding.value), [&](std::string_view other) {
            return other != variable.name && has_use(loop, other, {Use::stored}) &&
                   !is_imported(variable_at(loop, other));
        });
    });
}

bool holds_in(const Node& loop, std::string_view name) {
    const Variable variable = variable_at(loop, name);
    if (has_use(loop, name, {Use::bound}))
        return false;
    if (is_imported(variable))
        return true;
    const bool constant =
        !variable.bindings.empty() && std::ranges::all_of(variable.bindings, [](const Binding& binding) {
            return is_constant(binding.value);
        });
    const auto rebound_elsewhere = [&] {
        for (const Node& node : uses(variable.home, name))
            if (use_of(node) == Use::bound && scope_around(node) != variable.home &&
                node.parent().kind() != "function_definition")
                return true;
        return false;
    };
    if (variable.shared && rebound_elsewhere())
        return false;
    if (has_use(loop, name, {Use::stored}))
        return false;
    if (constant)
        return true;
    if (has_use(loop, name, {Use::aliased, Use::passed, Use::iterated}) ||
        has_use(variable.home, name, {Use::aliased}) || may_change_with_others(variable, loop))
        return false;
    // What other functions do may happen in the loop.
    return std::ranges::none_of(uses(variable.home, name), [&](const Node& node) {
        const Use use = use_of(node);
        return scope_around(node) != variable.home && use != Use::read && use != Use::bound;
    });
}

} // namespace umadvisor::patch::python
