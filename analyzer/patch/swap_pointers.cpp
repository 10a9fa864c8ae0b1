/// Two buffers that are exchanged by copies through the host exchange their pointers.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"
#include "analyzer/patch/uses.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace umadvisor::patch {
namespace {

/// A whole copy: statement, destination, source and size.
struct WholeCopy {
    Node whole;
    std::string_view to, from, bytes, kind;
};

WholeCopy whole_copy(const Node& statement) {
    std::vector<Node> calls = calls_of(statement, "cudaMemcpy");
    if (statement.kind() != "expression_statement" || calls.size() != 1 || arguments(calls[0]).size() != 4 ||
        !(statement_of(calls[0]).whole == statement))
        return {};
    const std::vector<Node> given = arguments(calls[0]);
    return {statement, plain(given[0]).text(), plain(given[1]).text(), given[2].text(), given[3].text()};
}

/// A variable's declarator and the type of its declaration.
struct Variable {
    Node declarator; ///< null: it is no variable of the function's own, or there are several of its name
    Node value;
    std::string_view type;
};

Variable variable(const Node& function, std::string_view name) {
    const std::vector<Node> declared = declarations_of(function, name);
    if (declared.size() != 1 || declared[0].kind() != "declaration" || is_static(declared[0]))
        return {};
    for (const Node& child : declared[0].children())
        if (declared_by(child).text() == name) {
            const bool valued = child.kind() == "init_declarator";
            return {valued ? child.field("declarator") : child, child.field("value"),
                    declared[0].field("type").text()};
        }
    return {};
}

/// Returns whether a use of the pointer leaves no other way to its memory: it is given to CUDA's calls for
/// memory, to kernels or to swap.
bool is_plain_use(const Node& function, const Node& use) {
    constexpr std::array<std::string_view, 9> calls{
        "cudaMalloc",      "cudaFree", "cudaMemcpy",     "cudaMemcpyAsync",    "cudaMemset",
        "cudaMemsetAsync", "swap",     "cudaMemcpyPeer", "cudaMemcpyPeerAsync"};
    const Node value = value_around(use), call = receiver_of(value);
    const bool address = value.text().find('&') != std::string_view::npos;
    return call && function_of(use) == function && address == (called_name(call) == "cudaMalloc") &&
           (!launch_configuration(call).empty() || std::ranges::find(calls, called_name(call)) != calls.end());
}

/// Returns whether the function may exchange the pointer: it is its own variable, gets memory of so many bytes
/// by one cudaMalloc, and nothing else points there.
bool is_own_pointer(const Node& function, std::string_view name, const Node& bytes) {
    const Variable own = variable(function, name);
    if (own.declarator.kind() != "pointer_declarator" || !(own.declarator.field("declarator").text() == name) ||
        own.declarator.text().find("const") != std::string_view::npos ||
        (own.value && own.value.text() != "nullptr" && own.value.text() != "NULL" && own.value.text() != "0"))
        return false;
    std::size_t allocated = 0;
    for (const Node& call : calls_of(function, "cudaMalloc")) {
        const std::vector<Node> given = arguments(call);
        if (given.size() == 2 && plain(given[0]).text() == name)
            allocated += given[1].text() == bytes.text() ? 1 : 2;
    }
    const Node declared = declared_by(own.declarator);
    return allocated == 1 && std::ranges::all_of(uses_of(function, name), [&](const Node& use) {
               return use == declared || is_plain_use(function, use);
           });
}

/// Returns whether it is memory of the function's own that only these copies use: an array or a vector.
bool is_between(const Node& function, std::string_view host) {
    const std::string_view name = host.substr(0, host.find_first_of(".[("));
    const Variable own = variable(function, name);
    const std::string_view kind = own.declarator.kind();
    const bool vector = own.type.find("vector<") != std::string_view::npos &&
                        (kind == "identifier" || kind == "function_declarator");
    return (vector || kind == "array_declarator") &&
           uses_of(function, name).size() == 3; // declared, copied to and copied from
}

/// Returns whether kernels get the pointers in several streams, for which the copies may be what they wait for.
bool use_several_streams(const Node& function, std::string_view one, std::string_view other) {
    std::set<std::string> streams;
    for (const Node& call : calls_of(function))
        if (!launch_configuration(call).empty() && (mentions(call, one) || mentions(call, other)))
            streams.insert(stream_of(call));
    return streams.size() > 1;
}

/// "one" and "other" exchanged, by the standard library where the source has it for sure.
std::string exchange(const std::string& text, std::string_view one, std::string_view other,
                     const std::string& indent, const std::string& step) {
    for (const std::string_view sign :
         {"std::swap(", "std::vector<", "#include <utility>", "#include <algorithm>"})
        if (text.find(sign) != std::string::npos)
            return fmt::format("{}std::swap({}, {});\n", indent, one, other);
    return fmt::format("{0}{{\n{0}{1}auto* const kept = {2};\n{0}{1}{2} = {3};\n{0}{1}{3} = kept;\n{0}}}\n",
                       indent, step, one, other);
}

} // namespace

