/// A loop that prefetches slice after slice becomes one call for the range.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"
#include "analyzer/patch/uses.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace umadvisor::patch {
namespace {

/// "for (T at = 0; at < end; at += step)".
struct Steps {
    std::string_view at, end, step;
};

Steps steps_of(const Node& loop) {
    const Node begin = loop.field("initializer"), test = loop.field("condition"), next = loop.field("update");
    if (begin.kind() != "declaration" || begin.children().size() != 2 || test.kind() != "binary_expression" ||
        test.field("operator").text() != "<" || next.kind() != "assignment_expression" ||
        next.field("operator").text() != "+=")
        return {};
    const Node variable = begin.children().back();
    const std::string_view at = declared_by(variable).text();
    if (variable.field("value").text() != "0" || test.field("left").text() != at ||
        next.field("left").text() != at)
        return {};
    return {at, test.field("right").text(), next.field("right").text()};
}

/// Returns whether the pointer counts bytes: it is cast to char where it is used.
bool counts_bytes(const Node& pointer) {
    constexpr std::array<std::string_view, 6> bytes{"char*",         "unsigned char*", "uint8_t*",
                                                    "std::uint8_t*", "std::byte*",     "const char*"};
    Node cast = pointer;
    while (cast.kind() == "parenthesized_expression" && cast.children().size() == 1)
        cast = cast.children().front();
    std::string type(cast.kind() == "cast_expression" ? cast.field("type").text() : "");
    std::erase(type, ' ');
    return std::ranges::any_of(bytes, [&type](std::string_view each) {
        std::string wanted(each);
        std::erase(wanted, ' ');
        return type == wanted;
    });
}

/// The pointer as one call gets it: without the cast where it is a pointer variable.
std::string_view whole_range(const Node& pointer) {
    const Node inner = plain(pointer);
    const std::vector<Node> declared = declarations_of(function_of(pointer), inner.text());
    const bool variable = inner.kind() == "identifier" && pointer.text().find('&') == std::string_view::npos &&
                          declared.size() == 1 && declared[0].text().find('*') != std::string_view::npos;
    return variable ? inner.text() : pointer.text();
}

} // namespace

Draft join_prefetches(const Request& request) {
    const Node call = only_call(request.source, request.finding.line.place.line, "cudaMemPrefetchAsync");
    const std::vector<Node> around = call ? loops_around(call) : std::vector<Node>();
    const Node statement = call ? statement_of(call).whole : Node();
    if (around.empty() || statement.kind() != "expression_statement" ||
        called_name(call) != "cudaMemPrefetchAsync")
        return {.refused = "its prefetch is no statement of a loop"};
    const Node loop = around.front();
    const Node body = loop.field("body");
    const bool alone = body == statement || (body.children().size() == 1 && body.children()[0] == statement);
    const Steps steps = steps_of(loop);
    const std::vector<Node> given = arguments(call);
    if (!alone || steps.at.empty() || given.size() < 3 || given[0].kind() != "binary_expression")
        return {.refused = "its loop does more than prefetch slices of equal size"};
    const Node pointer = given[0].field("left");
    if (given[0].field("operator").text() != "+" || given[0].field("right").text() != steps.at ||
        given[1].text() != steps.step || !counts_bytes(pointer))
        return {.refused = "its slices do not lie one behind the other"};
    if (has_effect(loop.field("condition")) || has_effect(given[1]) || has_effect(pointer))
        return {.refused = "its slices do not lie one behind the other"};
    for (std::size_t i = 2; i < given.size(); ++i)
        if (names_in(given[i]).contains(steps.at) || counts(given[i]) || (i > 2 && has_effect(given[i])))
            return {.refused = "its slices go to different places"};
    if (!is_alone(request.source.text(), loop))
        return {.refused = "its loop shares a line with other code, or has a pragma"};
    std::string whole = fmt::format("cudaMemPrefetchAsync({}, {}", whole_range(pointer), steps.end);
    for (std::size_t i = 2; i < given.size(); ++i)
        whole += fmt::format(", {}", given[i].text());
    return {.edits = {{loop.begin(), loop.end(), checked(whole + ")", statement_of(call).wrapper)}}};
}

} // namespace umadvisor::patch
