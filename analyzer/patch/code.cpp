#include "analyzer/patch/code.hpp"

#include <algorithm>
#include <array>

namespace umadvisor::patch {
namespace {

constexpr std::array<std::string_view, 4> loops{"for_statement", "while_statement", "do_statement",
                                                "for_range_loop"};

bool is_loop(const Node& node) {
    return std::ranges::find(loops, node.kind()) != loops.end();
}

bool ends_function(const Node& node) {
    return node.kind() == "function_definition" || node.kind() == "lambda_expression";
}

/// "n" of "this->n".
Node own_member(const Node& expression) {
    return expression.kind() == "field_expression" && expression.field("argument").text() == "this"
               ? expression.field("field")
               : Node();
}

/// "a" of "a.b[i]", of "*a" and of "this->a"; empty where it is no variable.
std::string_view variable_of(Node expression) {
    while (expression && expression.kind() != "identifier") {
        if (const Node member = own_member(expression))
            return member.text();
        const Node whole = plain(expression);
        expression = whole == expression ? whole.field("argument") : whole;
    }
    return expression ? expression.text() : std::string_view();
}

/// Returns whether the line above is a pragma, which is for the statement that begins here.
bool follows_pragma(std::string_view text, std::size_t begin) {
    std::size_t above = begin;
    do
        above = above == 0 ? 0 : line_begin(text, above - 1);
    while (above >= 2 && text[above - 2] == '\\'); // it goes on in the next line
    return above < begin && text.substr(text.find_first_not_of(" \t", above)).starts_with("#pragma");
}

} // namespace

std::vector<Node> loops_around(const Node& node) {
    std::vector<Node> found;
    for (Node outer = node.parent(); outer && !ends_function(outer); outer = outer.parent())
        if (is_loop(outer))
            found.push_back(outer);
    return found;
}

Node function_of(const Node& node) {
    for (Node outer = node; outer; outer = outer.parent())
        if (ends_function(outer))
            return outer;
    return {};
}

Node block_of(const Node& statement) {
    const Node outer = statement.parent();
    return outer && outer.kind() == "compound_statement" && statement.kind() != "case_statement" ? outer
                                                                                                 : Node();
}

bool is_there(std::string_view name, const Node& at) {
    const Node function = function_of(at);
    if (!function || !declares(function, name))
        return true;
    for (Node inner = at; inner != function; inner = inner.parent())
        for (const Node& beside : inner.parent().children())
            if (beside.end() <= inner.begin() && beside.kind() != "compound_statement" && !is_loop(beside) &&
                beside.kind() != "if_statement" && declares(beside, name))
                return true;
    return false;
}

bool leaves_early(const Node& loop) {
    bool found = false;
    loop.walk([&found](const Node& node) {
        found |= node.kind() == "return_statement" || node.kind() == "goto_statement" ||
                 node.kind() == "throw_statement";
        return !found && node.kind() != "lambda_expression";
    });
    return found;
}

Node statement_around(const Node& node) {
    Node statement = node;
    while (statement && !block_of(statement))
        statement = statement.parent();
    return statement;
}

std::string indent_step(std::string_view text, const Node& function) {
    const std::vector<Node> body = function.field("body").children();
    const std::string outer = indent_at(text, function.begin());
    const std::string inner = body.empty() ? "" : indent_at(text, body.front().begin());
    return inner.size() > outer.size() && inner.starts_with(outer) ? inner.substr(outer.size()) : "    ";
}

std::vector<Node> following(const Node& statement) {
    std::vector<Node> found;
    for (Node inner = statement; inner.parent() && !ends_function(inner); inner = inner.parent())
        if (block_of(inner))
            for (const Node& beside : block_of(inner).children())
                if (beside.begin() >= inner.end())
                    found.push_back(beside);
    return found;
}

Node statement_at(const Syntax& source, int line) {
    Node found;
    source.root().walk([&](const Node& node) {
        if (line < node.first_line() || line > node.last_line())
            return false;
        if (node.kind() != "comment" && block_of(node))
            found = node;
        return true;
    });
    return found.kind().starts_with("preproc") ? Node() : found; // what is compiled is not known
}

std::set<std::string_view> names_in(const Node& node) {
    std::set<std::string_view> names;
    node.walk([&names](const Node& each) {
        if (each.kind() == "identifier") {
            const Node outer = each.parent();
            const bool called = outer && outer.kind() == "call_expression" && outer.field("function") == each;
            if (!called)
                names.insert(each.text());
        }
        return true;
    });
    return names;
}

bool mentions(const Node& where, std::string_view name) {
    bool found = false;
    where.walk([&](const Node& node) {
        found |= node.kind().ends_with("identifier") && node.text() == name;
        return !found;
    });
    return found;
}

Node declared_by(Node declarator) {
    while (declarator && declarator.kind() != "identifier") {
        const Node inner = declarator.field("declarator");
        const std::vector<Node> parts = declarator.children();
        const bool last = !inner && declarator.kind().ends_with("_declarator") && !parts.empty();
        declarator = last ? parts.back() : inner;
    }
    return declarator;
}

bool declares(const Node& where, std::string_view name) {
    bool found = false;
    where.walk([&](const Node& node) {
        if (node.kind() == "structured_binding_declarator") {
            for (const Node& each : node.children())
                found |= each.text() == name;
            return false;
        }
        if (node.kind() != "declaration" && node.kind() != "for_range_loop" &&
            node.kind() != "parameter_declaration" && node.kind() != "optional_parameter_declaration")
            return !found;
        for (const Node& declarator : node.children())
            found |= declared_by(declarator).text() == name;
        return !found;
    });
    return found;
}

bool has_effect(const Node& expression) {
    bool found = false;
    expression.walk([&found](const Node& node) {
        found |= node.kind() == "call_expression" || node.kind() == "update_expression" ||
                 node.kind() == "assignment_expression";
        return !found;
    });
    return found;
}

bool changes(const Node& where, std::string_view name, Changed what, const std::vector<Node>& except) {
    constexpr std::array<std::string_view, 6> harmless{"data", "size", "begin", "end", "empty", "c_str"};
    bool found = false;
    const auto is_of_it = [=](const Node& target) {
        const Node whole = plain(target), member = own_member(whole);
        return (what == Changed::any_part ? variable_of(target) : (member ? member : whole).text()) == name;
    };
    where.walk([&](const Node& node) {
        if (std::ranges::find(except, node) != except.end())
            return false;
        const std::string_view kind = node.kind();
        if (kind == "assignment_expression")
            found |= is_of_it(node.field("left"));
        else if (kind == "update_expression" || (kind == "pointer_expression" && node.text().starts_with('&')))
            found |= is_of_it(node.field("argument"));
        else if (kind == "binary_expression" && node.field("operator").text() == ">>")
            found |= is_of_it(node.field("right"));
        else if (kind == "call_expression" &&
                 (called_name(node) == "swap" || called_name(node) == "exchange" ||
                  node.field("function").field("field").text() == "swap") &&
                 std::ranges::any_of(arguments(node), is_of_it))
            found = true;
        else if (kind == "call_expression" && node.field("function").kind() == "field_expression")
            found |=
                is_of_it(node.field("function")) &&
                std::ranges::find(harmless, node.field("function").field("field").text()) == harmless.end();
        return !found;
    });
    return found;
}

bool is_alone(std::string_view text, const Node& node) {
    if (follows_pragma(text, line_begin(text, node.begin())))
        return false;
    const auto first = [text](std::size_t from) {
        return std::min(text.find_first_not_of(" \t\r\n", from), text.size());
    };
    const std::size_t behind = first(node.end());
    return first(line_begin(text, node.begin())) == node.begin() &&
           (behind >= line_end(text, node.end()) || text.substr(behind).starts_with("//"));
}

std::string lines_of(std::string_view text, const Node& node, const std::string& indent) {
    const std::string old = indent_at(text, node.begin());
    std::string lines;
    for (std::size_t at = line_begin(text, node.begin()), end = 0; at < node.end(); at = end) {
        end = line_end(text, at);
        const std::string_view line = text.substr(at, end - at);
        lines += line.starts_with(old) ? indent + std::string(line.substr(old.size())) : std::string(line);
    }
    return lines;
}

TextEdit without_lines(std::string_view text, const Node& node) {
    return {line_begin(text, node.begin()), line_end(text, node.end()), ""};
}

} // namespace umadvisor::patch
