/// A launch on the default stream, for which other streams wait, gets a stream of its own.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"
#include "analyzer/patch/kernels.hpp"
#include "analyzer/patch/memory_uses.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace umadvisor::patch {
namespace {

/// Returns whether the kernel may reach memory that its arguments do not show.
bool uses_device_variables(const Syntax& source, std::string_view kernel) {
    const Node definition = definition_of(source, kernel);
    bool found = !definition;
    source.root().walk([&](const Node& node) {
        const std::string_view text = node.kind() == "declaration" ? node.text() : std::string_view();
        if (text.find("__device__") != std::string_view::npos ||
            text.find("__managed__") != std::string_view::npos ||
            text.find("__constant__") != std::string_view::npos)
            for (const Node& child : node.children())
                if (const Node name = declared_by(child))
                    found |= mentions(definition, name.text());
        return !found && node.kind() != "function_definition";
    });
    return found;
}

/// Returns whether something else in the loop uses what the launch gets, or waits for the default stream alone.
bool is_used_beside(const Node& loop, const Node& launch) {
    const Node function = function_of(launch);
    std::set<std::string_view> names;
    for (const Node& argument : arguments(launch))
        names.merge(names_in(argument));
    std::erase_if(names, [&](std::string_view name) { return is_number(function, name); });
    if (std::ranges::any_of(names, [&](std::string_view name) {
            return has_other_name(function, name) || is_other_name(function, name);
        }))
        return true;
    bool used = false;
    loop.walk([&](const Node& node) {
        used |= node.kind() == "identifier" && names.contains(node.text());
        const bool records = node.kind() == "call_expression" && called_name(node) == "cudaEventRecord";
        if (records || (node.kind() == "call_expression" && called_name(node) == "cudaStreamSynchronize")) {
            const std::vector<Node> given = arguments(node);
            const std::size_t number = records ? 1 : 0;
            const std::string_view stream = number < given.size() ? given[number].text() : "0";
            used |= stream == "0" || stream == stream_of(launch);
        }
        return !used && node != launch;
    });
    return used;
}

} // namespace

Draft own_stream(const Request& request) {
    const std::string& text = request.source.text();
    const Node launch = only_launch(request.source, request.finding.line.place.line);
    const std::vector<Node> around = launch ? loops_around(launch) : std::vector<Node>();
    if (around.empty() || !block_of(around.back()) || !is_alone(text, around.back()))
        return {.refused = "its line has no launch in a loop of its function"};
    const Node loop = around.back();
    if (leaves_early(loop) || mentions(function_of(launch), "own_stream"))
        return {.refused = "its loop is left by return, or its function has an own_stream already"};
    if (request.device.empty())
        return {.refused = "the run used several devices, and a stream belongs to one"};
    if (is_used_beside(loop, launch) || uses_device_variables(request.source, called_name(launch)))
        return {.refused = "the loop may use the memory of its kernel at another place"};
    const std::vector<Node> configuration = launch_configuration(launch);
    if (configuration.size() == 4)
        for (const std::string_view name : names_in(configuration[3]))
            if (declares(loop, name) || changes(loop, name))
                return {.refused = "its stream is not the same in each round"};
    if (is_repeated(request))
        return {.refused = "its function is called in a loop, and would make a stream each time"};
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
            .introduces = {"own_stream"},
            .assumes = {"in other runs, too, no other work of the loop uses the memory of this kernel"}};
}

} // namespace umadvisor::patch
