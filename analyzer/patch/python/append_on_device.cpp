/// A list of scalars that each round reads back is kept on the device, and read at once behind the loop.
#include "analyzer/patch/python/makers.hpp"

#include <fmt/format.h>

namespace umadvisor::patch::python {
namespace {

/// "losses.append(x)" of the line, if it is a statement and the line's only such call.
Node append_at(const Syntax& source, int line) {
    Node found;
    std::size_t count = 0;
    for (const Node& call : calls_on(source, line))
        if (callee(call) == "append" && object_of(call) && object_of(call).kind() == "identifier") {
            found = call;
            ++count;
        }
    const bool alone = count == 1 && only_argument(found) && found.parent().kind() == "expression_statement";
    return alone ? found : Node();
}

/// "x" of "float(jax.device_get(x))" and of "float(x)", a name alone.
Node jax_scalar(const Node& expression) {
    if (callee(expression) != "float" || !only_argument(expression))
        return {};
    Node scalar = only_argument(expression);
    if (scalar.kind() == "call" && scalar.field("function").text() == "jax.device_get")
        scalar = only_argument(scalar);
    return scalar && scalar.kind() == "identifier" ? scalar : Node();
}

} // namespace

Draft append_on_device(const Request& request) {
    const Syntax& source = request.source;
    const Node append = append_at(source, request.finding.line.place.line);
    if (!append)
        return {.refused = std::string(other_form)};
    const Node value = only_argument(append);
    const bool jax = has_module(source, "jax");
    const Node scalar = jax ? jax_scalar(value) : scalar_read_by(value);
    if (!scalar)
        return {.refused = std::string(other_form)};
    if (jax ? imports(source, "torch") || imports(source, "cupy") : !is_torch_alone(source))
        return {.refused = std::string(other_library)};
    if (jax && source.text().find("donate") != std::string::npos)
        return {.refused = "a call may donate the memory that the list would keep"};
    const std::string_view name = object_of(append).text();
    const Variable variable = variable_at(append, name);
    if (variable.shared)
        return {.refused = fmt::format("{} is used by several functions", name)};
    Node loop;
    for (const Node& outer : loops_over(append)) {
        if (uses(outer, name).size() != 1)
            break;
        loop = outer;
    }
    if (!loop)
        return {.refused =
                    fmt::format("{} is appended to in no loop, or the loop uses it otherwise, too", name)};
    if (is_tried(loop))
        return {.refused = "an exception may leave the loop, and what handles it may need the list"};
    const Binding* const before = binding_before(variable, loop);
    if (before == nullptr || !before->value || before->value.text() != "[]" ||
        loops_over(before->statement) != loops_over(loop))
        return {.refused = fmt::format("the text does not show that {} is empty before the loop", name)};
    for (const Node& use : uses(variable.home, name))
        if (use.begin() > before->target.begin() && use.begin() < loop.begin())
            return {.refused = fmt::format("{} is used between its first line and the loop", name)};
    Draft draft;
    const std::string code(scalar.text());
    const char* const numbers = callee(value) == "float" ? ".double().tolist()" : ".tolist()";
    draft.edits = {
        instead(value, jax ? code : primary(scalar) + ".detach().clone()"),
        lines_behind(source.text(), loop,
                     {fmt::format("if {}:", name),
                      jax ? fmt::format("    {0}[:] = map(float, jax.device_get({0}))", name)
                          : fmt::format("    {0}[:] = torch.stack({0}).flatten(){1}", name, numbers)})};
    draft.assumes = {
        fmt::format("{} is {} with one real number, of the same type and on the same device in all rounds",
                    code, jax ? "an array of JAX" : "a tensor of PyTorch")};
    return draft;
}

} // namespace umadvisor::patch::python
