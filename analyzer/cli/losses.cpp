#include "analyzer/cli/losses.hpp"

#include "analyzer/cli/message.hpp"
#include "analyzer/cli/terminal/progress.hpp"
#include "analyzer/reports/completeness_text.hpp"

#include <string>

namespace umadvisor::cli {

bool say_losses(const reader::Trace& trace) {
    std::string text;
    for (const std::string& line : reports::missing_lines(trace))
        text += (text.empty() ? "" : "; ") + line;
    if (!text.empty()) {
        end_progress();
        say(fmt::format("{}: records are missing: {}", trace.file.path(), text));
    }
    return reports::lacks_records(trace);
}

} // namespace umadvisor::cli
