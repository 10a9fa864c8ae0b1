/// Calls that a finding names whole are written before or after the statement of their line.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <iterator>
#include <optional>

namespace umadvisor::patch {
namespace {

using rules::EditKind;

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

/// The call that allocated the memory of the finding.
struct Allocation {
    Node call, whole; ///< the call, and the statement that it is
    std::string pointer, bytes;
};

/// Returns whether an argument is the address of a variable, not a pointer to one of the caller's.
bool gives_address(const Node& argument) {
    bool address = false;
    const Node variable = plain(argument);
    for (Node outer = variable.parent(); outer && holds(argument, outer); outer = outer.parent())
        address |= outer.kind() == "pointer_expression";
    return address;
}

std::optional<Allocation> allocation_of(const Request& request) {
    const std::optional<advice::ResolvedPlace>& memory = request.finding.memory;
    if (!memory || memory->place.file != request.finding.line.place.file)
        return std::nullopt;
    std::optional<Allocation> found;
    for (const Node& call : calls_at(request.source, memory->place.line)) {
        if (called_name(call) != "cudaMallocManaged" || arguments(call).size() < 2)
            continue;
        const Node whole = statement_of(call).whole;
        if (found || !whole || !block_of(whole) || whole.kind() != "expression_statement" ||
            !gives_address(arguments(call)[0]) || has_effect(arguments(call)[1]))
            return std::nullopt;
        found = {call, whole, std::string(plain(arguments(call)[0]).text()),
                 std::string(arguments(call)[1].text())};
    }
    return found;
}

/// The outermost statement around `at` that has none of the other lines that the call must stand behind, so
/// that the call is made once. Null: it cannot stand there, since the loop changes what it names.
Node outermost(const Request& request, const Node& at, std::string_view call,
               const std::optional<Allocation>& allocation) {
    const Syntax code(std::string(call), Grammar::cuda);
    const bool waits = request.finding.finding.rule->id == "UMA-601";
    const bool reads_back = request.finding.finding.rule->id == "UMA-205";
    Node place = at;
    for (const Node& loop : loops_around(at)) {
        const bool needed_inside = std::ranges::any_of(request.finding.others, [&](const auto& other) {
            return other.place.file == request.finding.line.place.file &&
                   other.place.line >= loop.first_line() && other.place.line <= loop.last_line() &&
                   other.what.starts_with("the host") != waits;
        });
        const bool hidden = std::ranges::any_of(names_in(code.root()), [&](std::string_view name) {
            return declares(loop, name) ||
                   changes(loop, name, reads_back ? Changed::itself : Changed::any_part);
        });
        if (needed_inside || (allocation && holds(loop, allocation->whole)))
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
        if (other.what.starts_with("the host") && other.place.file == request.finding.line.place.file &&
            other.place.line < place.first_line())
            for (const Node& statement : block.children())
                if (statement.kind() != "comment" && statement.first_line() <= other.place.line &&
                    other.place.line <= statement.last_line())
                    place = statement;
    return place;
}

/// A call and the statement that it is inserted beside.
struct Insertion {
    Node beside;
    bool before = true;
    std::string call{};
};

/// The lines of the file through which the edit's line was reached, its own first.
std::vector<int> lines_above(const Request& request, std::size_t number) {
    const symbols::CodePlace& own = request.finding.remedy[number].at.place;
    std::vector<int> lines{own.line};
    if (number < request.remedy_stacks.size())
        for (const symbols::CodePlace& place : request.remedy_stacks[number])
            if (place.file == own.file)
                lines.push_back(place.line);
    return lines;
}

/// Returns whether the call means the same at `at` as where its memory was allocated.
bool is_meant_at(const Request& request, const Node& at, const std::string& call) {
    const Syntax code(call, Grammar::cuda);
    return !has_placeholder(request.source, at, call) &&
           std::ranges::all_of(names_in(code.root()),
                               [&at](std::string_view name) { return is_there(name, at); });
}

/// Returns whether the statement is of branches that the call would stand before, also where they are not run.
bool is_chosen(const Node& statement) {
    return statement.kind() == "if_statement" || statement.kind() == "switch_statement";
}

/// The call in the words of its allocation: at the line itself, or where the function of the allocation calls
/// what leads there; and for what only kernels touch also directly behind the allocation.
std::vector<Insertion> by_allocation(const Request& request, std::size_t number, const Allocation& allocation) {
    const advice::ResolvedEdit& edit = request.finding.remedy[number];
    std::string call = edit.text;
    constexpr std::string_view unknown = "ptr, bytes";
    if (const std::size_t at = call.find(unknown); at != std::string::npos)
        call.replace(at, unknown.size(), allocation.pointer + ", " + allocation.bytes);
    const Node function = function_of(allocation.call);
    if (edit.kind != EditKind::insert_before || !function)
        return {};
    const std::vector<Node> behind = following(allocation.whole);
    const auto stays = [&](const Node& named) {
        return std::ranges::none_of(names_in(named), [&](std::string_view name) {
            return std::ranges::any_of(behind, [&](const Node& node) {
                return changes(node, name, Changed::itself) || declares(node, name) ||
                       changes(node, allocation.pointer, Changed::itself);
            });
        });
    };
    std::vector<Insertion> found;
    for (const int line : lines_above(request, number)) {
        const Node statement = statement_at(request.source, line);
        if (statement && statement.begin() >= allocation.whole.end() && function_of(statement) == function &&
            !is_chosen(statement) && holds(block_of(allocation.whole), statement) && stays(allocation.call) &&
            is_meant_at(request, statement, call))
            found.push_back({statement, true, call});
    }
    const Syntax code(call, Grammar::cuda);
    if (request.finding.finding.rule->id == "UMA-214" && stays(code.root()) &&
        is_meant_at(request, allocation.whole, call))
        found.push_back({allocation.whole, false, call});
    return found;
}

/// Returns whether the host's reads are known, so that what stands behind a loop stands before them.
bool reads_are_known(const Request& request) {
    return std::ranges::any_of(request.finding.others, [&](const advice::ResolvedPlace& other) {
        return other.what.starts_with("the host") && other.place.file == request.finding.line.place.file &&
               other.place.line > request.finding.line.place.line;
    });
}

/// One line with the call, or why there is none.
Draft insert(const Request& request, const Insertion& insertion, const std::optional<Allocation>& allocation) {
    const std::string& text = request.source.text();
    const auto& [beside, before, named] = insertion;
    const bool behind_allocation = allocation && beside == allocation->whole;
    if (!before && !behind_allocation && !loops_around(beside).empty() && !reads_are_known(request))
        return {.refused = "it belongs behind a loop, before the wait that the host's read needs"};
    Node place = behind_allocation ? beside : outermost(request, beside, named, allocation);
    if (!place)
        return {.refused = "it belongs before a loop that may change its memory or size"};
    if (request.finding.finding.rule->id == "UMA-601")
        place = first_read(request, place);
    if (!is_alone(text, place))
        return {.refused = "its statement shares a line with others"};
    const std::string call = checked(named, wrapper_near(beside));
    const std::size_t at = before ? line_begin(text, place.begin()) : line_end(text, place.end());
    return {.edits = {{at, at, indent_at(text, place.begin()) + call + "\n"}}};
}

} // namespace

Draft insert_calls(const Request& request) {
    Draft draft;
    const std::optional<Allocation> allocation = allocation_of(request);
    for (std::size_t number = 0; number < request.finding.remedy.size(); ++number) {
        const advice::ResolvedEdit& edit = request.finding.remedy[number];
        if (edit.kind != EditKind::insert_before && edit.kind != EditKind::insert_after)
            return {.refused = "its remedy is in words"};
        const Node statement = statement_at(request.source, edit.at.place.line);
        if (!statement)
            return {.refused = "no statement of a block stands at its line"};
        std::vector<Insertion> insertions;
        if (!has_placeholder(request.source, statement, edit.text))
            insertions.push_back({statement, edit.kind == EditKind::insert_before, edit.text});
        if (allocation)
            std::ranges::move(by_allocation(request, number, *allocation), std::back_inserter(insertions));
        Draft line{.refused = "the source does not show which memory, size or stream it is at that line"};
        for (std::size_t i = 0; i < insertions.size() && !line.refused.empty(); ++i)
            line = insert(request, insertions[i], allocation);
        if (!line.refused.empty())
            return line;
        draft.edits.insert(draft.edits.end(), line.edits.begin(), line.edits.end());
    }
    return draft;
}

} // namespace umadvisor::patch
