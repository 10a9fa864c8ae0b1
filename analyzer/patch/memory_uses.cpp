#include "analyzer/patch/memory_uses.hpp"

#include "analyzer/patch/uses.hpp"

#include <algorithm>
#include <array>

namespace umadvisor::patch {
namespace {

/// The largest expression around a name that is still an address in its memory, or one element of that.
struct Use {
    Node whole;
    bool element = false;
};

bool is_sum(const Node& node) {
    return node.kind() == "binary_expression" &&
           (node.field("operator").text() == "+" || node.field("operator").text() == "-");
}

Use use_of(const Node& name) {
    constexpr std::array<std::string_view, 5> addresses{"data", "begin", "end", "cbegin", "cend"};
    Use use{name};
    for (Node outer = name.parent(); outer; outer = use.whole.parent()) {
        const std::string_view kind = outer.kind();
        const bool same = kind == "parenthesized_expression" || kind == "cast_expression" ||
                          kind == "conditional_expression" || (is_sum(outer) && !use.element);
        const bool cast = kind == "argument_list" && outer.parent().kind() == "call_expression" &&
                          outer.parent().field("function").text().find("_cast<") != std::string_view::npos;
        const bool method = kind == "field_expression" && outer.parent().kind() == "call_expression" &&
                            std::ranges::find(addresses, outer.field("field").text()) != addresses.end();
        if (kind == "pointer_expression")
            use.element = !outer.text().starts_with('&');
        else if ((kind == "subscript_expression" || kind == "field_expression") &&
                 outer.field("argument") == use.whole)
            use.element = !method;
        else if (!same && !cast)
            break;
        use.whole = cast || method ? outer.parent() : outer;
    }
    return use;
}

/// Returns whether a declaration makes a pointer or a reference, or leaves its type to its value.
bool makes_address(const Node& init) {
    const std::string_view kind = init.field("declarator").kind();
    return kind == "pointer_declarator" || kind == "reference_declarator" ||
           init.parent().field("type").kind() == "placeholder_type_specifier";
}

bool is_pointer(const Node& function, std::string_view name) {
    bool found = false;
    function.walk([&](const Node& node) {
        found |= node.kind() == "pointer_declarator" && declared_by(node).text() == name;
        return !found;
    });
    return found;
}

/// Calls `visit` with each use of the variable, until it returns false.
template <typename Visit>
void each_use(const Node& function, std::string_view name, const Visit& visit) {
    bool more = true;
    function.walk([&](const Node& node) {
        if (node.kind().ends_with("identifier") && node.kind() != "field_identifier" && node.text() == name)
            more = more && visit(node);
        return more;
    });
}

/// Library functions that only read or write memory that they get.
bool is_harmless(std::string_view name) {
    constexpr std::array<std::string_view, 23> known{
        "memcpy",      "memset",      "memmove",    "memcmp",        "fread",         "fwrite",
        "printf",      "assert",      "fill",       "fill_n",        "copy",          "copy_n",
        "sort",        "accumulate",  "iota",       "generate",      "generate_n",    "equal",
        "min_element", "max_element", "cudaMemcpy", "cudaHostAlloc", "cudaMallocHost"};
    return std::ranges::find(known, name) != known.end();
}

bool stays_within(const Syntax& source, const Node& function, std::string_view name, int depth);

/// Returns whether the call that has the address among its arguments does no more with it. Below the function
/// itself it may neither free nor copy asynchronously.
bool call_keeps(const Syntax& source, const Node& list, const Node& argument, int depth) {
    const Node call = list.parent();
    if (call.kind() != "call_expression" || !launch_configuration(call).empty())
        return false;
    const std::string_view called = called_name(call);
    const bool own = called == "free" || called == "cudaFreeHost" || called == "cudaMemcpyAsync";
    if (is_harmless(called) || (own && depth == 0))
        return true;
    const Node definition = depth < 3 ? definition_of(source, called) : Node();
    const std::vector<Node> given = arguments(call), parameters = parameters_of(definition);
    const auto number = static_cast<std::size_t>(std::ranges::find(given, argument) - given.begin());
    const Node parameter =
        number < parameters.size() ? declared_by(parameters[number].field("declarator")) : Node();
    return parameter && parameters[number].text().find('&') == std::string_view::npos &&
           stays_within(source, definition, parameter.text(), depth + 1);
}

bool stays_within(const Syntax& source, const Node& function, std::string_view name, int depth) {
    bool stays = true;
    each_use(function, name, [&](const Node& node) {
        const auto [whole, element] = use_of(node);
        const Node outer = whole.parent();
        const std::string_view kind = outer.kind();
        const bool value = kind == "init_declarator" && outer.field("value") == whole;
        if (function_of(node) != function || node.kind() == "type_identifier") // "Owner owner(p);"
            stays = false;
        else if (value)
            stays = element && !makes_address(outer);
        else if (kind == "argument_list")
            stays = element || call_keeps(source, outer, whole, depth);
        else if (!element)
            stays = kind.ends_with("declarator") || kind.ends_with("declaration") ||
                    kind == "delete_expression" || kind == "unary_expression" || kind == "binary_expression" ||
                    kind == "condition_clause" || kind == "for_range_loop" || kind == "sizeof_expression" ||
                    (kind == "assignment_expression" && outer.field("left") == whole);
        return stays;
    });
    return stays;
}

} // namespace

Node definition_of(const Syntax& source, std::string_view name) {
    Node found;
    std::size_t count = 0;
    source.root().walk([&](const Node& node) {
        if (node.kind() != "function_definition" || declared_by(node.field("declarator")).text() != name)
            return true;
        found = node;
        ++count;
        return false;
    });
    return count == 1 ? found : Node();
}

std::vector<Node> parameters_of(const Node& definition) {
    Node declarator = definition.field("declarator");
    while (declarator && declarator.kind() != "function_declarator")
        declarator = declarator.field("declarator");
    std::vector<Node> parameters = declarator.field("parameters").children();
    std::erase_if(parameters, [](const Node& node) { return node.kind() == "comment"; });
    return parameters;
}

bool is_number(const Node& function, std::string_view name) {
    const std::vector<Node> declarations = declarations_of(function, name);
    return !declarations.empty() && std::ranges::all_of(declarations, [name](const Node& node) {
        const std::string_view type = node.field("type").kind();
        return (type == "primitive_type" || type == "sized_type_specifier") &&
               declarator_of(node, name).kind() == "identifier";
    });
}

bool has_other_name(const Node& function, std::string_view name) {
    bool found = false;
    each_use(function, name, [&](const Node& node) {
        const auto [whole, element] = use_of(node);
        const Node outer = whole.parent();
        const std::string_view kind = outer.kind();
        if (kind == "init_declarator" && outer.field("value") == whole)
            found = makes_address(outer);
        else if (kind == "assignment_expression" && outer.field("right") == whole)
            found = !element || is_pointer(function, base_of(outer.field("left")).text());
        else
            found = kind == "return_statement" ? !element : kind == "initializer_list" && !element;
        found |= function_of(node) != function || node.kind() == "type_identifier"; // "Owner owner(p);"
        return !found;
    });
    return found;
}

bool is_other_name(const Node& function, std::string_view name) {
    bool found = false;
    function.walk([&](const Node& node) {
        if (node.kind() == "init_declarator" && declared_by(node).text() == name)
            found |= makes_address(node) && base_of(node.field("value"));
        else if (node.kind() == "assignment_expression" && plain(node.field("left")).text() == name)
            found |= static_cast<bool>(base_of(node.field("right")));
        return !found;
    });
    return found;
}

bool stays_local(const Syntax& source, const Node& function, std::string_view name) {
    return stays_within(source, function, name, 0);
}

bool is_repeated(const Request& request) {
    const symbols::CodePlace& own = request.finding.line.place;
    return std::ranges::any_of(request.stack, [&](const symbols::CodePlace& place) {
        return place.file == own.file && place.line != own.line &&
               std::ranges::any_of(calls_at(request.source, place.line),
                                   [](const Node& call) { return !loops_around(call).empty(); });
    });
}

} // namespace umadvisor::patch
