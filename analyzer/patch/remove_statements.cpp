/// Statements that do nothing the program needs are removed.
#include "analyzer/patch/code.hpp"
#include "analyzer/patch/draft.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace umadvisor::patch {
namespace {

/// Waits for events are not among them: behind one, the event's time may be read.
constexpr std::array<std::string_view, 5> waits{"cudaDeviceSynchronize", "cudaStreamSynchronize",
                                                "cudaThreadSynchronize", "cuCtxSynchronize",
                                                "cuStreamSynchronize"};

bool is_wanted(std::string_view rule, std::string_view name) {
    if (rule == "UMA-303")
        return name.starts_with("cudaMemset") || name.starts_with("cudaMemcpy") ||
               name.starts_with("cuMemset") || name.starts_with("cuMemcpy");
    return std::ranges::find(waits, name) != waits.end();
}

/// The whole line where nothing else stands on it.
std::optional<TextEdit> without(const Syntax& source, int line, std::string_view rule) {
    std::vector<Node> wanted;
    for (const Node& call : calls_at(source, line))
        if (is_wanted(rule, called_name(call)))
            wanted.push_back(call);
    if (wanted.size() != 1)
        return std::nullopt;
    const Statement statement = statement_of(wanted.front());
    if (!statement.whole || !block_of(statement.whole))
        return std::nullopt;
    const std::vector<Node> beside = block_of(statement.whole).children();
    const bool alone =
        std::ranges::count_if(beside, [](const Node& node) { return node.kind() != "comment"; }) == 1;
    if (alone || std::ranges::any_of(arguments(statement.call), has_effect))
        return std::nullopt;
    const std::string& text = source.text();
    if (is_alone(text, statement.whole))
        return without_lines(text, statement.whole);
    return TextEdit{statement.whole.begin(), statement.whole.end(), ""};
}

} // namespace

Draft remove_statements(const Request& request) {
    Draft draft;
    const std::string_view rule = request.finding.finding.rule->id;
    // Where a part of the calls is needed, the statement stays.
    const double least_share = rule == "UMA-303" ? 1 : 0.99;
    if (std::ranges::any_of(request.finding.finding.edit.changes,
                            [=](const timeline::Change& change) { return change.share < least_share; }))
        return {.refused = "some of its calls are needed"};
    std::vector<int> lines{request.finding.line.place.line};
    if (rule == "UMA-506") // one remedy for all its waits
        for (const advice::ResolvedPlace& other : request.finding.others)
            lines.push_back(other.place.line);
    for (const int line : lines) {
        const std::optional<TextEdit> edit = without(request.source, line, rule);
        if (!edit)
            return {.refused =
                        "its call is part of a larger statement, all of its block, or waits for an event"};
        draft.edits.push_back(*edit);
    }
    return draft;
}

} // namespace umadvisor::patch
