/// A launch on the default stream, for which other streams wait, gets a stream of its own.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"

#include <fmt/format.h>

namespace umadvisor::patch {

Draft own_stream(const Request& request) {
    const std::string& text = request.source.text();
    Node launch;
    for (const Node& call : calls_at(request.source, request.finding.line.place.line))
        if (!launch_configuration(call).empty())
            launch = call;
    const std::vector<Node> around = launch ? loops_around(launch) : std::vector<Node>();
    if (around.empty() || !block_of(around.back()) || !is_alone(text, around.back()))
        return {.refused = "its line has no launch in a loop of its function"};
    const Node loop = around.back();
    if (leaves_early(loop) || mentions(function_of(launch), "own_stream"))
        return {.refused = "its loop is left by return, or its function has an own_stream already"};
    const std::vector<Node> configuration = launch_configuration(launch);
    const Node last = configuration.back();
    TextEdit stream{last.end(), last.end(), configuration.size() == 3 ? ", own_stream" : ", 0, own_stream"};
    if (configuration.size() == 4)
        stream = {last.begin(), last.end(), "own_stream"};
    const std::string indent = indent_at(text, loop.begin());
    const std::string_view wrapper = wrapper_near(launch);
    const auto line = [&](std::string_view call) { return indent + checked(call, wrapper) + "\n"; };
    const std::size_t begin = line_begin(text, loop.begin()), end = line_end(text, loop.end());
    return {.edits = {{begin, begin,
                       indent + "cudaStream_t own_stream;\n" +
                           line("cudaStreamCreateWithFlags(&own_stream, cudaStreamNonBlocking)") +
                           line("cudaDeviceSynchronize()")},
                      stream,
                      {end, end,
                       line("cudaStreamSynchronize(own_stream)") + line("cudaStreamDestroy(own_stream)")}},
            .assumes = {"in other runs, too, no other work of the loop uses the memory of this kernel"}};
}

} // namespace umadvisor::patch
