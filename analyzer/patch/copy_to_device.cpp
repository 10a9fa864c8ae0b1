/// Memory of the host that kernels read across the link again and again is copied to the device once.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"
#include "analyzer/patch/kernels.hpp"
#include "analyzer/patch/memory_uses.hpp"
#include "analyzer/patch/uses.hpp"

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

/// Returns whether all that the launch could get instead holds the same: memory that the function copied it to.
bool holds_copies(const Node& function, const Mapped& mapped, std::string_view name) {
    bool copies = true;
    function.walk([&](const Node& node) {
        if (node.kind() != "assignment_expression" || plain(node.field("left")).text() != name)
            return copies;
        const std::vector<Node> made = calls_of(function, "cudaMemcpy");
        copies &= std::ranges::any_of(made, [&](const Node& call) {
            return arguments(call).size() == 4 &&
                   plain(arguments(call)[0]).text() == node.field("right").text() &&
                   plain(arguments(call)[1]).text() == mapped.host;
        });
        return copies;
    });
    return copies;
}

/// Returns whether the copy that is declared by `decltype` can be written: the variable is a pointer to what
/// may change.
bool is_plain_pointer(const Node& function, std::string_view name) {
    const std::vector<Node> declarations = declarations_of(function, name);
    return !declarations.empty() && std::ranges::all_of(declarations, [name](const Node& node) {
        const Node declared = declarator_of(node, name);
        return declared.kind() == "pointer_declarator" &&
               declared_by(declared) == declared.field("declarator") &&
               node.text().find("const") == std::string_view::npos &&
               node.text().find("static") == std::string_view::npos;
    });
}

/// Returns whether a call of the function, other than the launch, may write the memory later than it returns.
bool is_written_later(const Syntax& source, const Node& function, const Node& launch, const Mapped& mapped) {
    for (const Node& call : calls_of(function)) {
        const bool kernel = !launch_configuration(call).empty();
        if (call == launch || (!kernel && !called_name(call).ends_with("Async")))
            continue;
        const std::vector<Node> given = arguments(call);
        for (std::size_t i = 0; i < given.size(); ++i) {
            const std::string_view base = base_of(given[i]).text();
            if ((base == mapped.host || base == mapped.device) &&
                !(kernel && only_reads(source, called_name(call), i)))
                return true;
        }
    }
    return false;
}

} // namespace

Draft copy_to_device(const Request& request) {
    const std::string& text = request.source.text();
    const Node launch = only_launch(request.source, request.finding.line.place.line);
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
        } else if (const std::string_view base = base_of(given[i]).text();
                   base == mapped.device || base == mapped.host)
            return {.refused = "its kernel may write the memory"};
    if (!argument || argument.kind() != "identifier")
        return {.refused = "its launch does not name the memory as an argument of its own"};
    const std::string name = std::string(argument.text()) + "_on_device";
    if (mentions(request.source.root(), name))
        return {.refused = fmt::format("the source has a {} already", name)};
    for (const std::string_view each : {mapped.host, mapped.device})
        if (changes(loop, each) || declares(loop, each) || !is_there(each, loop) ||
            has_other_name(function, each))
            return {.refused = "the loop may write the memory, or exchange it"};
    if (!is_plain_pointer(function, argument.text()))
        return {.refused = fmt::format("{} is not declared in its function as a pointer that may change",
                                       argument.text())};
    if (changes(function, mapped.host, Changed::itself, {mapped.made}) ||
        (mapped.device != mapped.host && !holds_copies(function, mapped, mapped.device)))
        return {.refused = "its launch may get other memory in other runs"};
    if (is_written_later(request.source, function, launch, mapped))
        return {.refused = "a kernel or an asynchronous copy before the loop may still write the memory"};
    if (is_repeated(request))
        return {.refused = "its function is called in a loop, and would copy the memory each time"};
    for (const Node& call : calls_of(loop))
        if (!(call == launch))
            for (const Node& other : arguments(call))
                if (base_of(other).text() == mapped.host || base_of(other).text() == mapped.device)
                    return {.refused = "the loop passes the memory to another function"};
    for (const std::string_view each : names_in(arguments(mapped.made)[1]))
        if (!is_there(each, loop) || declares(loop, each) || changes(function, each))
            return {.refused = "its size may have changed"};
    if (has_effect(arguments(mapped.made)[1]))
        return {.refused = "its size is computed by a call"};
    if (!block_of(loop) || !is_alone(text, loop) || leaves_early(loop))
        return {.refused = "its loop shares a line with other code, or is left by return"};

    bool jumps = false;
    function.walk([&jumps](const Node& node) { return !(jumps |= node.kind() == "goto_statement"); });
    if (jumps)
        return {.refused = "its function has a goto, which may pass by a new variable"};
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
            .introduces = {name},
            .assumes = {fmt::format("no other thread writes {} while the loop runs", mapped.host)}};
}

} // namespace umadvisor::patch
