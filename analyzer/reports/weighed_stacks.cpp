#include "analyzer/reports/weighed_stacks.hpp"

#include "analyzer/findings/words.hpp"

#include <algorithm>

namespace umadvisor::reports {
namespace {

using symbols::CodePlace;

/// Innermost first.
std::vector<CodePlace> shown_frames(symbols::Symbolizer& symbolizer, std::uint64_t stack, bool full) {
    std::vector<CodePlace> frames = symbolizer.places(stack);
    if (full)
        return frames;
    std::erase_if(frames, [&](const CodePlace& place) {
        return place.unknown() || symbolizer.owner(place) != symbols::Owner::program;
    });
    if (frames.empty() && stack != 0)
        frames.push_back(symbolizer.line(stack));
    return frames;
}

} // namespace

std::uint64_t WeighedStacks::sum() const {
    std::uint64_t sum = 0;
    for (const WeighedStack& stack : stacks)
        sum += stack.weight;
    return sum;
}

WeighedStacks weighed_stacks(const model::Profile& profile, symbols::Symbolizer& symbolizer, model::Weight by,
                             bool full) {
    WeighedStacks result{profile.program(), by, {}};
    for (const auto& [site, weight] : model::weigh(profile, by)) {
        WeighedStack& stack = result.stacks.emplace_back();
        stack.weight = weight;
        stack.frames = shown_frames(symbolizer, site.stack, full);
        CodePlace call;
        call.function = profile.call_name(site.entry);
        // The runtime's own frames, where they are shown, name it already.
        if (std::ranges::find(stack.frames, call.function, &CodePlace::function) == stack.frames.end())
            stack.frames.insert(stack.frames.begin(), call);
        std::ranges::reverse(stack.frames);
    }
    return result;
}

std::string frame_text(const CodePlace& frame) {
    if (frame.function.empty())
        return frame.text();
    const std::string& path = frame.file.empty() ? frame.module : frame.file;
    if (path.empty())
        return frame.function;
    return frame.function + " (" + path.substr(path.rfind('/') + 1) +
           (frame.file.empty() ? "" : ":" + std::to_string(frame.line)) + ")";
}

std::string weight_text(model::Weight by, std::uint64_t weight) {
    return model::is_time(by) ? findings::time_text(static_cast<double>(weight))
                              : findings::bytes_text(static_cast<double>(weight));
}

} // namespace umadvisor::reports
