/// A download goes to page-locked memory, which PyTorch keeps for the next.
#include "analyzer/patch/python/makers.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace umadvisor::patch::python {
namespace {

bool is_download(const Node& call) {
    if (calls_method(call, "cpu"))
        return true;
    const Node target = callee(call) == "to" && object_of(call) ? only_argument(call) : Node();
    return target && (target.text() == "\"cpu\"" || target.text() == "'cpu'");
}

/// Returns whether the next round gives its name another value, and nothing else keeps it.
bool is_dropped(const Node& call) {
    const Node statement = whole_statement(call);
    const std::vector<Node> parts = statement.children();
    if (parts.size() != 1 || parts[0].kind() != "assignment" || parts[0].field("left").kind() != "identifier" ||
        !parts[0].field("right") || loops_over(call).empty())
        return false;
    // A chain of methods on it alone: not an element of a list, nor an argument.
    for (Node node = call; node != parts[0]; node = node.parent())
        if (node.kind() != "call" && node.kind() != "attribute")
            return false;
    const std::string_view name = parts[0].field("left").text();
    const Variable variable = variable_at(call, name);
    return !variable.shared &&
           !has_use(loops_over(call).front(), name, {Use::aliased, Use::passed, Use::stored});
}

} // namespace

Draft download_to_pinned(const Request& request) {
    const Syntax& source = request.source;
    Node download;
    for (const Node& call : calls_on(source, request.finding.line.place.line))
        if (is_download(call)) {
            if (download)
                return {.refused = "its line downloads several tensors"};
            download = call;
        }
    if (!download)
        return {.refused = std::string(other_form)};
    if (!is_torch_alone(source))
        return {.refused = std::string(other_library)};
    const Node tensor = object_of(download);
    if (!is_simple(tensor))
        return {.refused = "the tensor that it downloads has no name"};
    const Node method = download.parent();
    const bool pinned = method.kind() == "attribute" && calls_method(method.parent(), "pin_memory");
    if (!pinned && !is_dropped(download))
        return {.refused = "the program may keep what it downloads: all of it would stay page-locked"};
    Draft draft;
    draft.edits = {instead(
        pinned ? method.parent() : download,
        fmt::format("torch.empty_like({0}, device=\"cpu\", pin_memory=True).copy_({0})", tensor.text()))};
    draft.assumes = {fmt::format("{} is a tensor of PyTorch on the device", tensor.text())};
    return draft;
}

} // namespace umadvisor::patch::python
