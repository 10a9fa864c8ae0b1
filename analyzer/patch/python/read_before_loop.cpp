/// The elements of an array that a loop reads one by one are read with one copy before it.
#include "analyzer/patch/python/makers.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace umadvisor::patch::python {
namespace {

/// What a call on the line turns into a number: "x[k]" of "x[k].item()", "each" of "int(each)". Null: none, or
/// several.
Node read_at(const Syntax& source, int line) {
    Node read;
    std::size_t count = 0;
    for (const Node& call : calls_on(source, line)) {
        const std::string_view function = call.field("function").text();
        const bool number = function == "int" || function == "float" || function == "bool";
        const Node element = calls_method(call, "item") ? object_of(call)
                             : number                   ? only_argument(call)
                                                        : Node();
        const bool fits =
            element && (element.kind() == "identifier" ||
                        (element.kind() == "subscript" && element.field("value").kind() == "identifier"));
        if (fits) {
            read = element;
            ++count;
        }
    }
    return count == 1 ? read : Node();
}

/// The conditional expression that chooses whether the element is read; null: there is none.
Node choice_around(const Node& element) {
    Node outer = element.parent();
    while (outer && outer.kind() != "conditional_expression" && outer != whole_statement(element))
        outer = outer.parent();
    return outer && outer.kind() == "conditional_expression" ? outer : Node();
}

bool all_hold(const Node& loop, const Node& expression) {
    return std::ranges::all_of(names_of(expression),
                               [&](std::string_view name) { return holds_in(loop, name); });
}

bool has_call(const Node& expression) {
    bool found = false;
    expression.walk([&](const Node& node) {
        found |= node.kind() == "call";
        return !found;
    });
    return found;
}

/// Returns whether all indices are numbers: "for k in range(n)" and "for k, x in enumerate(xs)" count. A tensor
/// on the device may not be an index of the copy on the host.
bool has_plain_indices(const Node& element, const Node& loop) {
    const Node counted = loop.kind() == "for_statement" ? loop.field("right") : Node();
    Node counter = counted ? loop.field("left") : Node();
    if (counted && callee(counted) == "enumerate" && !counter.children().empty())
        counter = counter.children().front();
    else if (!counted || callee(counted) != "range")
        return false;
    const std::vector<Node> parts = element.children();
    return std::ranges::all_of(parts,
                               [&](const Node& part) {
                                   return part == parts.front() || part.kind() == "integer" ||
                                          part.text() == counter.text();
                               }) &&
           !has_use(loop.field("body"), counter.text(), {Use::bound, Use::stored});
}

/// Why the array cannot be copied before the loop; empty: it can. Its uses in `choice` besides the read do not
/// count: where one is made the other is not.
std::string obstacle(const Variable& array, const Node& loop, const Node& choice) {
    if (array.shared)
        return fmt::format("{} is used by several functions", array.name);
    if (!is_bound_before(array, loop))
        return fmt::format("the text does not show what {} is before the loop", array.name);
    if (!is_tensor(array))
        return fmt::format("the text does not show that {} is one tensor", array.name);
    if (may_change_with_others(array, loop))
        return fmt::format("the loop may change {}", array.name);
    for (const Node& use : uses(array.home, array.name)) {
        const bool chosen = choice && use.begin() >= choice.begin() && use.end() <= choice.end();
        const bool inside = use.begin() >= loop.field("body").begin() && use.end() <= loop.end();
        const Use how = use_of(use);
        if (!chosen && how == Use::aliased)
            return fmt::format("{} may have another name", array.name);
        if (inside && !chosen && how != Use::read)
            return fmt::format("the loop may change {}", array.name);
    }
    return {};
}

/// "for each in x: n = int(each)"
Draft read_iterated(const Node& element) {
    const std::string_view each = element.text();
    for (const Node& loop : loops_over(element)) {
        if (loop.kind() != "for_statement" || loop.field("left").text() != each)
            continue;
        const Node array = loop.field("right");
        if (array.kind() != "identifier")
            return {.refused = "its loop is not over a name"};
        const Variable variable = variable_at(loop, array.text());
        if (std::string why = obstacle(variable, loop, {}); !why.empty())
            return {.refused = std::move(why)};
        for (const Node& use : uses(scope_around(loop), each)) {
            const Node outer = use.parent();
            const Node call = outer.parent();
            const bool item = outer.kind() == "attribute" && calls_method(call, "item");
            const std::string_view function =
                call && call.kind() == "call" ? call.field("function").text() : "";
            const bool number = outer.kind() == "argument_list" && (function == "int" || function == "float");
            const bool inside = use.begin() >= loop.begin() && use.end() <= loop.end();
            if (!inside || (use != loop.field("left") && !item && !number))
                return {.refused = fmt::format("{} is used otherwise, too", each)};
        }
        return {.edits = {instead(array, fmt::format("{}.cpu()", array.text()))},
                .assumes = {fmt::format("what the loop calls does not change {} in place", array.text())}};
    }
    return {.refused = std::string(other_form)};
}

} // namespace

Draft read_before_loop(const Request& request) {
    const Syntax& source = request.source;
    std::vector<Node> elements{read_at(source, request.finding.line.place.line)};
    for (const advice::ResolvedPlace& other : request.finding.others)
        if (other.what == "copied in the same group")
            elements.push_back(read_at(source, other.place.line));
    if (!elements.front())
        return {.refused = std::string(other_form)};
    if (!is_torch_alone(source))
        return {.refused = std::string(other_library)};
    if (elements.front().kind() == "identifier")
        return read_iterated(elements.front());
    Draft draft;
    std::vector<std::string> lines;
    std::set<std::string_view> copied;
    Node loop;
    for (const Node& element : elements) {
        if (!element || element.kind() != "subscript")
            return {.refused = "another line that reads such elements has a form that no patch is known for"};
        const std::vector<Node> loops = loops_over(element);
        if (loops.empty() || (loop && loops.front() != loop))
            return {.refused = "its elements are not read in one loop"};
        loop = loops.front();
        const Node statement = whole_statement(element);
        if (statement.parent() != loop.field("body"))
            return {.refused = "it reads elements in some rounds only"};
        if (!has_plain_indices(element, loop))
            return {.refused = "the text does not show that its indices are numbers"};
        const Node choice = choice_around(element);
        if (choice && (!all_hold(loop, choice.children()[1]) || has_call(choice.children()[1])))
            return {.refused = "it reads elements in some rounds only"};
        const Node array = element.field("value");
        const std::string_view name = array.text();
        if (std::string why = obstacle(variable_at(element, name), loop, choice); !why.empty())
            return {.refused = std::move(why)};
        const std::string host = fmt::format("host_{}", name);
        if (source.text().find(host) != std::string::npos)
            return {.refused = fmt::format("the file has the name {}", host)};
        draft.edits.push_back(instead(array, host));
        if (!copied.insert(name).second)
            continue;
        const std::string copy = fmt::format("{}.cpu()", name);
        if (!choice)
            lines.push_back(fmt::format("{} = {}", host, copy));
        else if (element.begin() < choice.children()[1].begin())
            lines.push_back(fmt::format("{} = {} if {} else None", host, copy, choice.children()[1].text()));
        else
            lines.push_back(fmt::format("{} = None if {} else {}", host, choice.children()[1].text(), copy));
        draft.assumes.push_back(fmt::format("what the loop calls does not change {} in place", name));
    }
    draft.edits.push_back(lines_before(source.text(), loop, lines));
    return draft;
}

} // namespace umadvisor::patch::python
