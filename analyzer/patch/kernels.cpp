#include "analyzer/patch/kernels.hpp"
#include "analyzer/patch/memory_uses.hpp"

#include <algorithm>

namespace umadvisor::patch {

Node only_launch(const Syntax& source, int line) {
    std::vector<Node> launches = calls_at(source, line);
    std::erase_if(launches, [](const Node& call) { return launch_configuration(call).empty(); });
    return launches.size() == 1 ? launches.front() : Node();
}

bool only_reads(const Syntax& source, std::string_view kernel, std::size_t number) {
    const std::vector<Node> parameters = parameters_of(definition_of(source, kernel));
    const std::string_view text = number < parameters.size() ? parameters[number].text() : std::string_view();
    return text.starts_with("const ") && std::ranges::count(text, '*') == 1;
}

} // namespace umadvisor::patch
