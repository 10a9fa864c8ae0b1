#include "analyzer/patch/calls.hpp"

#include "analyzer/patch/code.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace umadvisor::patch {
namespace {

/// The last name of "a::b<c>".
Node last_name(Node node) {
    while (node) {
        const Node inner = node.field("name");
        if (!inner)
            break;
        node = inner;
    }
    return node;
}

std::vector<Node> without_comments(std::vector<Node> nodes) {
    std::erase_if(nodes, [](const Node& node) { return node.kind() == "comment"; });
    return nodes;
}

} // namespace

std::vector<Node> calls_at(const Syntax& source, int line) {
    std::vector<Node> calls;
    source.root().walk([&](const Node& node) {
        if (line < node.first_line() || line > node.last_line())
            return false;
        if (node.kind() == "call_expression" && node.field("function"))
            calls.push_back(node);
        return true;
    });
    return calls;
}

std::string_view called_name(const Node& call) {
    const Node function = call.field("function");
    return function ? last_name(function).text() : std::string_view();
}

std::vector<Node> arguments(const Node& call) {
    return without_comments(call.field("arguments").children());
}

Node plain(Node expression) {
    for (bool address = true; expression;) {
        const std::string_view kind = expression.kind();
        Node inner;
        if (kind == "cast_expression")
            inner = expression.field("value");
        else if (kind == "parenthesized_expression" && expression.children().size() == 1)
            inner = expression.children().front();
        else if (kind == "call_expression" && expression.text().starts_with("reinterpret_cast"))
            inner = arguments(expression).size() == 1 ? arguments(expression).front() : Node();
        else if (kind == "pointer_expression" && address && expression.text().starts_with('&')) {
            address = false;
            inner = expression.field("argument");
        }
        if (!inner)
            break;
        expression = inner;
    }
    return expression;
}

Statement statement_of(const Node& call) {
    Statement statement{.call = call, .whole = {}};
    Node outer = call.parent();
    if (outer && outer.kind() == "argument_list" && outer.children().size() == 1) {
        const Node wrapper = outer.parent();
        if (!wrapper || wrapper.kind() != "call_expression")
            return statement;
        statement.wrapper = wrapper.field("function").text();
        outer = wrapper.parent();
    }
    if (!outer || outer.kind() != "expression_statement")
        return statement;
    statement.whole = outer;
    while (statement.whole.parent() && statement.whole.parent().kind() == "if_statement" &&
           !statement.whole.parent().field("alternative") &&
           !has_effect(statement.whole.parent().field("condition")))
        statement.whole = statement.whole.parent();
    return statement;
}

std::string_view wrapper_near(const Node& at) {
    std::string_view wrapper;
    const Node function = function_of(at);
    if (function)
        function.walk([&](const Node& node) {
            const std::string_view name = node.kind() == "call_expression" ? called_name(node) : "";
            if (name.starts_with("cuda") && !name.starts_with("cudaGetError") &&
                !name.starts_with("cudaPeek") && wrapper.empty())
                if (const Statement statement = statement_of(node);
                    statement.whole && is_there(statement.wrapper, at))
                    wrapper = statement.wrapper;
            return wrapper.empty();
        });
    return wrapper;
}

std::string checked(std::string_view call, std::string_view wrapper) {
    return wrapper.empty() ? fmt::format("{};", call) : fmt::format("{}({});", wrapper, call);
}

Node only_call(const Syntax& source, int line, std::string_view begin) {
    Node found;
    for (const Node& call : calls_at(source, line)) {
        if (!called_name(call).starts_with(begin))
            continue;
        if (found)
            return {};
        found = call;
    }
    return found;
}

std::vector<Node> launch_configuration(const Node& call) {
    for (const Node& child : call.children())
        if (child.kind() == "kernel_call_syntax")
            return without_comments(child.children());
    return {};
}

std::string stream_of(const Node& call) {
    const std::vector<Node> configuration = launch_configuration(call);
    if (!configuration.empty())
        return configuration.size() > 3 ? std::string(configuration[3].text()) : "0";
    struct Function {
        std::string_view name;
        std::size_t stream; ///< number of its argument
    };
    constexpr std::array<Function, 7> functions{{{"cudaMemcpy", 4},
                                                 {"cudaMemcpyAsync", 4},
                                                 {"cudaMemcpy2D", 7},
                                                 {"cudaMemcpy2DAsync", 7},
                                                 {"cudaMemset", 3},
                                                 {"cudaMemsetAsync", 3},
                                                 {"cudaMemPrefetchAsync", 4}}};
    const auto function = std::ranges::find(functions, called_name(call), &Function::name);
    if (function == functions.end())
        return {};
    const std::vector<Node> given = arguments(call);
    if (function->name == "cudaMemPrefetchAsync" &&
        given.size() == 4) // of an older CUDA, or without its stream
        return std::string(given[3].text());
    return given.size() > function->stream ? std::string(given[function->stream].text()) : "0";
}

Node base_of(Node pointer) {
    while (pointer && pointer.kind() != "identifier") {
        const Node inner = plain(pointer);
        if (!(inner == pointer)) {
            pointer = inner;
            continue;
        }
        const std::string_view kind = pointer.kind();
        if (kind == "binary_expression")
            pointer = pointer.field("left");
        else if (kind == "call_expression" && pointer.field("function").kind() == "field_expression" &&
                 pointer.field("function").field("field").text() == "data")
            pointer = pointer.field("function").field("argument");
        else if (kind == "subscript_expression" || kind == "field_expression" || kind == "pointer_expression")
            pointer = pointer.field("argument");
        else
            return {};
    }
    return pointer;
}

std::vector<Node> calls_of(const Node& where, std::string_view name) {
    std::vector<Node> found;
    where.walk([&](const Node& node) {
        if (node.kind() == "call_expression" && (name.empty() || called_name(node) == name))
            found.push_back(node);
        return true;
    });
    return found;
}

} // namespace umadvisor::patch
