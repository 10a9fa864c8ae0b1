#include "analyzer/patch/kernels.hpp"

namespace umadvisor::patch {

bool only_reads(const Syntax& source, std::string_view kernel, std::size_t number) {
    bool found = false, constant = false;
    source.root().walk([&](const Node& node) {
        if (node.kind() != "function_definition" || declared_by(node.field("declarator")).text() != kernel)
            return node.kind() != "function_definition";
        const std::vector<Node> parameters = node.field("declarator").field("parameters").children();
        constant = !found && number < parameters.size() && parameters[number].text().starts_with("const ");
        found = true;
        return false;
    });
    return constant;
}

} // namespace umadvisor::patch
