/// Memory that no copy uses is not page-locked.
#include "analyzer/patch/python/makers.hpp"

namespace umadvisor::patch::python {

Draft leave_unpinned(const Request& request) {
    const Syntax& source = request.source;
    TextEdit edit;
    std::size_t count = 0;
    for (const Node& call : calls_on(source, request.finding.line.place.line)) {
        const std::vector<Node> arguments = call_arguments(call);
        for (std::size_t i = 1; i < arguments.size(); ++i)
            if (arguments[i].text() == "pin_memory=True" && object_of(call) &&
                object_of(call).text() == "torch") {
                edit = {arguments[i - 1].end(), arguments[i].end(), ""};
                ++count;
            }
    }
    if (count != 1 || source.text().find("is_pinned") != std::string::npos)
        return {.refused = std::string(other_form)};
    return {.edits = {edit},
            .assumes = {"no copy uses this memory in other runs either: such a copy would be slower"}};
}

} // namespace umadvisor::patch::python
