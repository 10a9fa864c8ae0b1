/// Tensors of a list that each round page-locks are page-locked once, before the loop.
#include "analyzer/patch/python/makers.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace umadvisor::patch::python {
namespace {

/// Returns whether every value of the variable is a list of tensors that were made for it.
bool is_own_list(const Variable& variable) {
    return !variable.bindings.empty() && std::ranges::all_of(variable.bindings, [](const Binding& binding) {
        return binding.value && binding.value.kind() == "list_comprehension" &&
               binding.value.children().front().kind() == "call";
    });
}

/// Returns whether this use of an element only uploads it or reads of it.
bool uploads(const Node& use) {
    Node call = use.parent().kind() == "attribute" ? use.parent().parent() : Node();
    if (call && calls_method(call, "pin_memory") && call.parent().kind() == "attribute")
        call = call.parent().parent();
    const std::string_view name = call && call.kind() == "call" ? callee(call) : std::string_view();
    return name == "to" || name == "cuda" || use_of(use) == Use::read;
}

} // namespace

Draft pin_before_loop(const Request& request) {
    const Syntax& source = request.source;
    Node pin;
    for (const Node& call : calls_on(source, request.finding.line.place.line))
        if (calls_method(call, "pin_memory")) {
            if (pin)
                return {.refused = "its line page-locks several tensors"};
            pin = call;
        }
    if (!pin || object_of(pin).kind() != "identifier")
        return {.refused = std::string(other_form)};
    if (!is_torch_alone(source))
        return {.refused = std::string(other_library)};
    const std::string_view each = object_of(pin).text();
    const std::vector<Node> loops = loops_over(pin);
    const auto over = std::ranges::find_if(loops, [&](const Node& loop) {
        return loop.kind() == "for_statement" && loop.field("left").text() == each &&
               loop.field("right").kind() == "identifier";
    });
    if (over == loops.end())
        return {.refused = "no loop over a list gives it the tensor"};
    const Node inner = *over;
    for (const Node& use : uses(inner, each))
        if (use != inner.field("left") && !uploads(use))
            return {.refused = fmt::format("the loop may change {}, or keep it", each)};
    const std::string_view name = inner.field("right").text();
    const Variable list = variable_at(inner, name);
    if (list.shared)
        return {.refused = fmt::format("{} is used by several functions", name)};
    if (!is_own_list(list) || may_change_with_others(list, inner))
        return {.refused = fmt::format("the text does not show that {} is a list of tensors of its own", name)};
    Node outermost;
    for (auto loop = over; loop != loops.end(); ++loop) {
        if (has_use(*loop, name, {Use::bound, Use::stored, Use::passed}))
            break;
        outermost = *loop;
    }
    if (!outermost || has_use(list.home, name, {Use::aliased}) || !is_bound_before(list, outermost))
        return {.refused = fmt::format("the loop changes {}, or it may have another name", name)};
    Draft draft;
    draft.edits = {lines_before(source.text(), outermost,
                                {fmt::format("{0} = [{1}.pin_memory() for {1} in {0}]", name, each)}),
                   {object_of(pin).end(), pin.end(), ""}};
    draft.assumes = {fmt::format("all tensors of {} may stay page-locked at the same time", name),
                     "nothing changes them while the loop runs"};
    return draft;
}

} // namespace umadvisor::patch::python
