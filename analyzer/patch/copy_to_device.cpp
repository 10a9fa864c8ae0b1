/// Memory of the host that kernels read across the link again and again is copied to the device once.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"
#include "analyzer/patch/kernels.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace umadvisor::patch {
namespace {

/// Page-locked memory: its name on the host, the name by which kernels reach it, and its size.
struct Mapped {
    std::string_view host, device, bytes;
    Node made;
};

Mapped mapped_memory(const Request& request, const Node& function) {
    const std::optional<advice::ResolvedPlace>& memory = request.finding.memory;
    if (!memory || memory->place.file != request.finding.line.place.file)
        return {};
    const Node call = only_call(request.source, memory->place.line, "cuda");
    const std::string_view name = call ? called_name(call) : std::string_view();
    if ((name != "cudaHostAlloc" && name != "cudaMallocHost") || arguments(call).size() < 2 ||
        !(function_of(call) == function))
        return {};
    Mapped mapped{plain(arguments(call)[0]).text(), plain(arguments(call)[0]).text(), arguments(call)[1].text(),
                  call};
    for (const Node& each : calls_of(function, "cudaHostGetDevicePointer"))
        if (arguments(each).size() == 3 && plain(arguments(each)[1]).text() == mapped.host)
            mapped.device = plain(arguments(each)[0]).text();
    return mapped;
}

} // namespace

Draft copy_to_device(const Request& request) {
    const std::string& text = request.source.text();
    Node launch;
    for (const Node& call : calls_at(request.source, request.finding.line.place.line))
        if (!launch_configuration(call).empty())
            launch = call;
    const Node function = launch ? function_of(launch) : Node();
    const std::vector<Node> around = launch ? loops_around(launch) : std::vector<Node>();
    const Mapped mapped = function ? mapped_memory(request, function) : Mapped{};
    if (mapped.host.empty() || around.empty())
        return {.refused = "its memory is allocated in another function, or its launch stands in no loop"};
    const Node loop = around.back();
    const std::vector<Node> given = arguments(launch);
    Node argument;
    for (std::size_t i = 0; i < given.size(); ++i)
        if (plain(given[i]).text() == mapped.device || plain(given[i]).text() == mapped.host) {
            if (argument || !only_reads(request.source, called_name(launch), i))
                return {.refused = "its kernel may write the memory"};
            argument = plain(given[i]);
        }
    if (!argument || argument.kind() != "identifier")
        return {.refused = "its launch does not name the memory as an argument of its own"};
    const std::string name = std::string(argument.text()) + "_on_device";
    if (mentions(request.source.root(), name))
        return {.refused = fmt::format("the source has a {} already", name)};
    for (const std::string_view each : {mapped.host, mapped.device})
        if (changes(loop, each) || declares(loop, each))
            return {.refused = "the loop may write the memory, or exchange it"};
    for (const Node& call : calls_of(loop))
        if (!(call == launch))
            for (const Node& other : arguments(call))
                if (base_of(other).text() == mapped.host || base_of(other).text() == mapped.device)
                    return {.refused = "the loop passes the memory to another function"};
    for (const std::string_view each : names_in(arguments(mapped.made)[1]))
        if (!is_there(each, loop) || changes(function, each))
            return {.refused = "its size may have changed"};
    if (!block_of(loop) || !is_alone(text, loop) || leaves_early(loop))
        return {.refused = "its loop shares a line with other code, or is left by return"};
    const std::string indent = indent_at(text, loop.begin());
    const std::string_view wrapper = wrapper_near(launch);
    const std::size_t begin = line_begin(text, loop.begin()), end = line_end(text, loop.end());
    const auto line = [&](const std::string& call) { return indent + checked(call, wrapper) + "\n"; };
    return {.edits = {{begin, begin,
                       fmt::format("{}decltype({}) {} = nullptr;\n", indent, argument.text(), name) +
                           line(fmt::format("cudaMalloc(&{}, {})", name, mapped.bytes)) +
                           line(fmt::format("cudaMemcpy({}, {}, {}, cudaMemcpyHostToDevice)", name, mapped.host,
                                            mapped.bytes))},
                      {argument.begin(), argument.end(), name},
                      {end, end, line(fmt::format("cudaFree({})", name))}},
            .assumes = {fmt::format("no other thread writes {} while the loop runs", mapped.host)}};
}

} // namespace umadvisor::patch
