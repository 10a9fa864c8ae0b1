/// A function that asks the driver in each call keeps what it was answered.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"
#include "analyzer/patch/uses.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace umadvisor::patch {
namespace {

constexpr std::array<std::string_view, 6> queries{"cudaMemGetInfo",         "cudaGetDeviceProperties",
                                                  "cudaDeviceGetAttribute", "cudaDeviceGetPCIBusId",
                                                  "cudaGetDeviceCount",     "cudaDriverGetVersion"};

/// The variables that the call fills in.
std::vector<std::string_view> filled_by(const Node& call) {
    std::vector<std::string_view> filled;
    for (const Node& argument : arguments(call))
        if (argument.kind() == "pointer_expression" && argument.text().starts_with('&'))
            filled.push_back(argument.field("argument").text());
    return filled;
}

/// The declaration of the function's own that has all variables which the call fills in, and no others; null:
/// there is none.
Node declaration_of(const Node& function, const Node& call) {
    const std::vector<std::string_view> filled = filled_by(call);
    for (const Node& child : function.field("body").children()) {
        if (child.kind() != "declaration" || filled.empty() || child.end() > call.begin())
            continue;
        const bool all = std::ranges::all_of(
            filled, [&child](std::string_view name) { return declarations_of(child, name).size() == 1; });
        std::size_t variables = 0;
        for (const Node& each : child.children())
            variables += declared_by(each) ? 1 : 0;
        if (all && variables == filled.size() && !has_effect(child))
            return child;
    }
    return {};
}

/// Returns whether the argument may be another one in the next call.
bool differs(const Node& argument) {
    return has_effect(argument) || std::ranges::any_of(names_in(argument), [](std::string_view name) {
               return !name.starts_with("cudaDevAttr");
           });
}

/// Returns whether the function makes the answer another one, or asks several times.
bool influences(const Node& function, const Node& query) {
    return std::ranges::any_of(calls_of(function), [&query](const Node& call) {
        const std::string_view name = called_name(call);
        const bool other = !(call == query) && std::ranges::find(queries, name) != queries.end();
        return other || name.starts_with("cudaSetDevice") ||
               (called_name(query) == "cudaMemGetInfo" &&
                (name.starts_with("cudaMalloc") || name.starts_with("cudaFree")));
    });
}

} // namespace

Draft ask_once(const Request& request) {
    const std::string& text = request.source.text();
    const Node call = only_call(request.source, request.finding.line.place.line, "cuda");
    const Node function = call ? function_of(call) : Node();
    const Node statement = call ? statement_of(call).whole : Node();
    if (!function || std::ranges::find(queries, called_name(call)) == queries.end())
        return {.refused = "its query is not one whose answer can be kept"};
    const Node declaration = declaration_of(function, call);
    if (!statement || statement.kind() != "expression_statement" || !declaration ||
        block_of(statement) != function.field("body") || !is_alone(text, statement))
        return {.refused = "what its query fills in is not declared beside it, in a function of its own"};
    if (is_static(declaration))
        return {.refused = "what its query fills in is static already"};
    if (influences(function, call))
        return {.refused = "its function changes what the driver answers, or asks several times"};
    if (called_name(call) == "cudaMemGetInfo" && request.device.empty())
        return {.refused = "the run used several devices, and each has memory of its own"};
    if (mentions(function, "asked"))
        return {.refused = "its function has a variable of the name that the patch needs"};
    for (const std::string_view name : filled_by(call))
        if (changes(function, name, Changed::any_part, {statement}) || gives_away(function, name, {statement}))
            return {.refused = fmt::format("{} may be changed by more than the query", name)};
    // Of the others, the answer depends on the arguments.
    for (const Node& argument : arguments(call))
        if (!argument.text().starts_with('&') && differs(argument))
            return {.refused = "its query asks for something else in each call"};
    const std::string indent = indent_at(text, statement.begin());
    const std::size_t at = line_begin(text, statement.begin()), end = line_end(text, statement.end());
    Draft draft;
    draft.edits.push_back({declaration.begin(), declaration.begin(), "static "});
    const std::string step = indent + indent_step(text, function);
    draft.edits.push_back({at, end,
                           indent + "static bool asked = false;\n" + indent + "if (!asked) {\n" +
                               lines_of(text, statement, step) + step + "asked = true;\n" + indent + "}\n"});
    draft.assumes.push_back("one thread calls the function");
    if (called_name(call) == "cudaMemGetInfo")
        draft.assumes.push_back("the free memory of the first call is good enough for later ones: little is "
                                "allocated or freed between them");
    return draft;
}

} // namespace umadvisor::patch