Draft swap_pointers(const Request& request) {
    const std::string& text = request.source.text();
    const Node call = only_call(request.source, request.finding.line.place.line, "cudaMemcpy");
    const Node statement = call ? statement_of(call).whole : Node();
    const Node block = statement ? block_of(statement) : Node();
    const Node function = block ? function_of(block) : Node();
    if (!function)
        return {.refused = "its copies are no statements of a block"};
    std::vector<WholeCopy> copies;
    for (const Node& each : block.children())
        if (WholeCopy copy = whole_copy(each); copy.whole && each.begin() >= statement.begin())
            copies.push_back(copy);
        else if (!copies.empty() && each.kind() != "comment")
            break;
    constexpr std::string_view to_host = "cudaMemcpyDeviceToHost", to_device = "cudaMemcpyHostToDevice";
    if (copies.size() != 4 || copies[0].kind != to_host || copies[1].kind != to_host ||
        copies[2].kind != to_device || copies[3].kind != to_device)
        return {.refused = "it is not followed by the three other copies that exchange two buffers"};
    const std::string_view one = copies[0].from, other = copies[1].from;
    const bool first_is_kept = copies[2].from == copies[0].to;
    const WholeCopy& of_one = copies[first_is_kept ? 2 : 3];
    const WholeCopy& of_other = copies[first_is_kept ? 3 : 2];
    const bool crossed = of_one.from == copies[0].to && of_one.to == other && of_other.from == copies[1].to &&
                         of_other.to == one;
    for (const WholeCopy& copy : copies)
        if (copy.bytes != copies[0].bytes || !is_alone(text, copy.whole))
            return {.refused = "its copies differ in size, or share a line"};
    const Node bytes = arguments(call)[2];
    const bool fixed_size =
        !has_effect(bytes) && std::ranges::none_of(names_in(bytes), [&](std::string_view name) {
            return changes(function, name) || declarations_of(function, name).size() > 1;
        });
    if (!crossed || !fixed_size || !is_own_pointer(function, one, bytes) ||
        !is_own_pointer(function, other, bytes) ||
        variable(function, one).type != variable(function, other).type || mentions(function, "kept"))
        return {.refused = "its copies do not exchange two whole buffers whose pointers only the function has"};
    if (use_several_streams(function, one, other))
        return {.refused = "kernels use the buffers in several streams, which its copies order"};
    if (makes_graph(function))
        return {.refused = "its function makes a graph, which keeps the pointers"};
    if (!is_between(function, copies[0].to) || !is_between(function, copies[1].to))
        return {.refused = "the host uses what its copies bring"};
    const std::string indent = indent_at(text, copies[0].whole.begin());
    return {.edits = {{line_begin(text, copies[0].whole.begin()), line_end(text, copies[3].whole.end()),
                       exchange(text, one, other, indent, indent_step(text, function))}},
            .assumes = {fmt::format("kernels keep no pointers to {} and {}", one, other)}};
}

} // namespace umadvisor::patch
