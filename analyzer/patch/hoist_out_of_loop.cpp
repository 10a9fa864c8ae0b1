/// What a loop makes and destroys in each round is made before it and destroyed after it.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace umadvisor::patch {
namespace {

constexpr std::string_view not_local =
    "memory is made and destroyed in different functions, or not in one loop";

/// A statement that makes or ends something, and the name of what it makes.
struct Step {
    Statement statement;
    std::string_view name;
};

/// Of a line that has one such call: it is given the thing as its first argument, a variable.
std::optional<Step> step_at(const Syntax& source, int line) {
    std::optional<Step> step;
    for (const Node& call : calls_at(source, line)) {
        if (!called_name(call).starts_with("cu") || arguments(call).empty())
            continue;
        if (step)
            return std::nullopt;
        step = Step{statement_of(call), plain(arguments(call).front()).text()};
    }
    return step && step->statement.whole ? step : std::nullopt;
}

/// "name" of "name.data()".
std::string_view owner_of(std::string_view expression) {
    return expression.substr(0, expression.find_first_of(".-["));
}

/// The declaration in the loop's block that has only this variable: a pointer or a handle of CUDA, without a
/// value. Null: there is none.
Node declaration_in(const Node& block, std::string_view name) {
    for (const Node& child : block.children()) {
        if (child.kind() != "declaration" || !declares(child, name))
            continue;
        const std::vector<Node> parts = child.children();
        if (parts.size() != 2)
            return {};
        const Node value = parts[1].field("value");
        const bool empty = !value || value.text() == "nullptr" || value.text() == "NULL" || value.text() == "0";
        const Node declared = value ? parts[1].field("declarator") : parts[1];
        const bool handle = declared.kind() == "pointer_declarator" ||
                            (declared.kind() == "identifier" && parts[0].text().starts_with("cu"));
        return empty && handle ? child : Node();
    }
    return {};
}

/// Returns whether the loop frees it at another place, too.
bool is_ended_twice(const Node& loop, const Step& ended) {
    std::size_t times = 0;
    loop.walk([&](const Node& node) {
        times += node.kind() == "call_expression" && called_name(node) == called_name(ended.statement.call) &&
                         !arguments(node).empty() && plain(arguments(node).front()).text() == ended.name
                     ? 1
                     : 0;
        return true;
    });
    return times != 1;
}

/// Returns whether the statement means the same before the loop: all that it uses is there, and stays.
bool holds_before(const Node& loop, const Statement& statement, std::string_view thing) {
    return std::ranges::none_of(names_in(statement.whole), [&](std::string_view name) {
        return name != thing && (declares(loop, name) || changes(loop, name));
    });
}

} // namespace

Draft hoist_out_of_loop(const Request& request) {
    const Syntax& source = request.source;
    const std::string& text = source.text();
    const auto end_place = std::ranges::find_if(request.finding.others, [](const advice::ResolvedPlace& other) {
        return other.what == "freed here" || other.what == "unlocked here" || other.what == "destroyed here";
    });
    const std::optional<Step> made = step_at(source, request.finding.line.place.line);
    const std::optional<Step> ended =
        end_place == request.finding.others.end() ? std::nullopt : step_at(source, end_place->place.line);
    if (!made || !ended || made->name != ended->name)
        return {.refused = std::string(not_local)};
    const Node block = block_of(made->statement.whole);
    const Node function = function_of(block);
    const std::string_view variable = owner_of(made->name);
    if (!block || !function || block_of(ended->statement.whole) != block || !declares(function, variable) ||
        !is_alone(text, made->statement.whole) || !is_alone(text, ended->statement.whole))
        return {.refused = std::string(not_local)};
    const std::vector<Node> around = loops_around(made->statement.whole);
    if (around.empty() || around.front().field("body") != block || !block_of(around.front()))
        return {.refused = std::string(not_local)};
    const Node loop = around.front();
    if (!is_alone(text, loop) || ended->statement.whole.begin() < made->statement.whole.begin() ||
        is_ended_twice(loop, *ended))
        return {.refused = "the loop frees it before it makes it, or at several places"};
    if (leaves_early(loop))
        return {.refused = "the loop is left by return or goto, which would skip the free behind it"};
    const Node declaration = declaration_in(block, variable);
    if (declares(loop, variable) && !(declaration && is_alone(text, declaration)))
        return {.refused = fmt::format("{} is declared in the loop, beside others or with a value", variable)};
    if (!holds_before(loop, made->statement, variable) || !holds_before(loop, ended->statement, variable))
        return {.refused = "its size or its other arguments may change from round to round"};
    if (changes(loop, variable, Changed::itself,
                {made->statement.call, declaration ? declaration : made->statement.call}))
        return {.refused = fmt::format("{} is changed in the loop", variable)};

    const std::string indent = indent_at(text, loop.begin());
    Draft draft;
    std::string before;
    if (declaration) {
        before = lines_of(text, declaration, indent);
        draft.edits.push_back(without_lines(text, declaration));
    }
    before += lines_of(text, made->statement.whole, indent);
    draft.edits.push_back(without_lines(text, made->statement.whole));
    draft.edits.push_back(without_lines(text, ended->statement.whole));
    const std::size_t begin = line_begin(text, loop.begin()), end = line_end(text, loop.end());
    draft.edits.push_back({begin, begin, before});
    draft.edits.push_back({end, end, lines_of(text, ended->statement.whole, indent)});
    draft.assumes.push_back(
        fmt::format("what the functions called in the loop do to {} and to its size does not "
                    "differ from round to round",
                    variable));
    return draft;
}

} // namespace umadvisor::patch
