/// Work that nothing orders behind other work waits for it.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"
#include "analyzer/patch/uses.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace umadvisor::patch {
namespace {

/// The only launch, copy or memory set of the line.
Node work_at(const Syntax& source, int line) {
    Node found;
    for (const Node& call : calls_at(source, line)) {
        if (stream_of(call).empty())
            continue;
        if (found)
            return {};
        found = call;
    }
    return found;
}

/// Returns whether the host does not go on before the call's work is done.
bool blocks(const Node& call) {
    const std::string_view name = called_name(call);
    return name == "cudaMemcpy" || name == "cudaMemcpy2D";
}

/// An event behind `first`, on its stream, for which the stream of the later work waits. The host does not.
std::string wait_by_event(const std::string& first, const std::string& later, std::string_view wrapper,
                          const std::string& indent, const std::string& step) {
    std::string block = indent + "{\n" + indent + step + "cudaEvent_t done;\n";
    for (const std::string& call :
         {std::string("cudaEventCreateWithFlags(&done, cudaEventDisableTiming)"),
          fmt::format("cudaEventRecord(done, {})", first),
          fmt::format("cudaStreamWaitEvent({}, done, 0)", later), std::string("cudaEventDestroy(done)")})
        block += indent + step + checked(call, wrapper) + "\n";
    return block + indent + "}\n";
}

/// Returns whether the stream, as the source writes it, is the same all over the statement `place` and beside
/// it, and not hidden by the event of a wait.
bool is_fixed_at(const std::string& stream, const Node& place) {
    const Syntax code("f(" + stream + ");", Grammar::cuda);
    return calls_of(code.root()).size() == 1 &&
           std::ranges::all_of(names_in(code.root()), [&place](std::string_view name) {
               return name != "done" && is_there(name, place) && !declares(place, name) &&
                      !changes(place, name);
           });
}

/// Returns whether the stream of `from` is the same at the statement `place`, whichever rounds of loops both
/// are in.
bool is_known_at(const std::string& stream, const Node& from, const Node& place) {
    const Node function = function_of(place);
    if (!function || !(function == function_of(from)) || !is_fixed_at(stream, place))
        return false;
    std::vector<Node> loops = loops_around(from);
    const bool again = std::ranges::any_of(loops, [&place](const Node& loop) { return holds(loop, place); });
    if (from.begin() > place.end() && !again)
        return false;
    for (const Node& loop : loops_around(place))
        loops.push_back(loop);
    const Syntax code("f(" + stream + ");", Grammar::cuda);
    const auto between = [&](const Node& node) {
        return from.end() <= node.begin() && node.end() <= place.begin();
    };
    return std::ranges::all_of(names_in(code.root()), [&](std::string_view name) {
        const auto differs = [name](const Node& node) { return declares(node, name) || changes(node, name); };
        return declarations_of(function, name).size() <= 1 && std::ranges::none_of(loops, differs) &&
               std::ranges::none_of(following(statement_around(from)),
                                    [&](const Node& node) { return between(node) && differs(node); }) &&
               std::ranges::none_of(calls_of(function, "cudaStreamDestroy"), [&](const Node& destroy) {
                   return between(destroy) && mentions(destroy, name);
               });
    });
}

/// Returns whether the statement ends its function or block: what stands behind it is not reached.
bool ends_there(const Node& call, const Node& statement) {
    for (Node outer = call; outer && !(outer == statement.parent()); outer = outer.parent())
        if (outer.kind() == "return_statement" || outer.kind() == "throw_statement" ||
            outer.kind() == "co_return_statement")
            return true;
    return false;
}

/// Before the later of two uses, or where that is in another function behind the first.
Draft order_streams(const Request& request) {
    const std::string& text = request.source.text();
    const advice::ResolvedFinding& finding = request.finding;
    if (finding.others.empty() || finding.others.front().place.file != finding.line.place.file)
        return {.refused = "the work that it has to wait for is in another file"};
    const Node first = work_at(request.source, finding.others.front().place.line);
    if (!first || !statement_around(first))
        return {.refused = "the line of the work that it has to wait for has several calls, or none"};
    const std::string stream = stream_of(first);
    const Node later = work_at(request.source, finding.line.place.line);
    for (const Node& work : {first, later})
        if (work && makes_graph(function_of(work)))
            return {.refused = "its function makes a graph, in which the host may not wait"};
    const Node before = later ? statement_around(later) : Node();
    const bool by_event = later && !blocks(later);
    if (before && is_known_at(stream, first, before) && (!by_event || is_fixed_at(stream_of(later), before))) {
        if (stream == stream_of(later))
            return {.refused =
                        "both are put into the same stream: which other one it is differs from call to call"};
        if (!is_alone(text, before))
            return {.refused = "its statement shares a line with others"};
        const std::string indent = indent_at(text, before.begin());
        const std::string_view wrapper = wrapper_near(later);
        const std::size_t at = line_begin(text, before.begin());
        const std::string wait = fmt::format("cudaStreamSynchronize({})", stream);
        return {.edits = {{at, at,
                           by_event ? wait_by_event(stream, stream_of(later), wrapper, indent,
                                                    indent_step(text, function_of(later)))
                                    : indent + checked(wait, wrapper) + "\n"}}};
    }
    const Node place = statement_around(first);
    if (later && function_of(later) == function_of(first))
        return {.refused = "the stream of the work that it has to wait for is not known at its line"};
    if (!is_fixed_at(stream, place) || ends_there(first, place))
        return {.refused = "the stream of the work that it has to wait for is not known behind it"};
    if (!is_alone(text, place))
        return {.refused = "the work that it has to wait for shares a line with other code"};
    const std::size_t at = line_end(text, place.end());
    return {
        .edits = {{at, at,
                   indent_at(text, place.begin()) +
                       checked(fmt::format("cudaStreamSynchronize({})", stream), wrapper_near(first)) + "\n"}}};
}

/// Returns whether the statement does more with the memory than to give it to CUDA's calls and kernels.
bool touches(const Node& statement, std::string_view memory) {
    return std::ranges::any_of(uses_of(statement, memory), [&](const Node& use) {
        for (Node outer = use.parent(); outer && holds(statement, outer); outer = outer.parent())
            if (outer.kind() == "call_expression" && is_of_cuda(outer))
                return false;
        return !(statement.kind() == "declaration" && declares(statement, memory));
    });
}

/// The wait for the copy: for the event that the next statement records and no other, where the loop has only
/// one, otherwise for all of the stream.
std::string wait_for_copy(const Node& statement, const std::string& stream, const Node& loop) {
    const std::vector<Node> behind = following(statement);
    const std::vector<Node> records = calls_of(function_of(loop), "cudaEventRecord");
    const auto next = std::ranges::find_if(behind, [](const Node& each) { return each.kind() != "comment"; });
    if (next != behind.end())
        for (const Node& record : calls_of(*next, "cudaEventRecord")) {
            const std::string_view event = arguments(record).empty() ? "" : arguments(record)[0].text();
            const auto same = [event](const Node& each) {
                return !arguments(each).empty() && arguments(each)[0].text() == event;
            };
            if (arguments(record).size() == 2 && arguments(record)[1].text() == stream &&
                arguments(record)[0].kind() == "identifier" && !declares(loop, event) &&
                !changes(loop, event) && std::ranges::count_if(records, same) == 1)
                return fmt::format("cudaEventSynchronize({})", event);
        }
    return fmt::format("cudaStreamSynchronize({})", stream);
}

/// Before the statement of the loop by which the host writes the source of the copy again: behind the copy, or
/// in the next round.
Draft wait_before_reuse(const Request& request) {
    const std::string& text = request.source.text();
    const Node copy = only_call(request.source, request.finding.line.place.line, "cudaMemcpy");
    const Node statement = copy ? statement_of(copy).whole : Node();
    const std::vector<Node> around = copy ? loops_around(copy) : std::vector<Node>();
    const Node source = copy && called_name(copy) == "cudaMemcpyAsync" && arguments(copy).size() >= 4
                            ? base_of(arguments(copy)[1])
                            : Node();
    if (!statement || !source || around.empty() || block_of(statement) != around.front().field("body"))
        return {.refused = "its copy is no statement of a loop of its function"};
    const Node loop = around.front();
    const std::string stream = stream_of(copy);
    if (makes_graph(function_of(copy)))
        return {.refused = "its function makes a graph, in which the host may not wait"};
    Node before, behind;
    for (const Node& each : block_of(statement).children())
        if (touches(each, source.text())) {
            Node& first = each.end() <= statement.begin() ? before : behind;
            if (!first && !(each == statement))
                first = each;
        }
    const Node writer = behind ? behind : before;
    if (!writer)
        return {.refused = "the line where the host writes the source again is not in its loop"};
    bool skips = false;
    for (const Node& each : block_of(statement).children())
        each.walk([&](const Node& node) {
            skips |= node.kind() == "continue_statement";
            return !skips;
        });
    if (skips && behind)
        return {.refused = "its loop may go on to the next round before the host writes the source again"};
    if (!is_fixed_at(stream, loop) || !is_alone(text, writer))
        return {.refused = "its stream differs from round to round, or the line of the write has other code"};
    const std::size_t at = line_begin(text, writer.begin());
    return {.edits = {{at, at,
                       indent_at(text, writer.begin()) +
                           checked(wait_for_copy(statement, stream, loop), wrapper_near(copy)) + "\n"}}};
}

} // namespace

Draft wait_for_work(const Request& request) {
    return request.finding.finding.rule->id == "UMA-602" ? wait_before_reuse(request) : order_streams(request);
}

} // namespace umadvisor::patch
