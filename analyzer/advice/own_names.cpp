#include "analyzer/advice/own_names.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace umadvisor::advice {
namespace {

using symbols::CallKind;
using symbols::CodePlace;
using symbols::SourceCall;

/// Which line has the name: the finding's own, or this where it is the only one; the first of its further
/// lines; the allocation's; or those of all launches that it names.
enum class Of : std::uint8_t { own, only, place, allocation, launches };

/// A placeholder in a rule's remedy, and the argument of the program's call that replaces it.
struct Name {
    std::string_view rule; ///< its id, or what ids begin with
    std::string_view name;
    Of of;
    CallKind kind;
    std::string SourceCall::*argument;
};
constexpr Name known_names[] = {
    {"UMA-105", "source", Of::own, CallKind::copy, &SourceCall::from},
    {"UMA-105", "destination", Of::own, CallKind::copy, &SourceCall::pointer},
    {"UMA-105", "bytes", Of::own, CallKind::copy, &SourceCall::bytes},
    {"UMA-108", "destination", Of::only, CallKind::copy, &SourceCall::pointer},
    {"UMA-108", "bytes", Of::only, CallKind::copy, &SourceCall::bytes},
    {"UMA-111", "to", Of::place, CallKind::copy, &SourceCall::pointer},
    {"UMA-111", "from", Of::own, CallKind::copy, &SourceCall::from},
    {"UMA-111", "bytes", Of::own, CallKind::copy, &SourceCall::bytes},
    {"UMA-114", "to", Of::own, CallKind::copy, &SourceCall::pointer},
    {"UMA-114", "bytes", Of::own, CallKind::copy, &SourceCall::bytes},
    {"UMA-115", "to", Of::own, CallKind::copy, &SourceCall::pointer},
    {"UMA-115", "from", Of::place, CallKind::copy, &SourceCall::pointer},
    {"UMA-115", "bytes", Of::own, CallKind::copy, &SourceCall::bytes},
    {"UMA-121", "host", Of::allocation, CallKind::allocation, &SourceCall::pointer},
    {"UMA-122", "host", Of::allocation, CallKind::allocation, &SourceCall::pointer},
    {"UMA-2", "ptr", Of::allocation, CallKind::allocation, &SourceCall::pointer},
    {"UMA-2", "bytes", Of::allocation, CallKind::allocation, &SourceCall::bytes},
    {"UMA-2", "stream", Of::launches, CallKind::launch, &SourceCall::stream},
    {"UMA-503", "ptr", Of::own, CallKind::free, &SourceCall::pointer},
    {"UMA-504", "event", Of::own, CallKind::query, &SourceCall::pointer},
    {"UMA-504", "stream", Of::own, CallKind::query, &SourceCall::stream},
    {"UMA-601", "stream", Of::launches, CallKind::launch, &SourceCall::stream},
    {"UMA-602", "stream", Of::own, CallKind::copy, &SourceCall::stream},
    {"UMA-603", "memory", Of::own, CallKind::free, &SourceCall::pointer},
};

bool is_simple(std::string_view expression) {
    return std::ranges::all_of(
        expression, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

/// The argument instead; nothing: it is no placeholder.
std::optional<std::string> replaced(std::string_view argument, const OwnNames& names) {
    const std::string_view whole = argument.substr(0, argument.find(" / "));
    const auto known = std::ranges::find(names, whole, &OwnNames::value_type::first);
    if (known == names.end())
        return std::nullopt;
    const std::string_view rest = argument.substr(whole.size());
    return (rest.empty() || is_simple(known->second) ? known->second : "(" + known->second + ")") +
           std::string(rest);
}

/// A variable or member, and no part of what it points to.
bool is_whole(std::string_view expression) {
    const std::size_t arrow = expression.find("->");
    if (arrow != expression.npos)
        return is_whole(expression.substr(0, arrow)) && is_whole(expression.substr(arrow + 2));
    const std::size_t dot = expression.find('.');
    if (dot != expression.npos)
        return is_whole(expression.substr(0, dot)) &&
               (expression.substr(dot) == ".data()" || is_whole(expression.substr(dot + 1)));
    return !expression.empty() && is_simple(expression);
}

/// One finding, with what its lines say.
class Remedy {
public:
    Remedy(const rules::Finding& finding, symbols::Symbolizer& symbolizer)
        : finding_(finding), symbolizer_(symbolizer) {}

    /// The names for the remedy's text. The remedy of UMA-111 stands at the upload, where the detour ends.
    OwnNames names() {
        const bool at_place = id() == "UMA-111" && !finding_.places.empty();
        return names_at(at_place ? finding_.places.front().second : finding_.stack);
    }

    OwnNames names_at(ids::StackId stack) {
        OwnNames names;
        if (!stack.known() || id() == "UMA-218") // its ptr is the lowest of several, as its text says
            return names;
        const CodePlace at = symbolizer_.line(stack);
        for (const Name& each : known_names)
            if (id().starts_with(each.rule))
                if (std::string value = value_of(each, at); !value.empty())
                    names.emplace_back(each.name, std::move(value));
        if (id() == "UMA-101" || id() == "UMA-102")
            if (std::string host = host_end(at); is_whole(host))
                names.emplace_back("this buffer", "this buffer (" + host + ")");
        return names;
    }

private:
    std::string_view id() const { return finding_.rule->id; }

    /// The lines that may have it; several must agree.
    std::vector<ids::StackId> lines_of(Of of) const {
        std::vector<ids::StackId> stacks;
        if (of == Of::own || of == Of::launches || (of == Of::only && finding_.places.empty()))
            stacks.push_back(finding_.stack);
        if (of == Of::allocation)
            stacks.push_back(finding_.allocation_stack);
        for (const auto& [what, stack] : finding_.places)
            if (of == Of::launches || (of == Of::place && stacks.empty()) ||
                (of == Of::allocation && what.starts_with("this memory, too")))
                stacks.push_back(stack);
        return stacks;
    }

    std::string value_of(const Name& name, const CodePlace& at) {
        std::string value;
        for (const ids::StackId stack : lines_of(name.of)) {
            const CodePlace from = stack.known() ? symbolizer_.line(stack) : CodePlace();
            const SourceCall call = symbolizer_.source_call(from);
            if (name.of == Of::launches && call.kind != name.kind)
                continue;
            const std::string& found = call.*name.argument;
            const bool holds = call.kind == name.kind && !found.empty() &&
                               (found == "0" || symbolizer_.holds_at(found, from, at));
            if (!holds || (!value.empty() && value != found))
                return {};
            value = found;
        }
        return value;
    }

    /// The host's pointer of the copy at this line; empty where the source does not say which argument that is.
    std::string host_end(const CodePlace& at) {
        const SourceCall copy = symbolizer_.source_call(at);
        return copy.copies == "cudaMemcpyHostToDevice"   ? copy.from
               : copy.copies == "cudaMemcpyDeviceToHost" ? copy.pointer
                                                         : std::string();
    }

    const rules::Finding& finding_;
    symbols::Symbolizer& symbolizer_;
};

/// In the list of arguments that begins at `open`; where it ends.
std::size_t replace_arguments(std::string& text, std::size_t open, const OwnNames& names) {
    int depth = 0;
    std::size_t begin = open + 1;
    for (std::size_t at = open; at < text.size(); ++at) {
        const char c = text[at];
        depth += c == '(' || c == '{' ? 1 : 0;
        if ((c == ',' && depth == 1) || (c == ')' && depth == 1)) {
            begin = std::min(text.find_first_not_of(' ', begin), at);
            if (const auto own = replaced(std::string_view(text).substr(begin, at - begin), names)) {
                text.replace(begin, at - begin, *own);
                at = begin + own->size();
            }
            begin = at + 1;
        }
        depth -= c == ')' || c == '}' ? 1 : 0;
        if (depth == 0)
            return at;
    }
    return text.size();
}

} // namespace

std::string in_own_names(std::string text, const OwnNames& names) {
    for (const auto& [name, own] : names)
        if (const std::size_t at = name.find(' ') != name.npos ? text.find(name) : text.npos; at != text.npos)
            text.replace(at, name.size(), own);
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text.compare(at, 2, "cu") != 0 ||
            (at > 0 && std::string_view(" ({").find(text[at - 1]) == std::string_view::npos))
            continue;
        const std::size_t behind = std::min(
            text.size(),
            text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", at));
        at = behind < text.size() && text[behind] == '(' ? replace_arguments(text, behind, names) : behind - 1;
    }
    return text;
}

void advise_in_own_names(std::vector<rules::Finding>& findings, symbols::Symbolizer& symbolizer) {
    for (rules::Finding& finding : findings) {
        Remedy remedy(finding, symbolizer);
        // The advice on order names other streams and events than the remedy, so it keeps its placeholders.
        const std::string order = finding.advice.ends_with(finding.order_advice) ? finding.order_advice : "";
        finding.advice.resize(finding.advice.size() - order.size());
        finding.advice = in_own_names(std::move(finding.advice), remedy.names()) + order;
        for (rules::CodeEdit& edit : finding.code_edits)
            edit.text = in_own_names(std::move(edit.text), remedy.names_at(edit.stack));
    }
}

} // namespace umadvisor::advice
