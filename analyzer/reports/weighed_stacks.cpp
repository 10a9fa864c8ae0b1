#include "analyzer/reports/weighed_stacks.hpp"

#include "analyzer/reader/saturated.hpp"
#include "analyzer/reader/shown_name.hpp"
#include "analyzer/rules/words.hpp"
#include "analyzer/symbols/demangle.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace umadvisor::reports {
namespace {

using symbols::CodePlace;

// A trace of 1 MB may name 50,000 stacks of 1,000 frames: those that weigh most are shown.
constexpr std::size_t most_text = 4 << 20; ///< bytes, of all frames
constexpr std::size_t frame_bytes = 24;    ///< beside its name

CodePlace named(std::string name) {
    CodePlace place;
    place.function = std::move(name);
    return place;
}

/// The outermost first, what was called last.
std::vector<CodePlace> frames_of(const rules::Profile& profile, symbols::Symbolizer& symbolizer,
                                 const WeighedSite& weighed, bool full) {
    std::vector<CodePlace> frames = shown_frames(symbolizer, weighed.site.stack, full);
    const std::string call =
        weighed.site.entry == 0 && !weighed.inner.empty() ? "" : profile.call_name(weighed.site.entry);
    // The runtime's own frames, where they are shown, name it already.
    if (!call.empty() &&
        std::ranges::none_of(frames, [&](const CodePlace& frame) { return frame.function == call; }))
        frames.insert(frames.begin(), named(call));
    if (!weighed.inner.empty())
        frames.insert(frames.begin(), named(std::string(weighed.inner)));
    if (!weighed.outer.empty())
        frames.push_back(named(std::string(weighed.outer)));
    if (!weighed.thread.empty())
        frames.push_back(named(weighed.thread));
    if (const std::string_view kernel = profile.dictionary().function_symbol(weighed.function); !kernel.empty())
        frames.insert(frames.begin(), named(symbols::short_name(kernel)));
    std::ranges::reverse(frames);
    return frames;
}

std::size_t text_of(const std::vector<CodePlace>& frames) {
    std::size_t bytes = 0;
    for (const CodePlace& frame : frames)
        bytes += frame_bytes + frame_text(frame).size();
    return bytes;
}

} // namespace

std::vector<CodePlace> shown_frames(symbols::Symbolizer& symbolizer, ids::StackId stack, bool full) {
    std::vector<CodePlace> frames = symbolizer.places(stack);
    if (full || frames.empty())
        return frames;
    // Frames of a runtime that is linked into the program have names that explain nothing: those inside the
    // line that a report shows are left out.
    symbols::LineChoice choice;
    for (const CodePlace& frame : frames)
        if (!choice.offer({symbolizer.owner(frame), frame.inlined, frame.unknown()}))
            break;
    const CodePlace line = frames[choice.index()];
    frames.erase(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(choice.index()));
    std::erase_if(frames, [&](const CodePlace& place) {
        return place.unknown() || !symbols::is_own(symbolizer.owner(place));
    });
    if (frames.empty())
        frames.push_back(line);
    return frames;
}

std::uint64_t WeighedStacks::sum() const {
    std::uint64_t sum = 0;
    for (const WeighedStack& stack : stacks)
        sum += stack.weight;
    return sum;
}

WeighedStacks weighed_stacks(const rules::Profile& profile, symbols::Symbolizer& symbolizer, Weight by,
                             bool full, std::size_t most, const html::Timeline* timeline) {
    WeighedStacks result{profile.program(), by, {}};
    std::vector<WeighedSite> sites = weigh(profile, by, timeline);
    std::ranges::stable_sort(sites, std::ranges::greater{}, &WeighedSite::weight);
    std::size_t text = 0;
    for (const WeighedSite& site : sites) {
        if (text >= most_text || result.stacks.size() >= most) {
            WeighedStack& rest = result.stacks.back();
            if (result.left_out++ == 0)
                result.stacks.push_back({{named("(other stacks)")}, site.weight});
            else
                reader::add_saturated(rest.weight, site.weight);
            continue;
        }
        WeighedStack& stack = result.stacks.emplace_back();
        stack.weight = site.weight;
        stack.frames = frames_of(profile, symbolizer, site, full);
        text += text_of(stack.frames);
    }
    return result;
}

std::string frame_text(const CodePlace& frame) {
    if (frame.function.empty())
        return frame.text();
    const std::string function = reader::shown_name(frame.function.view());
    const symbols::SharedText& path = frame.file.empty() ? frame.module : frame.file;
    if (path.empty())
        return function;
    return fmt::format("{} ({}{})", function, reader::shown_name(path.name()),
                       frame.file.empty() ? "" : fmt::format(":{}", frame.line));
}

std::string weight_text(Weight by, std::uint64_t weight) {
    return is_count(by)  ? std::to_string(weight)
           : is_time(by) ? text::time_text(weight)
                         : text::bytes_text(weight);
}

} // namespace umadvisor::reports
