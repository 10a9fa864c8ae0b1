/// Two buffers that are exchanged by copies through the host exchange their pointers.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"

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
    if (calls.size() != 1 || arguments(calls[0]).size() != 4 || !(statement_of(calls[0]).whole == statement))
        return {};
    const std::vector<Node> given = arguments(calls[0]);
    return {statement, plain(given[0]).text(), plain(given[1]).text(), given[2].text(), given[3].text()};
}

/// Whether the name is a pointer variable of the function that it may change, and that nothing else points to.
bool is_own_pointer(const Node& function, std::string_view name) {
    bool pointer = false, shared = false;
    function.walk([&](const Node& node) {
        const std::string_view kind = node.kind();
        if (kind == "pointer_declarator" && declared_by(node).text() == name)
            pointer |= node.parent().kind() != "parameter_declaration" &&
                       node.parent().text().find("const") == std::string_view::npos;
        shared |= (kind == "assignment_expression" && plain(node.field("right")).text() == name) ||
                  (kind == "init_declarator" && plain(node.field("value")).text() == name);
        return true;
    });
    return pointer && !shared;
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
    constexpr std::string_view down = "cudaMemcpyDeviceToHost", up = "cudaMemcpyHostToDevice";
    if (copies.size() != 4 || copies[0].kind != down || copies[1].kind != down || copies[2].kind != up ||
        copies[3].kind != up)
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
    if (!crossed || !is_own_pointer(function, one) || !is_own_pointer(function, other))
        return {.refused = "its copies do not exchange two buffers whose pointers the function may exchange"};
    std::size_t uses = 0;
    for (const std::string_view host : {copies[0].to, copies[1].to}) {
        const std::string_view name = host.substr(0, host.find_first_of(".[("));
        function.walk([&](const Node& node) {
            uses += node.kind() == "identifier" && node.text() == name ? 1 : 0;
            return true;
        });
    }
    if (uses != 6) // declared, copied to and copied from, each of both
        return {.refused = "the host uses what its copies bring"};
    const std::string indent = indent_at(text, copies[0].whole.begin());
    return {.edits = {{line_begin(text, copies[0].whole.begin()), line_end(text, copies[3].whole.end()),
                       fmt::format("{}std::swap({}, {});\n", indent, one, other)}},
            .assumes = {fmt::format("{} and {} are buffers of the same size, which nothing else points to", one,
                                    other)}};
}

} // namespace umadvisor::patch
