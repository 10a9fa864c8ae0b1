/// Two devices reach each other's memory before the first copy between them.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"
#include "analyzer/patch/uses.hpp"

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
    if (around.empty())
        return {.refused = "its copy is in no loop of its function, before which access could be enabled once"};
    const Node place = statement_around(around.back());
    if (!place || !is_alone(text, place))
        return {.refused = "its loop shares a line with other code, or has a pragma"};
    if (makes_graph(function_of(call)))
        return {.refused = "its function makes a graph, to which access does not belong"};
    for (const Node& other : calls_of(request.source.root(), "cudaDeviceEnablePeerAccess"))
        if (!(function_of(other) == function_of(call)) || other.begin() > place.begin())
            return {.refused = "the source enables access between devices elsewhere, which would fail"};
    const std::string to(given[1].text()), from(given[3].text());
    for (const Node& device : {given[1], given[3]}) {
        if (has_effect(device) || names_in(device).contains("current"))
            return {.refused = "its devices are no plain variables or numbers"};
        for (const std::string_view name : names_in(device))
            if (!is_there(name, place) || declares(place, name) || changes(place, name))
                return {.refused = "its devices change from round to round"};
    }
    const std::string indent = indent_at(text, place.begin());
    const std::string step = indent_step(text, function_of(place));
    const std::string_view wrapper = wrapper_near(call);
    std::string block = indent + "{\n" + indent + step + "int current = 0;\n";
    const auto add = [&](const std::string& line) { block += indent + step + line + "\n"; };
    add(checked("cudaGetDevice(&current)", wrapper));
    for (const auto& [device, peer] : {std::pair(to, from), std::pair(from, to)}) {
        add(checked(fmt::format("cudaSetDevice({})", device), wrapper));
        add(fmt::format("if (cudaDeviceEnablePeerAccess({}, 0) != cudaSuccess) cudaGetLastError();", peer));
    }
    add(checked("cudaSetDevice(current)", wrapper));
    const std::size_t at = line_begin(text, place.begin());
    return {.edits = {{at, at, block + indent + "}\n"}},
            .assumes = {"nothing else enables this access later: that would fail"}};
}

} // namespace umadvisor::patch
