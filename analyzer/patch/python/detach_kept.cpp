/// What a list keeps of each round is a value, without the graph of its round.
#include "analyzer/patch/python/makers.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace umadvisor::patch::python {
namespace {

bool reads_value(const Node& call) {
    return calls_method(call, "detach") || calls_method(call, "item") || calls_method(call, "tolist");
}

/// Returns whether what the expression, "torch.stack(list)", is part of needs its value alone:
/// "....mean().item()".
bool ends_in_value(Node expression) {
    while (expression.parent().kind() == "attribute" && expression.parent().parent().kind() == "call") {
        expression = expression.parent().parent();
        if (reads_value(expression))
            return true;
    }
    return false;
}

/// Returns whether the comprehension over the list needs the elements' values alone: "[h.detach() for h in
/// history]".
bool takes_values(const Node& clause) {
    const Node comprehension = clause.parent();
    if (clause.field("left").kind() != "identifier" || comprehension.kind() == "dictionary_comprehension")
        return false;
    const std::string_view each = clause.field("left").text();
    bool values = true;
    comprehension.walk([&](const Node& node) {
        if (node.kind() != "identifier" || node.text() != each || node == clause.field("left"))
            return true;
        const Node call = node.parent().parent();
        values &= node.parent().kind() == "attribute" && call.kind() == "call" && reads_value(call);
        return true;
    });
    return values;
}

bool needs_value_alone(const Node& use) {
    const Node outer = use.parent();
    if (outer.kind() == "argument_list") {
        const Node call = outer.parent();
        const std::string_view function = call.field("function").text();
        return function == "len" || (function == "torch.stack" && ends_in_value(call));
    }
    return outer.kind() == "for_in_clause" && outer.field("right") == use && takes_values(outer);
}

/// The names that stand for what is appended: both of "a if fixed else b".
std::vector<Node> choices(const Node& value) {
    if (value.kind() == "conditional_expression" && value.children().size() == 3)
        return {value.children()[0], value.children()[2]};
    return {value};
}

} // namespace

Draft detach_kept(const Request& request) {
    const Syntax& source = request.source;
    if (!is_torch_alone(source))
        return {.refused = std::string(other_library)};
    std::vector<int> lines{request.finding.line.place.line};
    for (const advice::ResolvedPlace& other : request.finding.others)
        lines.push_back(other.place.line);
    const auto is_of_finding = [&](const Node& statement) {
        return std::ranges::any_of(
            lines, [&](int line) { return statement.first_line() <= line && line <= statement.last_line(); });
    };
    std::vector<Node> kept;
    Node append;
    source.root().walk([&](const Node& node) {
        if (node.kind() != "call" || callee(node) != "append" || !only_argument(node) || !object_of(node))
            return true;
        const std::vector<Node> loops = loops_over(node);
        if (loops.empty())
            return true;
        std::vector<Node> names;
        for (const Node& choice : choices(only_argument(node))) {
            if (choice.kind() != "identifier")
                continue;
            for (const Binding& binding : variable_at(choice, choice.text()).bindings)
                if (binding.statement.parent() == loops.front().field("body") &&
                    is_of_finding(binding.statement)) {
                    names.push_back(choice);
                    break;
                }
        }
        if (!names.empty()) {
            if (append)
                kept.clear();
            else
                kept = names;
            append = node;
        }
        return true;
    });
    if (kept.empty())
        return {.refused = "the text does not show which list keeps what its lines make"};
    const Node list = object_of(append);
    if (list.kind() != "identifier")
        return {.refused = "the list that keeps it is part of an object"};
    const std::string_view name = list.text();
    const Variable variable = variable_at(append, name);
    if (variable.shared)
        return {.refused = fmt::format("{} is used by several functions", name)};
    bool tensors = false;
    for (const Node& use : uses(variable.home, name)) {
        if (use == list || use_of(use) == Use::bound)
            continue;
        if (!needs_value_alone(use))
            return {.refused = fmt::format("what uses {} may need the graphs of its tensors", name)};
        tensors |= use.parent().kind() == "for_in_clause" || callee(use.parent().parent()) != "len";
    }
    for (const Node& each : kept)
        for (const Node& use : uses(scope_around(append), each.text())) {
            const Node call = use.parent().parent();
            tensors |= call && call.kind() == "call" && use.parent().kind() == "attribute" &&
                       (reads_value(call) || callee(call) == "backward");
        }
    if (!tensors)
        return {.refused = fmt::format("the text does not show that {} has tensors", name)};
    Draft draft;
    for (const Node& each : kept)
        draft.edits.push_back({each.end(), each.end(), ".detach()"});
    draft.assumes = {fmt::format("{} is a tensor of PyTorch", kept.front().text())};
    return draft;
}

} // namespace umadvisor::patch::python
