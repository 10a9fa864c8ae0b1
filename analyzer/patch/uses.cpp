#include "analyzer/patch/uses.hpp"

#include "analyzer/patch/code.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>

namespace umadvisor::patch {
namespace {

bool is_cast(const Node& call) {
    return call.kind() == "call_expression" &&
           call.field("function").text().substr(0, 20).find("_cast<") != std::string_view::npos;
}

/// Functions of the standard library that neither keep nor change a variable that they get by value.
bool is_harmless(const Node& call) {
    constexpr std::array<std::string_view, 7> harmless{"printf", "fprintf", "min",   "max",
                                                       "memset", "memcpy",  "assert"};
    return std::ranges::find(harmless, called_name(call)) != harmless.end();
}

/// What becomes of a variable where it is used.
enum class Handed : std::uint8_t { no, copied, given };

Handed handed(const Node& use) {
    constexpr std::array<std::string_view, 6> keepers{"argument_list",  "initializer_list",
                                                      "new_expression", "lambda_capture_specifier",
                                                      "parameter_list", "parameter_declaration"};
    const Node value = value_around(use), outer = value.parent();
    if (const Node call = receiver_of(value))
        return is_of_cuda(call) || is_harmless(call) ? Handed::no : Handed::given;
    if (outer.kind() == "init_declarator" && outer.field("value") == value)
        return outer.text().find('&') < outer.text().find('=') ? Handed::given : Handed::copied;
    if (outer.kind() == "return_statement" ||
        (outer.kind() == "assignment_expression" && outer.field("right") == value))
        return Handed::copied;
    const bool keeps = std::ranges::find(keepers, outer.kind()) != keepers.end();
    return keeps && !(declared_by(outer) == use) ? Handed::given
                                                 : Handed::no; // but a parameter's own declaration
}

bool handed_on(const Node& where, std::string_view name, const std::vector<Node>& except,
               std::initializer_list<Handed> ways) {
    return std::ranges::any_of(uses_of(where, name), [&](const Node& use) {
        return std::ranges::none_of(except, [&use](const Node& each) { return holds(each, use); }) &&
               std::ranges::find(ways, handed(use)) != ways.end();
    });
}

} // namespace

std::vector<Node> declarations_of(const Node& where, std::string_view name) {
    constexpr std::array<std::string_view, 4> kinds{"declaration", "parameter_declaration",
                                                    "optional_parameter_declaration", "for_range_loop"};
    std::vector<Node> found;
    where.walk([&](const Node& node) {
        if (std::ranges::find(kinds, node.kind()) == kinds.end())
            return true;
        const bool range = node.kind() == "for_range_loop";
        for (const Node& child : range ? std::vector<Node>{node.field("declarator")} : node.children())
            if (declared_by(child).text() == name) {
                found.push_back(node);
                break;
            }
        return true;
    });
    return found;
}

Node declarator_of(const Node& declaration, std::string_view name) {
    for (const Node& child : declaration.children())
        if (declared_by(child).text() == name)
            return child.kind() == "init_declarator" ? child.field("declarator") : child;
    return {};
}

std::vector<Node> uses_of(const Node& where, std::string_view name) {
    std::vector<Node> found;
    where.walk([&](const Node& node) {
        if ((node.kind() == "identifier" || node.kind() == "type_identifier") && node.text() == name)
            found.push_back(node);
        return true;
    });
    return found;
}

Node value_around(const Node& use) {
    Node value = use;
    for (Node outer = value.parent(); outer; outer = value.parent()) {
        const std::string_view kind = outer.kind();
        const std::string_view sign = outer.field("operator").text();
        const bool same = kind == "parenthesized_expression" || kind == "cast_expression" ||
                          (kind == "binary_expression" && (sign == "+" || sign == "-")) ||
                          (kind == "pointer_expression" && sign == "&") || kind == "conditional_expression";
        if (same)
            value = outer;
        else if (kind == "argument_list" && is_cast(outer.parent()))
            value = outer.parent();
        else
            break;
    }
    return value;
}

Node receiver_of(const Node& value) {
    const Node list = value.parent();
    return list.kind() == "argument_list" && list.parent().kind() == "call_expression" ? list.parent() : Node();
}

bool is_of_cuda(const Node& call) {
    return called_name(call).starts_with("cuda") || !launch_configuration(call).empty();
}

bool hands_on(const Node& where, std::string_view name, const std::vector<Node>& except) {
    return handed_on(where, name, except, {Handed::copied, Handed::given});
}

bool gives_away(const Node& where, std::string_view name, const std::vector<Node>& except) {
    return handed_on(where, name, except, {Handed::given});
}

bool counts(const Node& expression) {
    bool found = false;
    expression.walk([&found](const Node& node) {
        found |= node.kind() == "update_expression" || node.kind() == "assignment_expression";
        return !found;
    });
    return found;
}

bool is_static(const Node& declaration) {
    return std::ranges::any_of(declaration.children(),
                               [](const Node& each) { return each.kind() == "storage_class_specifier"; });
}

bool makes_graph(const Node& function) {
    return !calls_of(function, "cudaStreamBeginCapture").empty() ||
           !calls_of(function, "cudaGraphCreate").empty() ||
           !calls_of(function, "cudaGraphAddKernelNode").empty();
}

} // namespace umadvisor::patch
