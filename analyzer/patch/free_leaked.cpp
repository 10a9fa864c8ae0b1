/// Memory that a function allocates for itself in each call or round, and never frees, is freed at the end of
/// the block that declares its pointer.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"
#include "analyzer/patch/memory_uses.hpp"
#include "analyzer/patch/uses.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace umadvisor::patch {
namespace {

struct Pair {
    std::string_view allocate, free;
};
constexpr std::array<Pair, 4> pairs{{{"cudaMalloc", "cudaFree"},
                                     {"cudaMallocManaged", "cudaFree"},
                                     {"cudaMallocHost", "cudaFreeHost"},
                                     {"cudaHostAlloc", "cudaFreeHost"}}};

bool has_address(const Node& expression, std::string_view name) {
    bool found = false;
    expression.walk([&](const Node& node) {
        found |=
            node.kind() == "pointer_expression" && node.text().starts_with('&') && plain(node).text() == name;
        return !found;
    });
    return found;
}

/// Returns whether a call but the allocation gets the pointer's address, or frees its memory.
bool is_given_on(const Node& function, const Node& allocation, std::string_view name) {
    return std::ranges::any_of(calls_of(function), [&](const Node& call) {
        const bool frees =
            called_name(call).find("Free") != std::string_view::npos || called_name(call) == "free";
        return call != allocation && std::ranges::any_of(arguments(call), [&](const Node& argument) {
                   return (frees && mentions(argument, name)) ||
                          (has_address(argument, name) && !holds(argument, allocation));
               });
    });
}

/// Returns whether the code behind the allocation may leave the block before its end, or come back to it.
bool leaves_block(const Node& block, const Node& allocation, const Node& last) {
    bool leaves = false;
    block.walk([&](const Node& node) {
        const std::string_view kind = node.kind();
        leaves |= node.begin() > allocation.begin() && node != last &&
                  (kind == "return_statement" || kind == "goto_statement" || kind == "break_statement" ||
                   kind == "continue_statement" || kind == "throw_statement" || kind == "labeled_statement");
        return !leaves && kind != "lambda_expression";
    });
    return leaves;
}

} // namespace

Draft free_leaked(const Request& request) {
    const std::string& text = request.source.text();
    const Node call = only_call(request.source, request.finding.line.place.line, "cuda");
    const auto pair = call ? std::ranges::find(pairs, called_name(call), &Pair::allocate) : pairs.end();
    const Node statement = call ? statement_of(call).whole : Node();
    const Node block = statement ? block_of(statement) : Node(), function = call ? function_of(call) : Node();
    if (pair == pairs.end() || statement.kind() != "expression_statement" || !block || arguments(call).empty())
        return {.refused = "its allocation is no statement of a block"};
    const Node pointer = plain(arguments(call).front());
    const std::string_view name = pointer.text();
    const bool own =
        pointer.kind() == "identifier" && std::ranges::any_of(block.children(), [&](const Node& child) {
            return child.kind() == "declaration" && declares(child, name) && !is_static(child);
        });
    if (!own)
        return {.refused = fmt::format("{} is not declared in the block that allocates its memory", name)};
    if (hands_on(function, name, {call}) || has_other_name(function, name) || is_other_name(function, name) ||
        is_given_on(function, call, name) || changes(block, name, Changed::itself, {call}))
        return {.refused = fmt::format("{} may be kept, or freed, by other code", name)};
    const std::vector<Node> statements = block.children();
    const Node last = statements.back();
    const bool returns = last.kind() == "return_statement";
    if (leaves_block(block, statement, returns ? last : Node()) || (returns && mentions(last, name)) ||
        !is_alone(text, last))
        return {.refused = "its block may be left before its end"};
    const std::size_t at = returns ? line_begin(text, last.begin()) : line_end(text, last.end());
    return {
        .edits = {{at, at,
                   indent_at(text, last.begin()) +
                       checked(fmt::format("{}({})", pair->free, name), statement_of(call).wrapper) + "\n"}},
        .assumes = {fmt::format("no kernel keeps {} in memory that is used later", name)}};
}

} // namespace umadvisor::patch
