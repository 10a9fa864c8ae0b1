/// Two devices reach each other's memory before the first copy between them.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace umadvisor::patch {

Draft enable_peer_access(const Request& request) {
    const std::string& text = request.source.text();
    const Node call = only_call(request.source, request.finding.line.place.line, "cudaMemcpyPeer");
    const std::vector<Node> given = call ? arguments(call) : std::vector<Node>();
    if (given.size() < 5)
        return {.refused = "its line has no copy that names both devices, or several"};
    const std::vector<Node> around = loops_around(call);
    const Node place = statement_around(around.empty() ? call : around.back());
    const std::string to(given[1].text()), from(given[3].text());
    for (const Node& device : {given[1], given[3]})
        for (const std::string_view name : names_in(device))
            if (!is_there(name, place) ||
                (!around.empty() && (declares(around.back(), name) || changes(around.back(), name))))
                return {.refused = "its devices change from round to round"};
    if (!place || !is_alone(text, place))
        return {.refused = "its loop shares a line with other code"};
    const std::string indent = indent_at(text, place.begin());
    const std::string step = indent_step(text, function_of(place));
    const std::string_view wrapper = wrapper_near(call);
    std::string block = indent + "{\n" + indent + step + "int current = 0;\n";
    const auto add = [&](const std::string& line) { block += indent + step + line + "\n"; };
    add(checked("cudaGetDevice(&current)", wrapper));
    for (const auto& [device, peer] : {std::pair(to, from), std::pair(from, to)}) {
        add(checked(fmt::format("cudaSetDevice({})", device), wrapper));
        add(fmt::format("cudaDeviceEnablePeerAccess({}, 0);", peer));
    }
    add("cudaGetLastError();");
    add(checked("cudaSetDevice(current)", wrapper));
    const std::size_t at = line_begin(text, place.begin());
    return {.edits = {{at, at, block + indent + "}\n"}},
            .assumes = {"nothing else enables this access later: that would fail"}};
}

} // namespace umadvisor::patch
