/// A pageable buffer that is copied becomes page-locked: where it is allocated, or around the loop that copies
/// it.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"
#include "analyzer/patch/memory_uses.hpp"
#include "analyzer/patch/uses.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>

namespace umadvisor::patch {
namespace {

/// A copy between host and device that stands as a statement.
struct HostCopy {
    Node call;
    Statement statement;
    Node host;   ///< its argument
    Node buffer; ///< the variable that this begins with
};

std::optional<HostCopy> host_copy(const Node& call) {
    const std::vector<Node> given = call ? arguments(call) : std::vector<Node>();
    if (given.size() < 4 || (called_name(call) != "cudaMemcpy" && called_name(call) != "cudaMemcpyAsync"))
        return std::nullopt;
    const std::string_view kind = given[3].text();
    if (kind != "cudaMemcpyHostToDevice" && kind != "cudaMemcpyDeviceToHost")
        return std::nullopt;
    const Node host = given[kind == "cudaMemcpyHostToDevice" ? 1 : 0];
    const HostCopy copy{call, statement_of(call), host, base_of(host)};
    return copy.buffer && copy.statement.whole && block_of(copy.statement.whole) ? std::optional(copy)
                                                                                 : std::nullopt;
}

/// Where a variable gets its memory: `name = value` as a statement, or in its own declaration.
struct Origin {
    Node whole, value;
    bool declared = false;
};

/// Null: the function gives it a value nowhere, or at several places, or passes it on.
std::optional<Origin> origin_of(const Node& function, std::string_view name) {
    std::optional<Origin> origin;
    bool unclear = false;
    function.walk([&](const Node& node) {
        const std::string_view kind = node.kind();
        Node value, holder;
        if (kind == "assignment_expression" && plain(node.field("left")).text() == name) {
            value = node.field("right");
            holder = node.parent();
        } else if (kind == "init_declarator" && declared_by(node).text() == name) {
            value = node.field("value");
            holder = node.parent();
        }
        if (value && value.text() != "nullptr" && value.text() != "NULL" && value.text() != "0") {
            unclear |= origin.has_value() || !holder || !block_of(holder);
            origin = Origin{holder, value, kind == "init_declarator"};
        }
        const bool passed_on =
            (kind == "return_statement" && !node.children().empty() &&
             plain(node.children().front()).text() == name) ||
            (kind == "assignment_expression" && plain(node.field("right")).text() == name) ||
            (kind == "init_declarator" && node.field("value") && plain(node.field("value")).text() == name);
        unclear |= passed_on;
        return !unclear;
    });
    return unclear ? std::nullopt : origin;
}

/// The bytes that malloc or new of numbers allocates; empty: the value is something else.
std::string allocated_bytes(Node value) {
    value = plain(value);
    if (value.kind() == "call_expression" && called_name(value) == "malloc" && arguments(value).size() == 1)
        return std::string(arguments(value).front().text());
    if (value.kind() != "new_expression" || value.children().size() != 2)
        return {};
    const Node type = value.children()[0], count = value.children()[1];
    const bool number = type.kind() == "primitive_type" || type.kind() == "sized_type_specifier";
    return number && count.kind() == "new_declarator" && count.children().size() == 1
               ? fmt::format("({}) * sizeof({})", count.children().front().text(), type.text())
               : "";
}

/// The expressions `free(name)` and `delete[] name`.
std::vector<Node> frees_of(const Node& function, std::string_view name) {
    std::vector<Node> found;
    function.walk([&](const Node& node) {
        const bool freed = node.kind() == "call_expression" && called_name(node) == "free" &&
                           arguments(node).size() == 1 && plain(arguments(node).front()).text() == name;
        const bool deleted = node.kind() == "delete_expression" && !node.children().empty() &&
                             plain(node.children().back()).text() == name;
        if (freed || deleted)
            found.push_back(node);
        return true;
    });
    return found;
}

/// Returns whether a declaration is of a pointer that may be set later, once in each run of it.
bool is_pointer_variable(const Node& declaration) {
    const Node declarator = declaration.children()[1].field("declarator");
    return declaration.children()[0].kind() != "placeholder_type_specifier" &&
           declarator.kind() == "pointer_declarator" &&
           declarator.text().find("const") == std::string_view::npos;
}

/// Page-locked memory in place of malloc or new, with its free.
Draft lock_where_allocated(const Request& request, const HostCopy& copy) {
    const std::string& text = request.source.text();
    const std::string_view name = copy.buffer.text();
    const Node function = function_of(copy.call);
    const std::optional<Origin> found = origin_of(function, name);
    const std::string bytes = found && found->value ? allocated_bytes(found->value) : "";
    if (bytes.empty() || !declares(function.field("body"), name))
        return {.refused =
                    fmt::format("{} gets its memory in another function, or not from malloc or new", name)};
    const Origin& origin = *found;
    const std::vector<Node> frees = frees_of(function, name);
    const bool is_main = function.field("declarator").text().starts_with("main(");
    if (frees.empty() && !is_main)
        return {.refused = fmt::format("{} is freed in another function", name)};
    for (const Node& free : frees)
        if (free.parent().kind() != "expression_statement")
            return {.refused = fmt::format("{} is freed within a larger expression", name)};
    if (!stays_local(request.source, function, name))
        return {.refused =
                    fmt::format("{} has another name, or is passed to code that may keep or free it", name)};
    const std::size_t around = loops_around(origin.whole).size();
    if ((around > 0 || is_repeated(request)) && loops_around(copy.call).size() <= around)
        return {.refused = fmt::format("{} would be page-locked for each of its copies", name)};
    if (!calls_of(function, "realloc").empty())
        return {.refused = "its function uses realloc"};
    for (const std::string_view later : {"cudaSetDevice", "cudaSetDeviceFlags", "fork"})
        for (const Node& set : calls_of(function, later))
            if (set.begin() > origin.whole.begin())
                return {.refused =
                            fmt::format("{} follows the allocation, which would begin CUDA before", later)};
    const std::string_view wrapper = wrapper_near(copy.call);
    const std::string call = checked(fmt::format("cudaMallocHost((void**)&{}, {})", name, bytes), wrapper);
    Draft draft;
    if (!origin.declared)
        draft.edits.push_back({origin.whole.begin(), origin.whole.end(), call});
    else if (origin.whole.children().size() != 2 || !is_alone(text, origin.whole) ||
             !is_pointer_variable(origin.whole))
        return {.refused = fmt::format("{} is declared beside others, or as auto, const or static", name)};
    else {
        const std::size_t behind = line_end(text, origin.whole.end());
        draft.edits.push_back({origin.value.begin(), origin.value.end(), "nullptr"});
        draft.edits.push_back({behind, behind, indent_at(text, origin.whole.begin()) + call + "\n"});
    }
    for (const Node& free : frees)
        draft.edits.push_back({free.begin(), free.end(), fmt::format("cudaFreeHost({})", name)});
    return draft;
}

/// Returns whether a vector keeps its memory: it is only indexed, or asked for its data.
bool keeps_memory(const Node& function, std::string_view name) {
    constexpr std::array<std::string_view, 8> harmless{"data",  "size",  "begin", "end",
                                                       "empty", "front", "back",  "at"};
    bool keeps = true;
    function.walk([&](const Node& node) {
        if (node.kind() != "identifier" || node.text() != name)
            return keeps;
        const Node outer = node.parent();
        const bool asked = outer.kind() == "field_expression" && outer.field("argument") == node &&
                           std::ranges::find(harmless, outer.field("field").text()) != harmless.end();
        const bool indexed = outer.kind() == "subscript_expression" && outer.field("argument") == node;
        const bool walked = outer.kind() == "for_range_loop";
        const bool made = outer.kind() == "init_declarator" && outer.field("declarator") == node;
        keeps &= asked || indexed || walked || made ||
                 outer.kind() == "function_declarator"; // "std::vector<int> a(b);" may look like a function
        return keeps;
    });
    return keeps;
}

/// Returns whether the function declares it as a vector whose elements may be written.
bool is_vector(const Node& function, std::string_view name) {
    const std::vector<Node> declarations = declarations_of(function, name);
    return !declarations.empty() && std::ranges::all_of(declarations, [](const Node& node) {
        return node.field("type").text().find("vector<") != std::string_view::npos &&
               std::ranges::none_of(node.children(), [](const Node& part) {
                   return part.kind() == "type_qualifier" || part.kind() == "storage_class_specifier";
               });
    });
}

/// Page-locks the memory of a vector before the outermost loop that copies it, and unlocks it behind.
Draft lock_around_loop(const Request& request, const HostCopy& copy) {
    const std::string& text = request.source.text();
    const std::string_view name = copy.buffer.text();
    const Node function = function_of(copy.call);
    Node loop;
    for (const Node& around : loops_around(copy.call))
        if (!declares(around, name) && block_of(around))
            loop = around;
    if (!loop || !is_alone(text, loop))
        return {.refused = fmt::format("{} is copied in no loop of its function", name)};
    if (!is_vector(function, name))
        return {.refused = fmt::format("{} is no vector that its function declares and may write", name)};
    if (leaves_early(loop) || !keeps_memory(function, name))
        return {.refused = fmt::format("{} may get other memory, or its loop is left by return", name)};
    if (!stays_local(request.source, function, name))
        return {.refused =
                    fmt::format("{} has another name, or is passed to code that may copy it later", name)};
    if (is_repeated(request))
        return {.refused = fmt::format("{} would be page-locked at each call of its function", name)};
    const std::string_view wrapper = wrapper_near(copy.call);
    const std::string indent = indent_at(text, loop.begin());
    const std::size_t begin = line_begin(text, loop.begin()), end = line_end(text, loop.end());
    const std::string locked =
        fmt::format("cudaHostRegister({0}.data(), {0}.size() * sizeof {0}[0], cudaHostRegisterDefault)", name);
    return {.edits = {{begin, begin, indent + checked(locked, wrapper) + "\n"},
                      {end, end,
                       indent + checked(fmt::format("cudaHostUnregister({}.data())", name), wrapper) + "\n"}}};
}

/// The wait that is the whole of the next statement; null: that is something else.
Node wait_after(const Node& statement) {
    std::vector<Node> behind = following(statement);
    std::erase_if(behind, [](const Node& node) { return node.kind() == "comment"; });
    for (const std::string_view name : {"cudaStreamSynchronize", "cudaDeviceSynchronize"})
        if (!behind.empty())
            for (const Node& wait : calls_of(behind.front(), name))
                if (statement_of(wait).whole == behind.front() &&
                    behind.front().kind() == "expression_statement")
                    return wait;
    return {};
}

/// An asynchronous copy of pageable memory returns when the memory may change; of page-locked memory it returns
/// at once. This wait behind the copy keeps the order of the program.
void wait_behind(const Request& request, const HostCopy& copy, Draft& draft) {
    const std::string& text = request.source.text();
    const std::string stream = stream_of(copy.call);
    const Node wait = wait_after(copy.statement.whole);
    if (wait && block_of(statement_of(wait).whole) == block_of(copy.statement.whole) &&
        (arguments(wait).empty() || arguments(wait).front().text() == stream))
        return;
    const std::size_t at = line_end(text, copy.statement.whole.end());
    const std::string call = fmt::format("cudaStreamSynchronize({})", stream);
    draft.edits.push_back(
        {at, at, indent_at(text, copy.statement.whole.begin()) + checked(call, copy.statement.wrapper) + "\n"});
}

/// Returns whether the expression uses a variable of the loop.
bool differs_by_round(const Node& loop, const Node& expression) {
    return std::ranges::any_of(names_in(expression),
                               [&](std::string_view name) { return declares(loop, name); });
}

/// Page-locks the buffers of a loop that copies in and out asynchronously, where a wait for the device follows
/// the loop and the loop does nothing else with them.
Draft page_lock_pipeline(const Request& request) {
    const std::string& text = request.source.text();
    std::vector<int> lines{request.finding.line.place.line};
    for (const advice::ResolvedPlace& other : request.finding.others)
        lines.push_back(other.place.line);
    Draft draft;
    Node loop;
    std::set<std::string_view> buffers;
    std::vector<Node> copies;
    for (const int line : lines) {
        const Node call = only_call(request.source, line, "cudaMemcpyAsync");
        if (!call)
            continue; // of a kernel
        const std::optional<HostCopy> copy = host_copy(call);
        const std::vector<Node> around = loops_around(call);
        if (!copy || around.empty() || (loop && !(around.back() == loop)))
            return {.refused = "its copies are not statements of one loop"};
        loop = around.back();
        copies.push_back(call);
        const Node device = arguments(call)[copy->host == arguments(call)[0] ? 1 : 0];
        if (!differs_by_round(loop, device) || !differs_by_round(loop, arguments(call).back()))
            return {.refused = "its rounds use the same memory of the device, or the same stream"};
        if (!buffers.insert(copy->buffer.text()).second)
            continue;
        const Draft locked = lock_where_allocated(request, *copy);
        if (!locked.refused.empty())
            return locked;
        draft.edits.insert(draft.edits.end(), locked.edits.begin(), locked.edits.end());
    }
    const Node wait = loop ? wait_after(loop) : Node();
    if (!wait || called_name(wait) != "cudaDeviceSynchronize")
        return {.refused = "no wait for the device follows its copies at once"};
    bool used = false;
    loop.walk([&](const Node& node) {
        used |= node.kind() == "identifier" && buffers.contains(node.text());
        return std::ranges::find(copies, node) == copies.end();
    });
    if (used || !is_alone(text, loop))
        return {.refused = "the loop uses the buffers for more than its copies"};
    for (const Node& call : calls_of(function_of(loop), "cudaMemcpyAsync"))
        if (!holds(loop, call))
            for (const Node& argument : arguments(call))
                if (buffers.contains(base_of(argument).text()))
                    return {.refused = "its buffers are copied asynchronously outside of the loop, too"};
    return draft;
}

} // namespace

Draft page_lock_buffer(const Request& request) {
    if (request.finding.finding.rule->id == "UMA-109")
        return page_lock_pipeline(request);
    const std::optional<HostCopy> copy =
        host_copy(only_call(request.source, request.finding.line.place.line, "cudaMemcpy"));
    const Node function = copy ? function_of(copy->call) : Node();
    if (!function)
        return {.refused = "its line has no copy as a statement of its own, or several"};
    const std::string_view name = copy->buffer.text();
    const bool vector = copy->host.text().find(fmt::format("{}.data()", name)) != std::string_view::npos ||
                        copy->host.text().starts_with(fmt::format("&{}[", name));
    Draft draft = lock_where_allocated(request, *copy);
    if (!draft.refused.empty() && vector)
        draft = lock_around_loop(request, *copy);
    if (!draft.refused.empty())
        return draft;
    for (const Node& call : calls_of(function, "cudaMemcpyAsync")) {
        const std::optional<HostCopy> other = host_copy(call);
        if (other && other->buffer.text() != name)
            continue;
        const bool counts = arguments(call).size() > 4 && has_effect(arguments(call)[4]);
        if (!other || counts || !is_alone(request.source.text(), other->statement.whole))
            return {.refused = "an asynchronous copy of its function is not clear, or shares its line"};
        wait_behind(request, *other, draft);
    }
    return draft;
}

} // namespace umadvisor::patch
