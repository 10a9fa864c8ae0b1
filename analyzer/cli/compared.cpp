#include "analyzer/cli/compared.hpp"
#include "analyzer/cli/usual_rates.hpp"

#include "analyzer/reader/error.hpp"
#include "analyzer/reader/source.hpp"
#include "analyzer/reports/report.hpp"
#include "trace/layout.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace umadvisor::cli {
namespace {

constexpr std::size_t compared_block = std::size_t{1} << 16;

/// False at the end of the file.
bool append_block(const reader::Source& source, std::string& text) {
    const std::size_t before = text.size();
    text.resize(before + compared_block);
    const std::size_t got = source.read(before, text.data() + before, compared_block);
    text.resize(before + got);
    return got != 0;
}

bool begins_as_json(const std::string& text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first != std::string::npos && (text[first] == '{' || text[first] == '[');
}

/// The whole file, if it is JSON by its first byte that is no blank; empty otherwise.
std::string json_of_file(const reader::Source& source) {
    std::string text;
    while (append_block(source, text))
        if (text.size() <= compared_block && !begins_as_json(text))
            return {};
    return text;
}

void check_trace(const reader::Source& source) {
    std::string begin(trace::file_magic.size(), '\0');
    begin.resize(source.read(0, begin.data(), begin.size()));
    if (begin.empty() || !std::equal(begin.begin(), begin.end(), trace::file_magic.begin()))
        throw reader::Error(source.path() +
                            (begin.empty() ? ": is empty" : ": is neither a trace nor a report") +
                            "; umadvisor run makes a trace, umadvisor report --json a report of it");
}

/// Through its text, so that names which are no UTF-8 become what they are in a report that was kept.
std::string report_of_trace(const std::string& path, const symbols::Options& options) {
    reports::Report made(path, options, false, &usual_rates);
    return reports::to_json(made).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

} // namespace

void add_compared(reports::ReportedRuns& runs, const std::string& path, const symbols::Options& options) {
    const reader::Source source(path);
    std::string text = json_of_file(source);
    if (text.empty()) {
        check_trace(source);
        text = report_of_trace(path, options);
    }
    runs.add(path, text);
}

} // namespace umadvisor::cli
