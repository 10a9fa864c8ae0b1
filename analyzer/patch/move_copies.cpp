/// Uploads that only the first round of a loop needs are made before it, and downloads that it does not read
/// behind.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"
#include "analyzer/patch/kernels.hpp"
#include "analyzer/patch/memory_uses.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <optional>

namespace umadvisor::patch {
namespace {

constexpr std::string_view up = "cudaMemcpyHostToDevice", down = "cudaMemcpyDeviceToHost";

bool is_copy(const Node& call, std::string_view kind) {
    const std::string_view name = called_name(call);
    return (name == "cudaMemcpy" || name == "cudaMemcpyAsync") && arguments(call).size() >= 4 &&
           arguments(call)[3].text() == kind;
}

/// The value of a number, or of a constant that the source gives one; 0: it is not known.
std::uint64_t value_of(const Syntax& source, const Node& expression) {
    std::uint64_t value = 0;
    const std::string_view text = expression.text();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size())
        return value;
    if (expression.kind() != "identifier")
        return 0;
    std::size_t found = 0;
    source.root().walk([&](const Node& node) {
        if (node.kind() == "init_declarator" && declared_by(node).text() == text) {
            const std::string_view given = node.field("value").text();
            const bool constant = node.parent().text().find("const") != std::string_view::npos;
            const auto [last, wrong] = std::from_chars(given.data(), given.data() + given.size(), value);
            if (!constant || wrong != std::errc() || last != given.data() + given.size())
                value = 0;
            ++found;
        }
        return true;
    });
    return found == 1 ? value : 0;
}

/// How many elements an array of the function has; 0: it is not known.
std::uint64_t elements_of(const Syntax& source, const Node& function, std::string_view name) {
    std::uint64_t count = 0;
    function.walk([&](const Node& node) {
        if (node.kind() == "array_declarator" && declared_by(node).text() == name)
            count = value_of(source, node.field("size"));
        return true;
    });
    return count;
}

/// How often a loop runs its body; 0: it is not known.
std::uint64_t rounds_of(const Syntax& source, const Node& loop) {
    if (loop.kind() == "for_range_loop")
        return elements_of(source, function_of(loop), loop.field("right").text());
    const Node begin = loop.field("initializer"), test = loop.field("condition"), next = loop.field("update");
    const bool counts = begin.kind() == "declaration" && begin.children().size() == 2 &&
                        begin.children()[1].field("value").text() == "0" &&
                        test.field("operator").text() == "<" && next.kind() == "update_expression" &&
                        next.text().find("++") != std::string_view::npos;
    return counts ? value_of(source, test.field("right")) : 0;
}

/// A copy with the loops and conditions around it that do nothing else.
struct Moved {
    Node whole;
    std::uint64_t calls = 1; ///< each time; 0: it is not known
};

Moved widened(const Syntax& source, Node statement) {
    Moved moved{statement};
    for (;;) {
        Node outer = moved.whole.parent();
        if (outer.kind() == "compound_statement" && outer.children().size() == 1 &&
            (outer.parent().kind() == "for_statement" || outer.parent().kind() == "for_range_loop" ||
             outer.parent().kind() == "if_statement"))
            outer = outer.parent();
        const bool loop = outer.kind() == "for_statement" || outer.kind() == "for_range_loop";
        const bool condition = outer.kind() == "if_statement" && !outer.field("alternative") &&
                               !has_effect(outer.field("condition"));
        const std::uint64_t rounds = loop ? rounds_of(source, outer) : 1;
        if ((!loop && !condition) || rounds == 0)
            return moved;
        moved.whole = outer;
        moved.calls *= rounds;
    }
}

/// The names by which the loop reaches the memory that a pointer expression is of: its variable, what it is an
/// element of, and elements of that.
std::set<std::string_view> names_of(const Node& loop, const Node& pointer) {
    const Node base = base_of(pointer);
    std::set<std::string_view> names;
    if (!base)
        return names;
    std::string_view whole = base.text();
    for (Node around = pointer; around && !(around == loop); around = around.parent())
        if (around.kind() == "for_range_loop" && declared_by(around.field("declarator")).text() == whole)
            whole = base_of(around.field("right")).text();
    names.insert(whole);
    loop.walk([&](const Node& node) {
        if (node.kind() == "for_range_loop" && base_of(node.field("right")).text() == whole)
            names.insert(declared_by(node.field("declarator")).text());
        return true;
    });
    return names;
}

/// Returns whether the loop does more with the memory than to read single elements of it, apart from `except`,
/// or a kernel may write it.
bool may_write(const Syntax& source, const Node& loop, const std::set<std::string_view>& names,
               const std::vector<Node>& except) {
    const auto is_of_it = [&](const Node& node) { return names.contains(base_of(node).text()); };
    bool found = std::ranges::any_of(
        names, [&](std::string_view name) { return changes(loop, name, Changed::any_part, except); });
    loop.walk([&](const Node& node) {
        if (std::ranges::find(except, node) != except.end())
            return false;
        if (node.kind() != "call_expression" || node.field("function").kind() == "primitive_type")
            return !found;
        const bool launch = !launch_configuration(node).empty();
        const std::vector<Node> given = arguments(node);
        for (std::size_t i = 0; i < given.size(); ++i)
            found |= is_of_it(given[i]) && (!launch || (plain(given[i]).kind() != "field_expression" &&
                                                        !only_reads(source, called_name(node), i)));
        const Node method = node.field("function");
        found |= method.kind() == "field_expression" && is_of_it(method.field("argument")) &&
                 method.field("field").text() != "size" && method.field("field").text() != "empty";
        return !found;
    });
    return found;
}

/// Returns whether code that the loop calls may write what is no variable of its function.
bool calls_others(const Node& loop, const std::vector<Node>& except) {
    const std::string_view wrapper = wrapper_near(loop);
    bool found = false;
    loop.walk([&](const Node& node) {
        if (std::ranges::find(except, node) != except.end())
            return false;
        const std::string_view name = node.kind() == "call_expression" ? called_name(node) : "cuda";
        found |= !name.starts_with("cuda") && launch_configuration(node).empty() &&
                 node.field("function").text() != wrapper;
        return !found;
    });
    return found;
}

/// Returns whether what the loop does before the upload may use the device memory, or leave the round.
bool comes_late(const Node& block, const Node& upload, const std::set<std::string_view>& names) {
    bool late = false;
    for (const Node& before : block.children())
        if (before.end() <= upload.begin())
            before.walk([&](const Node& node) {
                late |= node.kind() == "break_statement" || node.kind() == "continue_statement" ||
                        (node.kind() == "identifier" && names.contains(node.text()));
                return !late;
            });
    return late;
}

/// Returns whether break or continue may pass by the end of a round.
bool leaves_rounds(const Node& loop) {
    bool found = leaves_early(loop);
    loop.walk([&found](const Node& node) {
        found |= node.kind() == "break_statement" || node.kind() == "continue_statement";
        return !found;
    });
    return found;
}

bool reads(const Node& loop, const std::set<std::string_view>& names, const std::vector<Node>& except) {
    bool found = false;
    loop.walk([&](const Node& node) {
        found |= node.kind() == "identifier" && names.contains(node.text());
        return !found && std::ranges::find(except, node) == except.end();
    });
    return found;
}

/// Returns whether the loop may change what conditions around a copy depend on.
bool may_differ(const Node& loop, const Node& statement, const std::vector<Node>& except) {
    bool found = false;
    statement.walk([&](const Node& node) {
        if (node.kind() == "if_statement")
            for (const std::string_view name : names_in(node.field("condition")))
                found |= changes(loop, name, Changed::any_part, except);
        return !found;
    });
    return found;
}

/// Returns whether the statement means the same outside of the loop.
bool holds_outside(const Node& loop, const Node& statement, const std::vector<Node>& except) {
    if (may_differ(loop, statement, except))
        return false;
    return std::ranges::none_of(names_in(statement), [&](std::string_view name) {
        if (declares(statement, name))
            return false;
        bool inside = false; // declared by the loop itself or in its block
        for (const Node& child : loop.children())
            inside |= child.kind() == "declaration" && declares(child, name);
        for (const Node& child : loop.field("body").children())
            inside |= child.kind() == "declaration" && declares(child, name);
        return inside || changes(loop, name, Changed::itself, except);
    });
}

/// "args[3]" and ".host" of "args[3].host".
std::pair<std::string_view, std::string_view> object_and_member(std::string_view expression) {
    const std::size_t at = std::min(expression.find_first_of(".-"), expression.size());
    return {expression.substr(0, at), expression.substr(at)};
}

/// The downloads of the loop that bring back what the upload brings: the same two places, or the same two
/// members of an object.
std::vector<Node> ways_back(const Node& loop, const Node& upload) {
    const std::string_view device = arguments(upload)[0].text(), host = arguments(upload)[1].text();
    std::vector<Node> found;
    for (const std::string_view name : {"cudaMemcpy", "cudaMemcpyAsync"})
        for (const Node& call : calls_of(loop, name)) {
            if (!is_copy(call, down))
                continue;
            const std::string_view to = arguments(call)[0].text(), from = arguments(call)[1].text();
            const auto [to_object, to_member] = object_and_member(to);
            const auto [from_object, from_member] = object_and_member(from);
            const bool of_one_object = to_object == from_object && !to_member.empty() && !from_member.empty() &&
                                       to_member == object_and_member(host).second &&
                                       from_member == object_and_member(device).second;
            if ((to == host && from == device) || of_one_object)
                found.push_back(call);
        }
    return found;
}

/// The uploads of a function that does nothing else; empty: it does.
std::vector<Node> uploads_of(const Syntax& source, const Node& function) {
    std::vector<Node> uploads;
    for (const Node& each : function.field("body").children()) {
        const Node call = only_call(source, each.first_line(), "cudaMemcpy");
        if (each.kind() == "comment")
            continue;
        if (!call || !is_copy(call, up) || !(statement_of(call).whole == each))
            return {};
        uploads.push_back(call);
    }
    return uploads;
}

/// The call of the function on the way to the finding's line; null: it is in another file.
Node caller_of(const Request& request, const Node& function) {
    const std::string_view name = function.field("declarator").field("declarator").text();
    for (const symbols::CodePlace& place : request.stack)
        if (place.file == request.finding.line.place.file && place.line != request.finding.line.place.line)
            for (const Node& call : calls_at(request.source, place.line))
                if (!holds(function, call) && (call.field("function").text() == name ||
                                               call.field("function").field("field").text() == name))
                    return call;
    return {};
}

/// Returns whether the loop shows that nothing but the upload writes the memory on the device.
bool leaves_device_memory(const Syntax& source, const Node& loop, const Node& except,
                          const std::string& device) {
    bool leaves = true;
    loop.walk([&](const Node& node) {
        if (node == except)
            return false;
        if (node.kind() == "call_expression") {
            const std::vector<Node> given = arguments(node);
            for (std::size_t i = 0; i < given.size(); ++i)
                if (given[i].text().find(device) != std::string_view::npos)
                    leaves &= plain(given[i]).text() == device && !launch_configuration(node).empty() &&
                              only_reads(source, called_name(node), i);
        }
        return leaves;
    });
    return leaves && !device.empty();
}

Draft moved_out(const Request& request, const Node& upload) {
    const Syntax& source = request.source;
    const std::string& text = source.text();
    const Node direct = statement_of(upload).whole;
    const bool in_loop = direct && !loops_around(direct).empty();
    const Node function = function_of(upload);
    const Node call = in_loop ? upload : caller_of(request, function);
    const std::vector<Node> uploads = in_loop ? std::vector<Node>{upload} : uploads_of(source, function);
    const Node statement = call ? statement_of(call).whole : Node();
    if (!statement || uploads.empty() ||
        (!in_loop && (!arguments(call).empty() || call.text().find("->") != std::string_view::npos)))
        return {.refused = "its upload is made by a function that does more, or in no loop"};
    const Moved moved = widened(source, statement);
    const Node block = block_of(moved.whole);
    const std::vector<Node> around = loops_around(moved.whole);
    if (!block || around.empty() || around.front().field("body") != block || !block_of(around.front()) ||
        !is_alone(text, around.front()) || !is_alone(text, moved.whole))
        return {.refused = "its upload does not stand in the block of a loop by itself"};
    const Node loop = around.front();
    if (std::ranges::count_if(block.children(), [](const Node& node) { return node.kind() != "comment"; }) == 1)
        return {.refused = "its loop does nothing but copy"};
    const std::string object =
        in_loop ? std::string() : std::string(call.field("function").field("argument").text()) + ".";
    std::vector<Node> except{moved.whole};
    Moved returned;
    const std::vector<Node> back = in_loop ? ways_back(loop, upload) : std::vector<Node>();
    for (const Node& download : back)
        if (const Node whole = statement_of(download).whole) {
            returned = widened(source, whole);
            except.push_back(returned.whole);
        }
    for (const Node& each : uploads) {
        const bool repeats = std::ranges::any_of(request.needed, [&](const Request::Needed& line) {
            return line.line == each.first_line() && line.calls == moved.calls;
        });
        if (!(repeats && !back.empty()) &&
            !leaves_device_memory(source, loop, moved.whole,
                                  object + std::string(plain(arguments(each)[0]).text())))
            return {.refused = "more of its uploads may be needed than those of the first round"};
    }
    const Node host = in_loop ? arguments(upload)[1] : call.field("function").field("argument");
    const Node device = in_loop ? arguments(upload)[0] : host;
    const std::set<std::string_view> names = names_of(loop, host), on_device = names_of(loop, device);
    if (comes_late(block, moved.whole, on_device))
        return {.refused =
                    "what stands before its upload may use the memory on the device, or leave the round"};
    const Node around_loop = function_of(loop);
    const auto is_hidden = [&](std::string_view name) {
        return has_other_name(around_loop, name) || is_other_name(around_loop, name) ||
               (!declares(around_loop, name) && calls_others(loop, except));
    };
    if (std::ranges::any_of(names, is_hidden) || std::ranges::any_of(on_device, is_hidden))
        return {.refused = "the loop may reach what it uploads by another name"};
    if (names.empty() || may_write(source, loop, names, except) ||
        std::ranges::any_of(
            on_device, [&](std::string_view name) { return changes(loop, name, Changed::itself, except); }))
        return {.refused = "the loop may write what it uploads, or exchange the memory on the device"};
    if (!holds_outside(loop, moved.whole, except))
        return {.refused = "what its upload names may change from round to round"};
    Draft draft;
    const std::string indent = indent_at(text, loop.begin());
    const std::size_t begin = line_begin(text, loop.begin()), end = line_end(text, loop.end());
    draft.edits = {{begin, begin, lines_of(text, moved.whole, indent)}, without_lines(text, moved.whole)};
    if (back.size() == 1 && returned.whole && block_of(returned.whole) == block &&
        is_alone(text, returned.whole) && !leaves_rounds(loop) && !reads(loop, names, except) &&
        holds_outside(loop, returned.whole, except)) {
        draft.edits.push_back(without_lines(text, returned.whole));
        draft.edits.push_back({end, end, lines_of(text, returned.whole, indent)});
    }
    draft.assumes.push_back(fmt::format("in other runs, too, the host does not write {} while the loop runs, "
                                        "and the device has what it would upload",
                                        host.text()));
    return draft;
}

} // namespace

Draft move_copies(const Request& request) {
    const Node upload = only_call(request.source, request.finding.line.place.line, "cudaMemcpy");
    if (!upload || !is_copy(upload, up) || !function_of(upload))
        return {.refused = "its line has no upload, or several copies"};
    return moved_out(request, upload);
}

} // namespace umadvisor::patch
