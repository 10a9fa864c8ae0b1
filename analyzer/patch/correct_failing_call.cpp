/// Calls that fail because they are the wrong ones for what they are given.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"
#include "analyzer/patch/uses.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace umadvisor::patch {
namespace {

/// The call by which the function allocates the memory of its variable, malloc or calloc, where that is all
/// that the variable ever points to; null otherwise.
Node malloc_of(const Node& function, std::string_view name) {
    const std::vector<Node> declared = declarations_of(function, name);
    if (declared.size() != 1 || declared[0].kind() != "declaration" || is_static(declared[0]))
        return {};
    Node allocated;
    bool otherwise = false;
    function.walk([&](const Node& node) {
        const std::string_view kind = node.kind();
        const bool assigned = kind == "assignment_expression" && plain(node.field("left")).text() == name;
        const bool made = kind == "init_declarator" && declared_by(node).text() == name;
        otherwise |= kind == "pointer_expression" && node.text().starts_with('&') &&
                     plain(node.field("argument")).text() == name;
        if (!assigned && !made)
            return true;
        Node value = plain(node.field(assigned ? "right" : "value"));
        if (called_name(value) == "static_cast" && arguments(value).size() == 1)
            value = plain(arguments(value).front());
        const bool malloc = value.kind() == "call_expression" &&
                            (called_name(value) == "malloc" || called_name(value) == "calloc");
        otherwise |= (malloc && allocated) ||
                     (!malloc && value.text() != "NULL" && value.text() != "nullptr" && value.text() != "0");
        if (malloc)
            allocated = value;
        return true;
    });
    return otherwise ? Node() : allocated;
}

/// Why the memory cannot be freed by this call alone; empty: it can.
std::string why_not_freed(const Node& function, std::string_view name, const Node& free) {
    const Node allocated = malloc_of(function, name);
    if (!allocated)
        return "the source does not show which call is right for what its call gets";
    if (loops_around(allocated) != loops_around(free))
        return fmt::format("{} is allocated once, and freed in each round", name);
    for (const Node& call : calls_of(function))
        for (const Node& argument : arguments(call)) {
            if (plain(argument).text() != name)
                continue;
            const std::string_view called = called_name(call);
            if (!(call == free) && (called == "free" || called.starts_with("cudaFree")))
                return fmt::format("{} is freed at another line, too", name);
            if (!launch_configuration(call).empty() || called == "cudaHostRegister")
                return fmt::format("{} is used by kernels, or page-locked", name);
        }
    bool deleted = false;
    function.walk([&](const Node& node) {
        deleted |= node.kind() == "delete_expression" && mentions(node, name);
        return !deleted;
    });
    if (deleted || hands_on(function, name))
        return fmt::format("{} is given to something else, which may free it", name);
    return {};
}

/// What malloc allocated is freed by free.
Draft free_by_free(const Request& request) {
    std::vector<int> lines{request.finding.line.place.line};
    for (const advice::ResolvedPlace& other : request.finding.others)
        if (other.what == "fails here, too")
            lines.push_back(other.place.line);
    Draft draft;
    for (const int line : lines) {
        const Node call = only_call(request.source, line, "cudaFree");
        const Node function = call ? function_of(call) : Node();
        const Statement statement = call ? statement_of(call) : Statement();
        if (!function || !statement.whole || arguments(call).size() != 1 ||
            plain(arguments(call).front()).kind() != "identifier")
            return {.refused = "its call is no statement of its own that frees a variable"};
        const std::string_view name = plain(arguments(call).front()).text();
        if (std::string why = why_not_freed(function, name, call); !why.empty())
            return {.refused = std::move(why)};
        const Node whole = statement.wrapper.empty() ? call : call.parent().parent();
        draft.edits.push_back({whole.begin(), whole.end(), fmt::format("free({})", name)});
    }
    return draft;
}

/// A capture that does not forbid other threads what they do.
Draft capture_one_thread(const Request& request) {
    for (const advice::ResolvedPlace& other : request.finding.others) {
        const Node call = only_call(request.source, other.place.line, "cudaStreamBeginCapture");
        if (call && arguments(call).size() == 2 && other.place.file == request.finding.line.place.file) {
            const Node mode = arguments(call)[1];
            if (mode.text().ends_with("Relaxed") || mode.text().ends_with("ThreadLocal"))
                return {.refused = "its capture does not forbid other threads anything"};
            return {.edits = {{mode.begin(), mode.end(), "cudaStreamCaptureModeThreadLocal"}}};
        }
    }
    return {.refused = "the line where its capture begins is not known"};
}

} // namespace

Draft correct_failing_call(const Request& request) {
    const bool captured =
        request.finding.finding.advice.find("cudaStreamCaptureModeThreadLocal") != std::string::npos;
    return captured ? capture_one_thread(request) : free_by_free(request);
}

} // namespace umadvisor::patch
