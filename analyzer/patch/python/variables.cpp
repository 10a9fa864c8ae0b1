#include "analyzer/patch/python/uses.hpp"

#include <algorithm>
#include <array>

namespace umadvisor::patch::python {
namespace {

/// Returns whether its value cannot change: a number, a string, a device or type of PyTorch.
bool is_constant(const Node& value) {
    constexpr std::array<std::string_view, 6> literals{"integer", "float", "string", "true", "false", "none"};
    if (!value)
        return false;
    if (std::ranges::find(literals, value.kind()) != literals.end())
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
    if (assignment.kind() != "assignment" || !is_part(assignment, "left", place))
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
                !(is_inner_scope(scope) && is_part(scope, "name", node) && scope_around(scope) == home);
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
