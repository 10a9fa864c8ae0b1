/// Arrays of the host that each call of a compiled function uploads are uploaded once, before the loop.
#include "analyzer/patch/python/makers.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace umadvisor::patch::python {
namespace {

/// Returns whether the file has one function of this name and jax.jit compiles it, without an option: one could
/// have its arguments static or donated.
bool is_compiled(const Syntax& source, std::string_view name) {
    std::size_t compiled = 0, others = 0;
    source.root().walk([&](const Node& node) {
        if (node.kind() == "function_definition" && node.field("name").text() == name) {
            const Node outer = node.parent();
            const std::vector<Node> parts =
                outer.kind() == "decorated_definition" ? outer.children() : std::vector<Node>();
            const bool jit = parts.size() == 2 && parts[0].children().front().text() == "jax.jit";
            ++(jit ? compiled : others);
        }
        if (node.kind() == "assignment" && node.field("left").text() == name) {
            const Node value = node.field("right");
            const bool jit = value && value.kind() == "call" && value.field("function").text() == "jax.jit" &&
                             only_argument(value);
            ++(jit ? compiled : others);
        }
        return true;
    });
    return compiled == 1 && others == 0;
}

/// Returns whether the text shows that the value is arrays of NumPy, or a dictionary or list of such.
bool is_on_host(const Node& value, const Syntax& source) {
    bool host = false, device = false;
    value.walk([&](const Node& node) {
        if (node.kind() == "identifier" && (node.text() == "jax" || node.text() == "jnp"))
            device = true;
        if (node.kind() != "call" || root_name(node).empty())
            return true;
        const std::string_view root = root_name(node);
        host |= root == "np" || root == "numpy";
        const Variable variable =
            variable_at(node, root); // a generator of numbers: rng = np.random.default_rng()
        for (const Binding& binding : variable.bindings)
            host |= binding.value && binding.value.text().starts_with("np.random.");
        return true;
    });
    return host && !device && imports(source, "numpy");
}

/// Returns whether all values that the variable has before the loop are such, or are put on the device already.
bool stays_on_host(const Variable& variable, const Node& loop, const Syntax& source) {
    return std::ranges::all_of(variable.bindings, [&](const Binding& binding) {
        return binding.target.begin() > loop.end() ||
               (binding.value && (is_on_host(binding.value, source) ||
                                  binding.value.text() == fmt::format("jax.device_put({})", variable.name)));
    });
}

} // namespace

Draft put_before_loop(const Request& request) {
    const Syntax& source = request.source;
    Node call;
    for (const Node& each : calls_on(source, request.finding.line.place.line))
        if (each.field("function").kind() == "identifier" &&
            is_compiled(source, each.field("function").text())) {
            if (call)
                return {.refused = "its line calls several compiled functions"};
            call = each;
        }
    if (!call)
        return {.refused =
                    "the text does not show which function on its line jax.jit compiles, without options"};
    if (!has_module(source, "jax") || imports(source, "torch") || imports(source, "cupy"))
        return {.refused = std::string(other_library)};
    std::vector<std::string> lines;
    Node outermost;
    std::string why = "the loop changes its arguments, or the text does not show that they are arrays of NumPy";
    Draft draft;
    for (const Node& argument : call_arguments(call)) {
        if (argument.kind() != "identifier")
            continue;
        const std::string_view name = argument.text();
        const Variable variable = variable_at(argument, name);
        if (variable.shared)
            continue;
        Node loop;
        for (const Node& outer : loops_over(call)) {
            const std::vector<Node> found = uses(outer, name);
            if (found.size() != 1) // the argument itself
                break;
            loop = outer;
        }
        if (!loop || !is_bound_before(variable, loop) || !stays_on_host(variable, loop, source) ||
            may_change_with_others(variable, loop))
            continue;
        const std::vector<Node> all = uses(variable.home, name);
        const bool kept = std::ranges::any_of(all, [&](const Node& use) {
            const bool after = use.begin() > loop.end() || !loops_over(loop).empty();
            const bool later_value = std::ranges::any_of(variable.bindings, [&](const Binding& binding) {
                return binding.target.begin() > loop.end() && binding.target.begin() <= use.begin();
            });
            return use_of(use) == Use::aliased || use_of(use) == Use::stored ||
                   (after && !later_value && use != argument);
        });
        if (kept) {
            why = fmt::format("{} is used behind the loop, or has another name", name);
            continue;
        }
        if (outermost && outermost != loop)
            return {.refused = "its arguments stay the same in different loops"};
        outermost = loop;
        lines.push_back(fmt::format("{0} = jax.device_put({0})", name));
        draft.assumes.push_back(fmt::format("nothing that the loop calls writes the arrays of {}", name));
    }
    if (lines.empty())
        return {.refused = why};
    draft.edits = {lines_before(source.text(), outermost, lines)};
    return draft;
}

} // namespace umadvisor::patch::python
