/// A prefetch that each round repeats, though its memory stays where it is, is made before the loop.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace umadvisor::patch {
namespace {

/// Whether the loop passes the memory to nothing but kernels and prefetches.
bool only_kernels_use(const Node& loop, std::string_view name) {
    bool only = true;
    loop.walk([&](const Node& node) {
        if (node.kind() == "call_expression" &&
            (!launch_configuration(node).empty() || called_name(node) == "cudaMemPrefetchAsync"))
            return false;
        only &= node.kind() != "identifier" || node.text() != name;
        return only;
    });
    return only;
}

/// "i" of "for (int i = 0; ..; ++i)", which the loop leaves as it is; empty: it is another loop.
std::string_view counter_of(const Node& loop) {
    const Node begin = loop.field("initializer"), next = loop.field("update");
    if (begin.kind() != "declaration" || begin.children().size() != 2 ||
        begin.children()[1].field("value").text() != "0" || next.kind() != "update_expression")
        return {};
    const std::string_view name = declared_by(begin.children()[1]).text();
    return next.field("argument").text() == name && !changes(loop.field("body"), name) ? name
                                                                                       : std::string_view();
}

} // namespace

Draft hoist_prefetch(const Request& request) {
    const std::string& text = request.source.text();
    const Node call = only_call(request.source, request.finding.line.place.line, "cudaMemPrefetchAsync");
    const Node statement = call ? statement_of(call).whole : Node();
    const std::vector<Node> around = call ? loops_around(call) : std::vector<Node>();
    if (!statement || around.empty() || around.front().field("body") != block_of(statement) ||
        !block_of(around.front()) || !is_alone(text, statement) || !is_alone(text, around.front()))
        return {.refused = "its prefetch does not stand in the block of a loop"};
    const Node loop = around.front();
    const Node memory = arguments(call).empty() ? Node() : base_of(arguments(call)[0]);
    if (!memory || !only_kernels_use(loop, memory.text()))
        return {.refused = "the loop uses the memory in other ways than by kernels"};
    const std::vector<std::string> assumes{
        fmt::format("the host does not touch {} while the loop runs", memory.text())};
    const bool holds_before = std::ranges::none_of(names_in(statement), [&](std::string_view name) {
        return declares(loop, name) || changes(loop, name, Changed::itself, {call});
    });
    if (holds_before) {
        const std::size_t at = line_begin(text, loop.begin());
        return {.edits = {{at, at, lines_of(text, statement, indent_at(text, loop.begin()))},
                          without_lines(text, statement)},
                .assumes = assumes};
    }
    const std::string_view round = counter_of(loop);
    if (round.empty() || changes(loop, memory.text(), Changed::itself, {call}))
        return {.refused = "what it prefetches may change from round to round"};
    return {.edits = {{statement.begin(), statement.begin(), fmt::format("if ({} == 0) ", round)}},
            .assumes = assumes};
}

} // namespace umadvisor::patch
