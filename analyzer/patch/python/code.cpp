#include "analyzer/patch/python/code.hpp"

#include <algorithm>
#include <array>

namespace umadvisor::patch::python {
namespace {

template <std::size_t count>
using Names = std::array<std::string_view, count>;

template <typename Known>
bool is_one_of(std::string_view name, const Known& known) {
    return std::ranges::find(known, name) != known.end();
}

bool opens_scope(const Node& node) {
    const std::string_view kind = node.kind();
    return kind == "function_definition" || kind == "lambda" || kind == "class_definition" || kind == "module";
}

bool is_body(const Node& node) {
    return node.kind() == "block" || node.kind() == "module";
}

} // namespace

std::vector<Node> calls_on(const Syntax& source, int line) {
    std::vector<Node> calls;
    source.root().walk([&](const Node& node) {
        if (line < node.first_line() || line > node.last_line())
            return false;
        if (node.kind() == "call")
            calls.push_back(node);
        return true;
    });
    return calls;
}

std::string_view callee(const Node& call) {
    const Node function = call.kind() == "call" ? call.field("function") : Node();
    if (!function)
        return {};
    return function.kind() == "attribute"    ? function.field("attribute").text()
           : function.kind() == "identifier" ? function.text()
                                             : std::string_view();
}

bool calls_method(const Node& call, std::string_view name) {
    return callee(call) == name && call.field("function").kind() == "attribute" && call_arguments(call).empty();
}

Node object_of(const Node& expression) {
    const Node attribute = expression.kind() == "call" ? expression.field("function") : expression;
    return attribute && attribute.kind() == "attribute" ? attribute.field("object") : Node();
}

std::string_view root_name(const Node& expression) {
    Node node = expression;
    while (node && node.kind() != "identifier") {
        const std::string_view kind = node.kind();
        node = kind == "call"        ? node.field("function")
               : kind == "attribute" ? node.field("object")
               : kind == "subscript" ? node.field("value")
                                     : Node();
    }
    return node ? node.text() : std::string_view();
}

std::vector<Node> call_arguments(const Node& call) {
    const Node list = call.field("arguments");
    if (!list || list.kind() != "argument_list") // f(x for x in y)
        return list ? std::vector<Node>{list} : std::vector<Node>();
    std::vector<Node> arguments = list.children();
    std::erase_if(arguments, [](const Node& node) { return node.kind() == "comment"; });
    return arguments;
}

Node only_argument(const Node& call) {
    const std::vector<Node> arguments = call_arguments(call);
    const bool one = arguments.size() == 1 && arguments[0].kind() != "keyword_argument" &&
                     !arguments[0].kind().ends_with("_splat");
    return one ? arguments[0] : Node();
}

bool is_simple(const Node& expression) {
    constexpr Names<9> parts{"identifier", "attribute",       "subscript",      "integer", "string",
                             "slice",      "binary_operator", "string_content", "none"};
    bool simple = !root_name(expression).empty();
    expression.walk([&](const Node& node) {
        simple &= is_one_of(node.kind(), parts) || node.kind() == "string_start" || node.kind() == "string_end";
        return simple;
    });
    return simple;
}

Node whole_statement(const Node& node) {
    Node statement = node;
    while (statement && statement.parent() && !is_body(statement.parent()))
        statement = statement.parent();
    return statement;
}

Node scope_around(const Node& node) {
    Node outer = node.parent();
    while (outer && !opens_scope(outer))
        outer = outer.parent();
    return outer;
}

std::vector<Node> loops_over(const Node& node) {
    std::vector<Node> loops;
    Node inner = node;
    for (Node outer = node.parent(); outer && !opens_scope(outer); inner = outer, outer = outer.parent())
        if ((outer.kind() == "for_statement" || outer.kind() == "while_statement") &&
            outer.field("body") == inner)
            loops.push_back(outer);
    return loops;
}

bool is_inner_scope(const Node& node) {
    return opens_scope(node) && node.kind() != "module";
}

bool is_part(const Node& outer, std::string_view field, const Node& node) {
    const Node part = outer.field(field);
    return part && part == node;
}

bool is_tried(const Node& node) {
    for (Node outer = node.parent(); outer && !opens_scope(outer); outer = outer.parent())
        if (outer.kind() == "try_statement")
            return true;
    return false;
}

bool always_before(const Node& earlier, const Node& later) {
    const Node body = earlier.parent();
    for (Node outer = later.parent(); outer; outer = outer.parent())
        if (outer == body)
            return earlier.end() <= later.begin();
    return false;
}

bool imports(const Syntax& source, std::string_view module) {
    bool found = false;
    source.root().walk([&](const Node& node) {
        const Node outer = node.kind() == "dotted_name" ? node.parent() : Node();
        const Node from =
            outer && outer.kind() == "import_from_statement" ? outer.field("module_name") : Node();
        const bool imported =
            outer && (outer.kind() == "import_statement" || (from && from == node) ||
                      (outer.kind() == "aliased_import" && outer.parent().kind() == "import_statement"));
        found |= imported && node.children().front().text() == module;
        return !found;
    });
    return found;
}

bool has_module(const Syntax& source, std::string_view module) {
    bool found = false;
    source.root().walk([&](const Node& node) {
        found |= node.kind() == "dotted_name" && node.parent().kind() == "import_statement" &&
                 node.children().front().text() == module;
        return !found;
    });
    return found;
}

std::vector<std::string_view> names_of(const Node& expression) {
    std::vector<std::string_view> names;
    expression.walk([&](const Node& node) {
        if (node.kind() != "identifier")
            return true;
        const Node outer = node.parent();
        const bool part = (outer.kind() == "attribute" && outer.field("attribute") == node) ||
                          (outer.kind() == "keyword_argument" && outer.field("name") == node);
        if (!part && !is_one_of(node.text(), names))
            names.push_back(node.text());
        return true;
    });
    return names;
}

namespace {

std::string joined(const std::vector<std::string>& lines, const std::string& indent) {
    std::string text;
    for (const std::string& line : lines)
        text += indent + line + "\n";
    return text;
}

} // namespace

bool has_own_lines(std::string_view text, const Node& statement) {
    const std::size_t behind = text.find_first_not_of(" \t", statement.end());
    return text.find_first_not_of(" \t", line_begin(text, statement.begin())) == statement.begin() &&
           (behind >= text.size() || text[behind] == '\n' || text[behind] == '#');
}

TextEdit lines_before(std::string_view text, const Node& statement, const std::vector<std::string>& lines) {
    const std::size_t at = line_begin(text, statement.begin());
    return {at, at, joined(lines, indent_at(text, statement.begin()))};
}

TextEdit lines_behind(std::string_view text, const Node& statement, const std::vector<std::string>& lines) {
    const std::size_t at = line_end(text, statement.end());
    std::string code = joined(lines, indent_at(text, statement.begin()));
    if (at == text.size() && !text.ends_with('\n'))
        code = "\n" + code.substr(0, code.size() - 1);
    return {at, at, std::move(code)};
}

TextEdit instead(const Node& node, std::string code) {
    return {node.begin(), node.end(), std::move(code)};
}

std::string primary(const Node& expression) {
    constexpr Names<5> primaries{"identifier", "attribute", "subscript", "call", "parenthesized_expression"};
    const std::string code(expression.text());
    return is_one_of(expression.kind(), primaries) ? code : "(" + code + ")";
}

} // namespace umadvisor::patch::python
