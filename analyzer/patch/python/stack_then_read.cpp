/// A list of scalars on the device is read with one copy.
#include "analyzer/patch/python/makers.hpp"

#include <fmt/format.h>

namespace umadvisor::patch::python {

namespace {

/// Not a number in one round and a tensor in the next.
bool has_one_form(const Node& element) {
    return element.kind() == "identifier" || element.kind() == "subscript" || element.kind() == "attribute" ||
           element.kind() == "call";
}

} // namespace

Draft stack_then_read(const Request& request) {
    const Syntax& source = request.source;
    Node made;
    for (const Node& call : calls_on(source, request.finding.line.place.line)) {
        const Node list = call.field("function").text() == "torch.tensor" ? only_argument(call) : Node();
        if (!list || list.kind() != "identifier")
            continue;
        if (made)
            return {.refused = "its line reads several lists"};
        made = call;
    }
    if (!made)
        return {.refused = std::string(other_form)};
    if (!is_torch_alone(source))
        return {.refused = std::string(other_library)};
    if (source.text().find("set_default_") != std::string::npos ||
        source.text().find("with torch.device") != std::string::npos)
        return {.refused = "the file may have PyTorch make tensors on the device"};
    const std::string_view name = only_argument(made).text();
    const Variable variable = variable_at(made, name);
    if (variable.shared)
        return {.refused = fmt::format("{} is used by several functions", name)};
    std::size_t appends = 0;
    for (const Node& use : uses(variable.home, name)) {
        const Node method = use.parent();
        const Node call = method.parent();
        const bool append = call.kind() == "call" && method.kind() == "attribute" && callee(call) == "append" &&
                            only_argument(call) && has_one_form(only_argument(call));
        const Use how = use_of(use);
        if (append && !loops_over(call).empty())
            ++appends;
        else if (how != Use::read && how != Use::bound)
            return {.refused = fmt::format("{} is not appended to alone", name)};
    }
    for (const Binding& binding : variable.bindings)
        if (!binding.value || binding.value.text() != "[]")
            return {.refused = fmt::format("the text does not show that {} starts as an empty list", name)};
    if (appends != 1 || variable.bindings.size() != 1)
        return {.refused = fmt::format("{} is appended to at several places, or at none", name)};
    Draft draft;
    draft.edits = {instead(made, fmt::format("torch.stack({}).detach().cpu()", name))};
    draft.assumes = {
        fmt::format("{} is not empty, and its elements are tensors of PyTorch with one number, of the "
                    "same type and on the same device",
                    name)};
    return draft;
}

} // namespace umadvisor::patch::python
