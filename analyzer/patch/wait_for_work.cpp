/// Work that nothing orders behind other work waits for it.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"

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

/// Whether the host does not go on before the call's work is done.
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

/// Whether the stream can be named at `at`, and is the same there.
bool is_known_at(const std::string& stream, const Node& from, const Node& at) {
    const Syntax code("f(" + stream + ");", Grammar::cuda);
    const Node function = function_of(at);
    return function && function == function_of(from) &&
           std::ranges::all_of(names_in(code.root()), [&](std::string_view name) {
               return is_there(name, at) &&
                      (from.end() > at.begin() ||
                       std::ranges::none_of(following(statement_around(from)), [&](const Node& node) {
                           return node.end() <= at.begin() && changes(node, name);
                       }));
           });
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
    if (later && statement_around(later) && is_known_at(stream, first, later)) {
        const Node place = statement_around(later);
        if (!is_alone(text, place))
            return {.refused = "its statement shares a line with others"};
        const std::string indent = indent_at(text, place.begin());
        const std::string_view wrapper = wrapper_near(later);
        const std::size_t at = line_begin(text, place.begin());
        const std::string wait = fmt::format("cudaStreamSynchronize({})", stream);
        return {.edits = {{at, at,
                           blocks(later) ? indent + checked(wait, wrapper) + "\n"
                                         : wait_by_event(stream, stream_of(later), wrapper, indent,
                                                         indent_step(text, function_of(later)))}}};
    }
    const Node place = statement_around(first);
    if (later && function_of(later) == function_of(first))
        return {.refused = "the stream of the work that it has to wait for is not known at its line"};
    if (!is_alone(text, place))
        return {.refused = "the work that it has to wait for shares a line with other code"};
    const std::size_t at = line_end(text, place.end());
    return {
        .edits = {{at, at,
                   indent_at(text, place.begin()) +
                       checked(fmt::format("cudaStreamSynchronize({})", stream), wrapper_near(first)) + "\n"}}};
}

/// Before the statement of the loop by which the host writes the source of the copy again.
Draft wait_before_reuse(const Request& request) {
    const std::string& text = request.source.text();
    const Node copy = only_call(request.source, request.finding.line.place.line, "cudaMemcpy");
    const Node statement = copy ? statement_of(copy).whole : Node();
    const std::vector<Node> around = copy ? loops_around(copy) : std::vector<Node>();
    const Node source = copy && arguments(copy).size() >= 4 ? base_of(arguments(copy)[1]) : Node();
    if (!statement || !source || around.empty() || block_of(statement) != around.front().field("body"))
        return {.refused = "its copy is no statement of a loop of its function"};
    const std::string stream = stream_of(copy);
    std::string wait = fmt::format("cudaStreamSynchronize({})", stream);
    const std::vector<Node> behind = following(statement);
    if (!behind.empty())
        for (const Node& record : calls_of(behind.front(), "cudaEventRecord"))
            if (arguments(record).size() == 2 && arguments(record)[1].text() == stream)
                wait = fmt::format("cudaEventSynchronize({})", arguments(record)[0].text());
    for (const Node& writer : block_of(statement).children())
        if (writer.end() <= statement.begin() && changes(writer, source.text())) {
            if (!is_alone(text, writer))
                break;
            const std::size_t at = line_begin(text, writer.begin());
            return {.edits = {
                        {at, at, indent_at(text, writer.begin()) + checked(wait, wrapper_near(copy)) + "\n"}}};
        }
    return {.refused = "the line where the host writes the source again is not in its loop"};
}

} // namespace

Draft wait_for_work(const Request& request) {
    return request.finding.finding.rule->id == "UMA-602" ? wait_before_reuse(request) : order_streams(request);
}

} // namespace umadvisor::patch
