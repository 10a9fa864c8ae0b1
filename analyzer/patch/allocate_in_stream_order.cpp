/// Memory that is allocated and freed again and again comes from a pool that keeps it, where the allocation
/// cannot be moved out of a loop.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"
#include "analyzer/patch/memory_uses.hpp"
#include "analyzer/patch/pool.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace umadvisor::patch {
namespace {

/// The only cudaMalloc of the line; null: there is none, or several.
Node allocation_at(const Syntax& source, int line) {
    Node found;
    for (const Node& call : calls_at(source, line)) {
        if (called_name(call) != "cudaMalloc")
            continue;
        if (found)
            return {};
        found = call;
    }
    return found && arguments(found).size() == 2 ? found : Node();
}

/// The calls of this name below `where` whose first argument is `pointer`.
std::vector<Node> calls_with(const Node& where, std::string_view name, std::string_view pointer) {
    std::vector<Node> calls = calls_of(where, name);
    std::erase_if(calls, [pointer](const Node& call) {
        return arguments(call).empty() || plain(arguments(call).front()).text() != pointer;
    });
    return calls;
}

/// Returns whether this is the only allocation of device memory in the file, so that what is freed there comes
/// from it.
bool is_only_one(const Syntax& source) {
    std::size_t count = 0;
    for (const std::string_view name : {"cudaMalloc", "cudaMallocManaged", "cudaMallocPitch", "cudaMalloc3D"})
        count += calls_of(source.root(), name).size();
    return count == 1;
}

/// Returns whether the variable of the free may be null there: it is set to null somewhere, and the free asks
/// for that nowhere.
bool may_be_null(const Syntax& source, const Node& free) {
    const std::string_view name = plain(arguments(free).front()).text();
    bool nulled = false;
    source.root().walk([&](const Node& node) {
        Node value;
        if (node.kind() == "assignment_expression" &&
            (node.field("left").text() == name || node.field("left").field("field").text() == name))
            value = node.field("right");
        else if (node.kind() == "init_declarator" && declared_by(node).text() == name)
            value = node.field("value");
        else if (node.kind() == "field_declaration" && mentions(node, name))
            value = node.field("default_value");
        const std::string_view text = value.text();
        nulled |= text == "nullptr" || text == "NULL" || text == "0" || text == "{}";
        return !nulled;
    });
    for (Node outer = free.parent(); nulled && outer && outer.kind() != "function_definition";
         outer = outer.parent())
        nulled = outer.kind() != "if_statement" || !mentions(outer.field("condition"), name);
    return nulled;
}

/// Returns whether other files cannot reach the function, as far as the source shows: it is static, or stands
/// beside main.
bool is_of_this_file(const Syntax& source, const Node& function) {
    return function.text().starts_with("static ") || static_cast<bool>(definition_of(source, "main"));
}

/// The calls that free what the function or, where there is no other allocation, the file allocates.
std::vector<Node> frees_of(const Syntax& source, const Node& function, std::string_view pointer) {
    std::vector<Node> frees = calls_with(function, "cudaFree", pointer);
    if (frees.empty() && is_only_one(source)) {
        frees = calls_of(source.root(), "cudaFree");
        std::erase_if(frees, [](const Node& call) { return names_in(call).empty(); }); // cudaFree(0)
        if (std::ranges::any_of(frees, [&](const Node& call) {
                const Node around = function_of(call);
                return !around || !is_of_this_file(source, around) || may_be_null(source, call);
            }))
            return {};
    }
    return frees;
}

/// Where the pool is set up: before the first allocation of the function, and before the loops around it.
Node first_allocation(const Node& function) {
    const Node call = calls_of(function, "cudaMalloc").front();
    const std::vector<Node> around = loops_around(call);
    return statement_around(around.empty() ? call : around.back());
}

/// Returns whether the function sets the pointer, or one of its array, in another way than by the allocation,
/// and to more than null.
bool gets_other_memory(const Node& function, std::string_view pointer, const Node& allocation) {
    const Node target = base_of(arguments(allocation).front());
    const bool element = plain(arguments(allocation).front()).kind() == "subscript_expression";
    std::vector<Node> except{allocation};
    function.walk([&](const Node& node) {
        const std::string_view value = node.field("right").text();
        if (node.kind() == "assignment_expression" && (value == "nullptr" || value == "NULL" || value == "0"))
            except.push_back(node);
        return true;
    });
    return element ? !target || changes(function, target.text(), Changed::any_part, except)
                   : changes(function, pointer, Changed::itself, except);
}

/// `name` in place of the call's name, and the default stream as its last argument.
void call_in_stream_order(const Node& call, std::string_view name, std::vector<TextEdit>& edits) {
    const Node function = call.field("function");
    edits.push_back({function.begin(), function.end(), std::string(name)});
    const std::size_t end = arguments(call).back().end();
    edits.push_back({end, end, ", 0"});
}

} // namespace

Draft allocate_in_stream_order(const Request& request) {
    const Syntax& source = request.source;
    const Node allocation = allocation_at(source, request.finding.line.place.line);
    const Node function = allocation ? function_of(allocation) : Node();
    if (!function)
        return {.refused = "its line has no cudaMalloc, or several"};
    if (request.device.empty())
        return {.refused = "the run used several devices, and each has a pool of its own"};
    for (const std::string_view name :
         {"cudaStreamNonBlocking", "cudaStreamPerThread", "CUDA_API_PER_THREAD_DEFAULT_STREAM",
          "cudaStreamBeginCapture", "cudaIpcGetMemHandle", "MPI_COMM_WORLD"})
        if (mentions(source.root(), name))
            return {.refused =
                        fmt::format("the source uses {}, so that the order of the default stream may not "
                                    "be enough for memory of a pool",
                                    name)};
    const std::string_view pointer = plain(arguments(allocation).front()).text();
    const std::vector<Node> frees = frees_of(source, function, pointer);
    if (frees.empty() || calls_with(function, "cudaMalloc", pointer).size() != 1)
        return {.refused = "memory is allocated and freed in different functions, or at several lines"};
    const bool here = holds(function, frees.front());
    if (here && gets_other_memory(function, pointer, allocation))
        return {.refused = fmt::format("{} may get memory from another allocation", pointer)};
    const Node block = block_of(statement_around(allocation));
    if (!block)
        return {.refused = "its allocation stands in no block"};
    for (const Node& free : frees)
        if (holds(function, free) && free.begin() < allocation.end())
            return {.refused = "memory is freed before it is allocated"};
        else if (holds(function, free) && !holds(block, free) && may_be_null(source, free))
            return {.refused = "a null pointer may be freed, which cudaFreeAsync reports as an error"};
    const Node first = first_allocation(function);
    if (!first || !is_alone(source.text(), first))
        return {.refused = "the first allocation of its function shares a line with other code"};
    Draft draft;
    const std::size_t at = line_begin(source.text(), first.begin());
    draft.edits.push_back(
        {at, at,
         keep_memory("", request.device, statement_of(allocation).wrapper,
                     indent_at(source.text(), first.begin()), indent_step(source.text(), function))});
    call_in_stream_order(allocation, "cudaMallocAsync", draft.edits);
    bool same_block = true;
    for (const Node& free : frees) {
        call_in_stream_order(free, "cudaFreeAsync", draft.edits);
        same_block &= block_of(statement_around(free)) == block_of(statement_around(allocation));
    }
    draft.assumes.push_back(fmt::format("no stream that was made with cudaStreamNonBlocking uses {}", pointer));
    if (!same_block)
        draft.assumes.push_back("no null pointer is freed there");
    return draft;
}

} // namespace umadvisor::patch
