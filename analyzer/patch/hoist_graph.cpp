/// A graph that each round captures and instantiates alike is made before the loop, and destroyed behind it.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"
#include "analyzer/patch/uses.hpp"

#include <algorithm>
#include <array>
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

/// Returns whether the statement calls nothing but CUDA, so that it is only the graph that it makes.
bool makes_only_a_graph(const Node& statement) {
    bool only = true;
    statement.walk([&](const Node& node) {
        if (node.kind() == "call_expression" && launch_configuration(node).empty()) {
            const bool checks = arguments(node).size() == 1 && arguments(node)[0].kind() == "call_expression";
            only &= checks || called_name(node).starts_with("cudaGraph") ||
                    called_name(node).starts_with("cudaStream");
        }
        constexpr std::array<std::string_view, 7> others{
            "return_statement", "break_statement",       "goto_statement",   "continue_statement",
            "throw_statement",  "assignment_expression", "lambda_expression"};
        only &= std::ranges::find(others, node.kind()) == others.end() &&
                (node.kind() != "update_expression" || declares(statement, node.field("argument").text()));
        return only;
    });
    return only;
}

/// Returns whether the steps read no more of the variable than the address in it.
bool is_address(const Node& function, const std::vector<Node>& steps, std::string_view name) {
    const std::vector<Node> declared = declarations_of(function, name);
    bool address = declared.size() == 1 && declared[0].text().find('*') != std::string_view::npos;
    for (const Node& step : steps)
        for (const Node& use : uses_of(step, name))
            address &= static_cast<bool>(receiver_of(value_around(use)));
    return address;
}

/// Returns whether the rest of the loop may give the variable another value: the code does, or a function may.
bool may_differ(const Node& loop, const std::vector<Node>& steps, std::string_view name,
                const std::vector<Node>& except) {
    const Node function = function_of(loop);
    const Changed part = is_address(function, steps, name) ? Changed::itself : Changed::any_part;
    if (declares(loop, name) || changes(loop, name, part, except) || gives_away(loop, name, except))
        return true;
    if (declares(function, name) || name.starts_with("cuda"))
        return false;
    // Of another function: a function that the loop calls may change it, where the file does not show a
    // constant.
    Node root = loop;
    while (root.parent())
        root = root.parent();
    const std::vector<Node> declared = declarations_of(root, name);
    const bool variable = std::ranges::any_of(
        declared, [](const Node& each) { return each.text().find("const") == std::string_view::npos; });
    return (variable || name.ends_with('_') || name.starts_with("m_")) &&
           std::ranges::any_of(calls_of(loop), [](const Node& call) {
               const bool checks = arguments(call).size() == 1 && is_of_cuda(arguments(call)[0]);
               return !checks && !is_of_cuda(call);
           });
}

/// Returns whether the loop does more with the graph than to launch it.
bool changes_graph(const Node& loop, std::string_view name, const std::vector<Node>& except) {
    return std::ranges::any_of(uses_of(loop, name), [&](const Node& use) {
        const Node call = receiver_of(value_around(use));
        return std::ranges::none_of(except, [&use](const Node& each) { return holds(each, use); }) &&
               !(call && (called_name(call) == "cudaGraphLaunch" || called_name(call) == "cudaGraphUpload"));
    });
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
    std::vector<Node> steps = steps_of_graph(block, made);
    std::erase_if(steps, [&text](const Node& step) { // behind a statement: it goes with that
        return step.kind() == "comment" && !is_alone(text, step);
    });
    if (!destroy || block_of(destroy) != block || steps.empty() || plain(arguments(ended)[0]).text() != name ||
        declares(loop, name) || leaves_early(loop) || !block_of(loop) || !is_alone(text, loop) ||
        !is_alone(text, destroy) || steps.back().end() > destroy.begin())
        return {.refused = "its graph is not made and destroyed in the block of one loop"};
    std::vector<Node> except = steps;
    except.push_back(destroy);
    if (changes_graph(loop, name, except))
        return {.refused = "its graph is used for more than launches in the loop"};
    std::set<std::string_view> used;
    for (const Node& step : steps) {
        if (!makes_only_a_graph(step) || !is_alone(text, step))
            return {.refused = "more is done while its graph is made"};
        used.merge(names_in(step));
    }
    used.merge(names_in(destroy));
    for (const std::string_view each : used) {
        bool own = false;
        for (const Node& step : steps)
            own |= declares(step, each);
        if (own && declarations_of(function_of(loop), each).size() > 1)
            return {.refused = fmt::format("the function has several variables {}", each)};
        if (own ? std::ranges::any_of(block.children(),
                                      [&](const Node& node) {
                                          return std::ranges::find(except, node) == except.end() &&
                                                 mentions(node, each);
                                      })
                : each != name && may_differ(loop, steps, each, except))
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
