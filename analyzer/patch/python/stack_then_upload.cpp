/// Tensors that are uploaded one by one and then stacked are stacked on the host and uploaded with one copy.
#include "analyzer/patch/python/makers.hpp"

#include <fmt/format.h>

namespace umadvisor::patch::python {
namespace {

/// The call of "x.cuda()" or "x.to(dev)" in "[x.to(dev) for x in xs]"; null: the list has another form.
Node upload_in(const Node& list) {
    const std::vector<Node> parts = list.kind() == "list_comprehension" ? list.children() : std::vector<Node>();
    if (parts.size() != 2 || parts[1].kind() != "for_in_clause")
        return {};
    const Node call = parts[0];
    if (calls_method(call, "cuda"))
        return call;
    return callee(call) == "to" && object_of(call) && only_argument(call) ? call : Node();
}

/// Returns whether the argument of `to` is a device: by its text, or by all values that its name gets.
bool is_device(const Node& argument, const Node& clause) {
    const auto is_one = [](const Node& value) {
        return value && ((value.kind() == "string" && value.text().find("cuda") != std::string_view::npos) ||
                         (value.kind() == "call" && value.field("function").text() == "torch.device"));
    };
    if (argument.kind() != "identifier")
        return is_one(argument);
    for (const std::string_view name : names_of(clause.field("left")))
        if (name == argument.text())
            return false;
    const Variable variable = variable_at(argument, argument.text());
    bool all = !variable.bindings.empty();
    for (const Binding& binding : variable.bindings)
        all &= is_one(binding.value);
    return all;
}

} // namespace

Draft stack_then_upload(const Request& request) {
    Node stack, upload;
    for (const Node& call : calls_on(request.source, request.finding.line.place.line)) {
        if (call.field("function").text() != "torch.stack" || call_arguments(call).empty() ||
            !upload_in(call_arguments(call)[0]))
            continue;
        if (stack)
            return {.refused = "its line stacks several lists"};
        stack = call;
        upload = upload_in(call_arguments(call)[0]);
    }
    if (!stack)
        return {.refused = std::string(other_form)};
    if (callee(upload) == "to" && !is_device(only_argument(upload), call_arguments(stack)[0].children()[1]))
        return {.refused = "the text does not show that the argument of .to() is a device"};
    for (const Node& argument : call_arguments(stack))
        if (argument.kind() == "keyword_argument" && argument.field("name").text() == "out")
            return {.refused = "it stacks into a tensor of its own"};
    const Node element = object_of(upload);
    const std::string method(request.source.text().substr(element.end(), upload.end() - element.end()));
    Draft draft;
    draft.edits = {{element.end(), upload.end(), ""}, {stack.end(), stack.end(), method}};
    draft.assumes = {fmt::format("{} is on the host in all rounds", element.text())};
    return draft;
}

} // namespace umadvisor::patch::python
