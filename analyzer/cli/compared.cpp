#include "analyzer/cli/compared.hpp"
#include "analyzer/cli/losses.hpp"
#include "analyzer/cli/message.hpp"

#include "analyzer/advice/report.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reader/source.hpp"
#include "analyzer/reader/whole_file.hpp"
#include "analyzer/reports/json/json.hpp"
#include "analyzer/text/json_text.hpp"
#include "trace/layout.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace umadvisor::cli {
namespace {

constexpr std::uint64_t most_bytes = 256 << 20; ///< of a report

/// By its first byte that is no blank.
bool begins_as_json(const reader::Source& source) {
    std::string text(std::size_t{1} << 16, '\0');
    text.resize(source.read(0, text.data(), text.size()));
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first != std::string::npos && (text[first] == '{' || text[first] == '[');
}

void check_trace(const reader::Source& source) {
    std::string begin(trace::file_magic.size(), '\0');
    begin.resize(source.read(0, begin.data(), begin.size()));
    if (begin.empty() || !std::equal(begin.begin(), begin.end(), trace::file_magic.begin()))
        throw reader::Error(
            fmt::format("{}{}; umadvisor run writes a trace, umadvisor report --json a report of it",
                        source.path(), begin.empty() ? ": is empty" : ": is neither a trace nor a report"));
}

/// Through its text, so that names which are no UTF-8 become what they are in a report that was kept.
std::string report_of_trace(const std::string& path, const symbols::Options& options,
                            const BesideReport& beside) {
    advice::Report made(path, options, false, {}, {}, beside.begin);
    if (beside.end)
        beside.end(made);
    const std::string text = text::json_text(reports::to_json(made), -1);
    say_losses(made.trace);
    return text;
}

} // namespace

void add_compared(reports::ReportedRuns& runs, const std::string& path, const symbols::Options& options,
                  const BesideReport& beside) {
    const reader::Source source(path);
    if (!begins_as_json(source)) {
        check_trace(source);
        runs.add(path, report_of_trace(path, options, beside));
        return;
    }
    if (runs.add(path, reader::read_whole_file(path, most_bytes)))
        say(path + ": is a report of a trace that lacks records: not all that was recorded could be read");
}

} // namespace umadvisor::cli
