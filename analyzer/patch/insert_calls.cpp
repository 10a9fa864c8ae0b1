/// Calls that a finding names whole are written before or after the statement of their line.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace umadvisor::patch {
namespace {

using rules::EditKind;

/// The statement of the line, which stands in a block; null: there is none.
Node statement_at(const Syntax& source, int line) {
    Node found;
    source.root().walk([&](const Node& node) {
        if (line < node.first_line() || line > node.last_line())
            return false;
        if (node.kind() != "comment" && block_of(node))
            found = node;
        return true;
    });
    return found;
}

/// What stands for what the trace does not have.
bool has_placeholder(const Syntax& source, const Node& at, std::string_view call) {
    const Syntax code(std::string(call), Grammar::cuda);
    const Node function = function_of(at);
    constexpr std::array<std::string_view, 4> placeholders{"ptr", "bytes", "device", "stream"};
    return std::ranges::any_of(names_in(code.root()), [&](std::string_view name) {
        return std::ranges::find(placeholders, name) != placeholders.end() &&
               !(function ? declares(function, name) : declares(source.root(), name));
    });
}

/// The function or macro by which the program checks the calls of this function; empty: it checks none.
std::string_view wrapper_near(const Node& at) {
    std::string_view wrapper;
    const Node function = function_of(at);
    if (function)
        function.walk([&](const Node& node) {
            const std::string_view name = node.kind() == "call_expression" ? called_name(node) : "";
            if (name.starts_with("cuda") && !name.starts_with("cudaGetError") &&
                !name.starts_with("cudaPeek") && wrapper.empty())
                wrapper = statement_of(node).wrapper;
            return wrapper.empty();
        });
    return wrapper;
}

/// The outermost statement around `at` that has none of the other lines that the call must stand behind, so
/// that the call is made once. Null: it cannot stand there, since the loop changes what it names.
Node outermost(const Request& request, const Node& at, std::string_view call) {
    const Syntax code(std::string(call), Grammar::cuda);
    const bool waits = request.finding.finding.rule->id == "UMA-601";
    Node place = at;
    for (const Node& loop : loops_around(at)) {
        const bool needed_inside = std::ranges::any_of(request.finding.others, [&](const auto& other) {
            return other.place.line >= loop.first_line() && other.place.line <= loop.last_line() &&
                   other.what.starts_with("the host") != waits;
        });
        const bool hidden = std::ranges::any_of(names_in(code.root()), [&](std::string_view name) {
            return declares(loop, name) || changes(loop, name);
        });
        if (needed_inside)
            break;
        if (hidden || !block_of(loop))
            return {};
        place = loop;
    }
    return place;
}

/// Of the lines where the host reads too early, the first in the block of `place`: the wait stands before all.
Node first_read(const Request& request, Node place) {
    const Node block = block_of(place);
    for (const advice::ResolvedPlace& other : request.finding.others)
        if (other.what.starts_with("the host") && other.place.line < place.first_line())
            for (const Node& statement : block.children())
                if (statement.kind() != "comment" && statement.first_line() <= other.place.line &&
                    other.place.line <= statement.last_line())
                    place = statement;
    return place;
}

} // namespace

Draft insert_calls(const Request& request) {
    Draft draft;
    const std::string& text = request.source.text();
    for (const advice::ResolvedEdit& edit : request.finding.remedy) {
        if (edit.kind != EditKind::insert_before && edit.kind != EditKind::insert_after)
            return {.refused = "its remedy is in words"};
        const Node statement = statement_at(request.source, edit.at.place.line);
        if (!statement)
            return {.refused = "no statement of a block stands at its line"};
        if (has_placeholder(request.source, statement, edit.text))
            return {.refused = "the source does not show which memory, size or stream it is at that line"};
        const std::string_view wrapper = wrapper_near(statement);
        const std::string call = wrapper.empty() ? edit.text + ";" : fmt::format("{}({});", wrapper, edit.text);
        const bool before = edit.kind == EditKind::insert_before;
        if (!before && !loops_around(statement).empty())
            return {.refused = "it belongs behind a loop, before the wait that the host's read needs"};
        Node place = before ? outermost(request, statement, edit.text) : statement;
        if (!place)
            return {.refused = "it belongs before a loop that may change its memory or size"};
        if (request.finding.finding.rule->id == "UMA-601")
            place = first_read(request, place);
        if (!is_alone(text, place))
            return {.refused = "its statement shares a line with others"};
        const std::size_t at = before ? line_begin(text, place.begin()) : line_end(text, place.end());
        draft.edits.push_back({at, at, indent_at(text, place.begin()) + call + "\n"});
    }
    return draft;
}

} // namespace umadvisor::patch
