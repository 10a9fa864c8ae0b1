#include "analyzer/reports/flame/flame.hpp"

#include "analyzer/reader/plain.hpp"
#include "analyzer/reader/shown_name.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

namespace umadvisor::reports {
namespace {

using Json = nlohmann::ordered_json;

/// ';' separates frames, and a line is a stack.
std::string collapsed_name(const symbols::CodePlace& frame) {
    std::string name = reader::plain(frame_text(frame));
    std::ranges::replace(name, ';', ':');
    return name;
}

} // namespace

void write_collapsed(const WeighedStacks& stacks, std::ostream& out) {
    std::map<std::string, std::uint64_t> lines; // sites that differ by nothing that is shown are one
    for (const WeighedStack& stack : stacks.stacks) {
        std::string line;
        for (const symbols::CodePlace& frame : stack.frames)
            line += (line.empty() ? "" : ";") + collapsed_name(frame);
        lines[line] += stack.weight;
    }
    for (const auto& [line, weight] : lines)
        out << line << " " << weight << "\n";
}

nlohmann::ordered_json to_speedscope(const WeighedStacks& stacks) {
    Json frames = Json::array(), samples = Json::array(), sample_weights = Json::array();
    std::map<std::tuple<std::string, std::string_view, int>, std::size_t>
        numbers; // the stacks have the file names
    for (const WeighedStack& stack : stacks.stacks) {
        Json sample = Json::array();
        for (const symbols::CodePlace& frame : stack.frames) {
            const std::string name = frame.function.empty() || frame.file.empty()
                                         ? frame_text(frame)
                                         : reader::shown_name(frame.function.view());
            const auto [entry, fresh] =
                numbers.try_emplace({name, frame.file.view(), frame.line}, numbers.size());
            if (fresh) {
                Json object{{"name", name}};
                if (!frame.file.empty()) {
                    object["file"] = reader::shown_name(frame.file.view());
                    object["line"] = frame.line;
                }
                frames.push_back(std::move(object));
            }
            sample.push_back(entry->second);
        }
        samples.push_back(std::move(sample));
        sample_weights.push_back(stack.weight);
    }
    const std::string title = stacks.program + ": " + reports::title(stacks.by);
    return {{"$schema", "https://www.speedscope.app/file-format-schema.json"},
            {"shared", {{"frames", std::move(frames)}}},
            {"profiles", Json::array({{{"type", "sampled"},
                                       {"name", title},
                                       {"unit", is_time(stacks.by)    ? "nanoseconds"
                                                : is_count(stacks.by) ? "none"
                                                                      : "bytes"},
                                       {"startValue", 0},
                                       {"endValue", stacks.sum()},
                                       {"samples", std::move(samples)},
                                       {"weights", std::move(sample_weights)}}})},
            {"name", title},
            {"activeProfileIndex", 0},
            {"exporter", "umadvisor"}};
}

} // namespace umadvisor::reports
