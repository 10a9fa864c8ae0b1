/// A graph that each round captures and instantiates alike is made before the loop, and destroyed behind it.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace umadvisor::patch {
namespace {

/// The statements of the loop's block from the first that makes the graph to the last that needs it: one, where
/// a condition holds them all.
std::vector<Node> steps_of_graph(const Node& block, const Node& instantiate) {
    const std::vector<Node> all = block.children();
    const auto has = [](const Node& node, std::string_view name) { return !calls_of(node, name).empty(); };
    std::size_t first = all.size(), last = all.size();
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (first == all.size() && (has(all[i], "cudaStreamBeginCapture") || has(all[i], "cudaGraphCreate")))
            first = i;
        if (holds(all[i], instantiate) || (last != all.size() && has(all[i], "cudaGraphDestroy")))
            last = i;
    }
    if (first >= all.size() || last >= all.size() || last < first)
        return {};
    while (first > 0 && all[first - 1].kind() == "declaration" &&
           all[first - 1].text().starts_with("cudaGraph_t"))
        --first;
    return {all.begin() + static_cast<std::ptrdiff_t>(first),
            all.begin() + static_cast<std::ptrdiff_t>(last) + 1};
}

/// Whether the statement calls nothing but CUDA, so that it is only the graph that it makes.
bool makes_only_a_graph(const Node& statement) {
    bool only = true;
    statement.walk([&only](const Node& node) {
        if (node.kind() == "call_expression" && launch_configuration(node).empty()) {
            const bool checks = arguments(node).size() == 1 && arguments(node)[0].kind() == "call_expression";
            only &= checks || called_name(node).starts_with("cudaGraph") ||
                    called_name(node).starts_with("cudaStream");
        }
        only &= node.kind() != "return_statement" && node.kind() != "assignment_expression";
        return only;
    });
    return only;
}

} // namespace

Draft hoist_graph(const Request& request) {
    const std::string& text = request.source.text();
    const Node made = only_call(request.source, request.finding.line.place.line, "cudaGraphInstantiate");
    Node ended;
    for (const advice::ResolvedPlace& other : request.finding.others)
        if (!ended)
            ended = only_call(request.source, other.place.line, "cudaGraphExecDestroy");
    const std::vector<Node> around = made ? loops_around(made) : std::vector<Node>();
    if (!ended || around.empty() || arguments(made).empty())
        return {.refused = "its graph is made and destroyed in different functions, or in no loop"};
    const Node loop = around.front(), block = loop.field("body");
    const Node destroy = statement_of(ended).whole;
    const std::string_view name = plain(arguments(made)[0]).text();
    const std::vector<Node> steps = steps_of_graph(block, made);
    if (!destroy || block_of(destroy) != block || steps.empty() || plain(arguments(ended)[0]).text() != name ||
        declares(loop, name) || leaves_early(loop) || !block_of(loop) || !is_alone(text, loop) ||
        !is_alone(text, destroy) || steps.back().end() > destroy.begin())
        return {.refused = "its graph is not made and destroyed in the block of one loop"};
    std::vector<Node> except = steps;
    except.push_back(destroy);
    std::set<std::string_view> used;
    for (const Node& step : steps) {
        if (!makes_only_a_graph(step) || !is_alone(text, step))
            return {.refused = "more is done while its graph is made"};
        used.merge(names_in(step));
    }
    for (const std::string_view each : used) {
        bool own = false;
        for (const Node& step : steps)
            own |= declares(step, each);
        if (own ? std::ranges::any_of(block.children(),
                                      [&](const Node& node) {
                                          return std::ranges::find(except, node) == except.end() &&
                                                 mentions(node, each);
                                      })
                : each != name && (declares(loop, each) || changes(loop, each, Changed::itself, except)))
            return {.refused = fmt::format("{} may change from round to round, or is used in the loop", each)};
    }
    Draft draft;
    const std::string indent = indent_at(text, loop.begin());
    std::string before;
    for (const Node& step : steps) {
        before += lines_of(text, step, indent);
        draft.edits.push_back(without_lines(text, step));
    }
    const std::size_t begin = line_begin(text, loop.begin()), end = line_end(text, loop.end());
    draft.edits.push_back({begin, begin, before});
    draft.edits.push_back(without_lines(text, destroy));
    draft.edits.push_back({end, end, lines_of(text, destroy, indent)});
    draft.assumes.push_back("the work that the graph has does not differ from round to round");
    return draft;
}

} // namespace umadvisor::patch
