#include "analyzer/reports/notice_text.hpp"

#include "analyzer/rules/words.hpp"

namespace umadvisor::reports {

std::string notice_text(advice::Report& report, const trace::Notice& notice) {
    std::string text(notice.text);
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
