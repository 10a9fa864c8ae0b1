/// Calls that fail because they are the wrong ones for what they are given.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace umadvisor::patch {
namespace {

/// Whether the function gets this memory from malloc and from nowhere else.
bool is_from_malloc(const Node& function, std::string_view name) {
    bool allocated = false, otherwise = false;
    function.walk([&](const Node& node) {
        const std::string_view kind = node.kind();
        const bool assigned = kind == "assignment_expression" && plain(node.field("left")).text() == name;
        const bool made = kind == "init_declarator" && declared_by(node).text() == name;
        if (!assigned && !made)
            return true;
        const Node value = plain(node.field(assigned ? "right" : "value"));
        const bool malloc = value.kind() == "call_expression" &&
                            (called_name(value) == "malloc" || called_name(value) == "calloc");
        allocated |= malloc;
        otherwise |= !malloc && value.text() != "NULL" && value.text() != "nullptr" && value.text() != "0";
        return true;
    });
    for (const std::string_view call : {"cudaMalloc", "cudaMallocManaged", "cudaMallocHost", "cudaHostAlloc"})
        for (const Node& made : calls_of(function, call))
            otherwise |= !arguments(made).empty() && plain(arguments(made).front()).text() == name;
    return allocated && !otherwise;
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
        const std::string_view name = function && arguments(call).size() == 1
                                          ? plain(arguments(call).front()).text()
                                          : std::string_view();
        if (name.empty() || !is_from_malloc(function, name))
            return {.refused = "the source does not show which call is right for what its call gets"};
        for (const Node& freed : calls_of(function, "free"))
            if (arguments(freed).size() == 1 && plain(arguments(freed).front()).text() == name)
                return {.refused = fmt::format("{} is freed at another line, too", name)};
        const Statement statement = statement_of(call);
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
