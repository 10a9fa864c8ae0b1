#include "analyzer/reports/notice_text.hpp"

#include "analyzer/rules/words.hpp"

#include <algorithm>

namespace umadvisor::reports {

namespace {

/// Returns the notice's text. That of a mark or a condition gets its time: "condition held at 1.2 s: ...".
std::string with_time(const advice::Report& report, const trace::Notice& notice) {
    constexpr std::string_view condition = "condition held";
    std::string text(notice.text);
    const std::string at =
        " at " +
        text::time_text(static_cast<double>(std::max<std::int64_t>(report.trace.time.at(notice.time), 0)));
    if (text.starts_with("condition held: "))
        text.insert(condition.size(), at);
    else if (text.starts_with("mark \""))
        text += at;
    return text;
}

} // namespace

std::string notice_text(advice::Report& report, const trace::Notice& notice) {
    std::string text = with_time(report, notice);
    const auto& allocations = report.profile.noticed_allocations().all();
    if (const auto found = allocations.find(notice.allocation);
        found != allocations.end() && found->second.bytes != 0) {
        const auto& [entry, bytes, stack] = found->second;
        text += fmt::format(" ({} {}", report.profile.call_name(entry), text::bytes_text(bytes));
        if (stack.known())
            text += ", allocated at " + report.symbolizer.line(stack).text();
        text += ")";
    }
    if (notice.stack != 0)
        text += fmt::format(" (at {})", report.symbolizer.line(ids::StackId(notice.stack)).text());
    return text;
}

} // namespace umadvisor::reports
