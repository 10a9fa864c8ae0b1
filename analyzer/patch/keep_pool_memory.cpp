/// A pool that gives its memory back in each round keeps it: its release threshold is raised once, before the
/// loop.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"
#include "analyzer/patch/pool.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace umadvisor::patch {

std::string keep_memory(std::string_view pool, std::string_view device, std::string_view wrapper,
                        const std::string& indent, const std::string& step) {
    std::string block = indent + "{\n";
    const auto add = [&](const std::string& line) { block += indent + step + line + "\n"; };
    add("unsigned long long keep = ~0ull; // bytes of freed memory that stay in the pool");
    if (pool.empty()) {
        add("cudaMemPool_t pool;");
        add(checked(fmt::format("cudaDeviceGetMemPool(&pool, {})", device), wrapper));
    }
    add(checked(fmt::format("cudaMemPoolSetAttribute({}, cudaMemPoolAttrReleaseThreshold, &keep)",
                            pool.empty() ? "pool" : pool),
                wrapper));
    return block + indent + "}\n";
}

Draft keep_pool_memory(const Request& request) {
    const std::string& text = request.source.text();
    for (const Node& call : calls_at(request.source, request.finding.line.place.line)) {
        const bool named = called_name(call) == "cudaMallocFromPoolAsync";
        if (!named && called_name(call) != "cudaMallocAsync")
            continue;
        const Statement statement = statement_of(call);
        const std::vector<Node> around = loops_around(call);
        if (!statement.whole || around.empty() || !block_of(around.back()))
            return {.refused = "its allocation stands in no loop of its function"};
        const Node loop = around.back();
        if (!is_alone(text, loop))
            return {.refused = "its loop shares a line with other code"};
        const auto made_inside = [&loop](std::string_view name) {
            return declares(loop, name) || changes(loop, name);
        };
        if (named &&
            (arguments(call).size() != 4 || std::ranges::any_of(names_in(arguments(call)[2]), made_inside)))
            return {.refused = "its pool is made in the loop"};
        if (!named && request.device.empty())
            return {.refused = "the run used several devices, and each has a pool of its own"};
        const std::size_t at = line_begin(text, loop.begin());
        return {
            .edits = {{at, at,
                       keep_memory(named ? arguments(call)[2].text() : "", request.device, statement.wrapper,
                                   indent_at(text, loop.begin()), indent_step(text, function_of(loop)))}}};
    }
    return {.refused = "its allocation is made in another function"};
}

} // namespace umadvisor::patch
