/// A constant tensor that each round makes is made once, before the loop.
#include "analyzer/patch/python/makers.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace umadvisor::patch::python {
namespace {

constexpr std::array<std::string_view, 8> makers_of_constants{"torch.tensor", "torch.arange", "torch.linspace",
                                                              "torch.zeros",  "torch.ones",   "torch.full",
                                                              "torch.eye",    "torch.device"};
constexpr std::array<std::string_view, 18> shapers{
    "to",  "cuda",      "view", "reshape", "float",      "half",   "double",  "bfloat16", "long",
    "int", "unsqueeze", "t",    "expand",  "contiguous", "repeat", "permute", "flatten",  "bool"};

bool is_known(std::string_view name, auto known) {
    return std::ranges::find(known, name) != known.end();
}

/// Returns whether evaluating it twice makes the same tensor twice: known calls, and names and numbers.
bool is_constant_tensor(const Node& value) {
    bool constant = value.kind() == "call", tensor = false;
    value.walk([&](const Node& node) {
        if (node.kind() == "call") {
            const bool maker = is_known(node.field("function").text(), makers_of_constants);
            tensor |= maker;
            constant &= maker || (object_of(node) && is_known(callee(node), shapers));
        }
        constant &= node.kind() != "named_expression" && node.kind() != "lambda" && node.kind() != "await" &&
                    !node.kind().ends_with("comprehension") && node.kind() != "generator_expression" &&
                    !(node.kind() == "keyword_argument" && node.field("name").text() == "requires_grad");
        return constant;
    });
    return constant && tensor;
}

/// "m = torch.tensor(...)" alone in a statement.
bool makes_constant(const Node& statement) {
    const std::vector<Node> parts = statement.children();
    return statement.kind() == "expression_statement" && parts.size() == 1 && parts[0].kind() == "assignment" &&
           parts[0].field("left").kind() == "identifier" && parts[0].field("right") &&
           is_constant_tensor(parts[0].field("right"));
}

std::vector<Node> statements_of(const Node& block) {
    std::vector<Node> statements = block.children();
    std::erase_if(statements, [](const Node& node) { return node.kind() == "comment"; });
    return statements;
}

/// Returns whether the loop gives the name no other value, does not use it before `made` and leaves its tensor
/// as it is.
bool stays(const Node& loop, const Node& made, std::string_view name) {
    return std::ranges::all_of(uses(loop, name), [&](const Node& use) {
        const bool inside = use.begin() >= made.begin() && use.end() <= made.end();
        return (inside && use_of(use) == Use::bound) || (use.begin() >= made.end() && use_of(use) == Use::read);
    });
}

bool uses_only_what_holds(const Node& loop, const Node& expression) {
    return std::ranges::all_of(names_of(expression),
                               [&](std::string_view name) { return holds_in(loop, name); });
}

bool calls_something(const Node& expression) {
    bool found = false;
    expression.walk([&](const Node& node) {
        found |= node.kind() == "call" || node.kind() == "named_expression";
        return !found;
    });
    return found;
}

/// Returns whether all of these statements mean the same before the loop.
std::string obstacle_before(const Node& loop, const Node& moved, const std::vector<Node>& makers) {
    for (const Node& maker : makers) {
        const Node assignment = maker.children().front();
        const std::string_view name = assignment.field("left").text();
        const Variable variable = variable_at(maker, name);
        if (variable.shared)
            return fmt::format("{} is used by several functions", name);
        if (!uses_only_what_holds(loop, assignment.field("right")))
            return "what it is made of may change from round to round";
        if (!stays(loop, moved, name))
            return fmt::format("the loop may change {}, or keep it under another name", name);
    }
    return {};
}

} // namespace

Draft make_before_loop(const Request& request) {
    const Syntax& source = request.source;
    const int line = request.finding.line.place.line;
    Node statement;
    source.root().walk([&](const Node& node) {
        if (line < node.first_line() || line > node.last_line())
            return false;
        if (makes_constant(node))
            statement = node;
        return true;
    });
    if (!statement)
        return {.refused = std::string(other_form)};
    if (!has_module(source, "torch"))
        return {.refused = std::string(other_library)};
    // An `if` that chooses whether all of it is made moves as a whole.
    Node moved = statement;
    std::vector<Node> makers{statement};
    const Node choice = statement.parent().parent();
    if (choice && choice.kind() == "if_statement") {
        const std::vector<Node> beside = statements_of(choice.field("consequence"));
        if (choice.field("alternative") || !std::ranges::all_of(beside, makes_constant) ||
            calls_something(choice.field("condition")))
            return {.refused = "it is made under a condition, beside other statements"};
        moved = choice;
        makers = beside;
    }
    Node loop;
    std::string why = "it is made in no loop of its function, or under a condition";
    for (const Node& outer : loops_over(moved)) {
        if (moved.parent() != outer.field("body") && !loop)
            break;
        if (loop && loop.parent() != outer.field("body"))
            break;
        std::string here = obstacle_before(outer, moved, makers);
        if (here.empty() && moved != statement && !uses_only_what_holds(outer, choice.field("condition")))
            here = "the condition under which it is made may change from round to round";
        if (!here.empty()) {
            why = loop ? why : std::move(here);
            break;
        }
        loop = outer;
    }
    if (!loop)
        return {.refused = std::move(why)};
    const std::string& text = source.text();
    const std::size_t begin = line_begin(text, moved.begin()), end = line_end(text, moved.end());
    if (!has_own_lines(text, moved) || statements_of(moved.parent()).size() == 1)
        return {.refused = "its statement shares its lines with another, or is all of its block"};
    const std::string old_indent = indent_at(text, moved.begin()), new_indent = indent_at(text, loop.begin());
    std::string code;
    for (std::size_t at = begin; at < end; at = line_end(text, at)) {
        const std::string each = text.substr(at, line_end(text, at) - at);
        if (each != "\n" && !each.starts_with(old_indent))
            return {.refused = "its lines are not indented alike"};
        code += each == "\n" ? each : new_indent + each.substr(old_indent.size());
    }
    if (!code.ends_with('\n') || code.find("\"\"\"") != std::string::npos)
        return {.refused = "its statement is the last of the file, or has lines in a string"};
    const std::size_t before = line_begin(text, loop.begin());
    Draft draft;
    draft.edits = {{before, before, code}, {begin, end, ""}};
    draft.assumes = {
        "the loop has at least one round, and what it calls changes nothing of what the tensor is made of"};
    return draft;
}

} // namespace umadvisor::patch::python
