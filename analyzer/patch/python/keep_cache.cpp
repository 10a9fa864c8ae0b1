/// PyTorch keeps the memory that a loop frees for its next round.
#include "analyzer/patch/python/makers.hpp"

namespace umadvisor::patch::python {

Draft keep_cache(const Request& request) {
    const std::string& text = request.source.text();
    for (const Node& call : calls_on(request.source, request.finding.line.place.line)) {
        if (call.text() != "torch.cuda.empty_cache()")
            continue;
        const Node statement = whole_statement(call);
        std::size_t beside = 0;
        for (const Node& each : statement.parent().children())
            beside += each.kind() == "comment" ? 0 : 1;
        const std::size_t begin = line_begin(text, statement.begin()), end = line_end(text, statement.end());
        if (call.parent() != statement || loops_over(call).empty() || beside == 1 ||
            !has_own_lines(text, statement))
            return {.refused = "torch.cuda.empty_cache() is part of a larger statement, or all of its block"};
        return {.edits = {{begin, end, ""}},
                .assumes = {"no other library or process needs the memory that PyTorch would give back here"}};
    }
    return {.refused = std::string(other_form)};
}

} // namespace umadvisor::patch::python
