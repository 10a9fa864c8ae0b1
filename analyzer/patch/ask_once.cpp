/// A function that asks the driver in each call keeps what it was answered.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace umadvisor::patch {
namespace {

constexpr std::array<std::string_view, 6> queries{"cudaMemGetInfo",         "cudaGetDeviceProperties",
                                                  "cudaDeviceGetAttribute", "cudaDeviceGetPCIBusId",
                                                  "cudaGetDeviceCount",     "cudaDriverGetVersion"};

/// The declaration of the function's own that has all variables which the call fills in; null: there is none.
Node declaration_of(const Node& function, const Node& call) {
    std::vector<std::string_view> filled;
    for (const Node& argument : arguments(call))
        if (argument.kind() == "pointer_expression" && argument.text().starts_with('&'))
            filled.push_back(argument.field("argument").text());
    for (const Node& child : function.field("body").children())
        if (child.kind() == "declaration" && !filled.empty() && child.end() <= call.begin() &&
            std::ranges::all_of(filled, [&child](std::string_view name) { return declares(child, name); }))
            return child;
    return {};
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
    if (declaration.text().starts_with("static"))
        return {.refused = "what its query fills in is static already"};
    if (mentions(function, "asked"))
        return {.refused = "its function has a variable of the name that the patch needs"};
    for (const Node& each : declaration.children())
        if (const std::string_view name = declared_by(each).text(); !name.empty())
            for (const Node& behind : following(statement))
                if (changes(behind, name))
                    return {.refused = fmt::format("{} is changed after the query", name)};
    // Of the others, the answer depends on the arguments.
    for (const Node& argument : arguments(call))
        if (!argument.text().starts_with('&') && !names_in(argument).empty())
            return {.refused = "its query asks for something else in each call"};
    const std::string indent = indent_at(text, statement.begin());
    const std::size_t at = line_begin(text, statement.begin()), end = line_end(text, statement.end());
    Draft draft;
    draft.edits.push_back({declaration.begin(), declaration.begin(), "static "});
    draft.edits.push_back(
        {at, statement.begin(), indent + "static bool asked = false;\n" + indent + "if (!asked) "});
    draft.edits.push_back({end, end, indent + "asked = true;\n"});
    draft.assumes.push_back("one thread calls the function");
    if (called_name(call) == "cudaMemGetInfo")
        draft.assumes.push_back("the free memory of the first call is good enough for later ones: little is "
                                "allocated or freed between them");
    return draft;
}

} // namespace umadvisor::patch
