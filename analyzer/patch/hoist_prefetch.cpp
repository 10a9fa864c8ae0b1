/// A prefetch that each round repeats, though its memory stays where it is, is made before the loop.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"
#include "analyzer/patch/uses.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace umadvisor::patch {
namespace {

/// Returns whether the loop passes the memory to nothing but kernels, by its address, and this prefetch.
bool only_kernels_use(const Node& loop, std::string_view name, const Node& prefetch) {
    return std::ranges::all_of(uses_of(loop, name), [&prefetch](const Node& use) {
        const Node call = receiver_of(value_around(use));
        return holds(prefetch, use) || (call && !launch_configuration(call).empty());
    });
}

/// Returns whether the loop makes one of these names another one in some round.
bool differ(const std::set<std::string_view>& names, const Node& loop, Changed what, const Node& except) {
    return std::ranges::any_of(names, [&](std::string_view name) {
        return declares(loop, name) || changes(loop, name, what, {except});
    });
}

/// Returns whether a statement of the block gives one of these names a value that depends on the round.
bool depend_on(const std::set<std::string_view>& names, std::string_view round, const Node& statement) {
    return std::ranges::any_of(block_of(statement).children(), [&](const Node& each) {
        return mentions(each, round) && std::ranges::any_of(names, [&each](std::string_view name) {
                   return mentions(each, name) && (declares(each, name) || changes(each, name));
               });
    });
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
    if (!memory || !only_kernels_use(loop, memory.text(), call))
        return {.refused = "the loop uses the memory in other ways than by kernels"};
    const std::vector<std::string> assumes{
        fmt::format("the host does not touch {} while the loop runs", memory.text())};
    if (std::ranges::any_of(arguments(call), &counts))
        return {.refused = "what it prefetches may change from round to round"};
    std::set<std::string_view> memory_names, others;
    for (std::size_t i = 0; i < arguments(call).size(); ++i)
        (i < 2 ? memory_names : others).merge(names_in(arguments(call)[i]));
    memory_names.erase(memory.text());
    const bool moves = differ({memory.text()}, loop, Changed::itself, call) ||
                       differ(memory_names, loop, Changed::any_part, call);
    const bool holds_before = !moves && !differ(others, loop, Changed::any_part, call) &&
                              !differ(names_in(statement), loop, Changed::itself, call);
    if (holds_before) {
        const std::size_t at = line_begin(text, loop.begin());
        return {.edits = {{at, at, lines_of(text, statement, indent_at(text, loop.begin()))},
                          without_lines(text, statement)},
                .assumes = assumes};
    }
    const std::string_view round = counter_of(loop);
    if (moves || round.empty() || statement.kind() != "expression_statement" || others.contains(round) ||
        depend_on(others, round, statement))
        return {.refused = "what it prefetches may change from round to round"};
    return {.edits = {{statement.begin(), statement.begin(), fmt::format("if ({} == 0) {{ ", round)},
                      {statement.end(), statement.end(), " }"}},
            .assumes = assumes};
}

} // namespace umadvisor::patch
