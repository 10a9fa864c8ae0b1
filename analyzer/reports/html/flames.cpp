#include "analyzer/reports/html/flames.hpp"

#include "analyzer/reader/error.hpp"
#include "analyzer/reader/plain.hpp"
#include "analyzer/reports/weighed_stacks.hpp"

#include <map>
#include <string>
#include <utility>

namespace umadvisor::html {
namespace {

using Json = nlohmann::ordered_json;

/// What the flame graph is made of: stacks as numbers of frames.
Json flame_json(advice::Report& report, reports::Weight by, const Timeline& timeline) try {
    constexpr std::size_t most_stacks = 200;
    const reports::WeighedStacks stacks =
        reports::weighed_stacks(report.profile, report.symbolizer, by, false, most_stacks, &timeline);
    Json frames = Json::array(), list = Json::array();
    std::map<std::string, std::size_t> numbers;
    for (const reports::WeighedStack& stack : stacks.stacks) {
        Json entry = Json::array({stack.weight});
        for (const symbols::CodePlace& frame : stack.frames) {
            const std::string text = reader::plain(reports::frame_text(frame));
            const auto [found, fresh] = numbers.try_emplace(text, frames.size());
            if (fresh)
                frames.push_back(text);
            entry.push_back(found->second);
        }
        list.push_back(std::move(entry));
    }
    return {{"words", reports::words(by)},    {"sum", stacks.sum()},         {"time", reports::is_time(by)},
            {"count", reports::is_count(by)}, {"frames", std::move(frames)}, {"stacks", std::move(list)}};
} catch (const reader::Error&) {
    return nullptr; // the trace does not hold these weights
}

} // namespace

Json flames_json(advice::Report& report, const Timeline& timeline) {
    Json list = Json::array();
    for (const reports::Weight by : {reports::Weight::time, reports::Weight::copied, reports::Weight::faults})
        if (Json flame = flame_json(report, by, timeline); !flame.is_null() && !flame["stacks"].empty())
            list.push_back(std::move(flame));
    return list;
}

} // namespace umadvisor::html
