/// A sum of scalars that each round reads back is kept on the device, and read behind the loop.
#include "analyzer/patch/python/makers.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace umadvisor::patch::python {
namespace {

/// "total += x.item()" of the line, if it is its only sum.
Node sum_at(const Syntax& source, int line) {
    Node sum;
    std::size_t count = 0;
    source.root().walk([&](const Node& node) {
        if (line < node.first_line() || line > node.last_line())
            return false;
        if (node.kind() == "augmented_assignment") {
            sum = node;
            ++count;
        }
        return true;
    });
    const bool fits =
        count == 1 && sum.field("operator").text() == "+=" && sum.field("left").kind() == "identifier";
    return fits ? sum : Node();
}

/// Returns whether the variable is a Python float whenever the loop begins and ends.
bool is_float_around(const Variable& variable, const Node& loop) {
    const Binding* const before = binding_before(variable, loop);
    if (before == nullptr)
        return false;
    const std::vector<Node> outer = loops_over(loop);
    const std::size_t end = outer.empty() ? loop.end() : outer.back().end();
    return std::ranges::all_of(variable.bindings,
                               [&](const Binding& binding) {
                                   return binding.target.begin() >= end ||
                                          (binding.value && binding.value.kind() == "float");
                               }) &&
           std::ranges::none_of(uses(variable.home, variable.name), [&](const Node& use) {
               const bool inside = use.begin() >= loop.begin() && use.begin() < loop.end();
               return !inside && use.begin() < end && use_of(use) == Use::stored;
           });
}

} // namespace

Draft accumulate_on_device(const Request& request) {
    const Syntax& source = request.source;
    const Node sum = sum_at(source, request.finding.line.place.line);
    const Node scalar = sum ? scalar_read_by(sum.field("right")) : Node();
    if (!scalar)
        return {.refused = std::string(other_form)};
    if (!is_torch_alone(source))
        return {.refused = std::string(other_library)};
    const std::string_view name = sum.field("left").text();
    const Variable variable = variable_at(sum, name);
    if (variable.shared)
        return {.refused = fmt::format("{} is used by several functions", name)};
    Node loop;
    for (const Node& outer : loops_over(sum)) {
        if (uses(outer, name).size() != 1)
            break;
        loop = outer;
    }
    if (!loop)
        return {.refused = fmt::format("{} is added to in no loop, or the loop uses it otherwise, too", name)};
    if (is_tried(loop))
        return {.refused = "an exception may leave the loop, and what handles it may need the sum"};
    if (!is_float_around(variable, loop))
        return {.refused = fmt::format("the text does not show that {} is a float before the loop", name)};
    Draft draft;
    draft.edits = {instead(sum.field("right"), primary(scalar) + ".detach().double()"),
                   lines_behind(source.text(), loop, {fmt::format("{0} = float({0})", name)})};
    draft.assumes = {fmt::format(
        "{} is a tensor of PyTorch with one real number, on the same device in all rounds", scalar.text())};
    return draft;
}

} // namespace umadvisor::patch::python
