#include "analyzer/advice/verify_command.hpp"

#include "analyzer/text/shell_word.hpp"

#include <string_view>

namespace umadvisor::advice {
namespace {

std::string command_of(const Report& report) {
    if (report.trace.dictionary.processes.empty())
        return "PROGRAM";
    std::string_view rest = report.trace.dictionary.processes.front().command_line;
    while (!rest.empty() && rest.back() == '\0')
        rest.remove_suffix(1);
    std::string line;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\0'), rest.size());
        line += (line.empty() ? "" : " ") + text::shell_word(rest.substr(0, end));
        rest.remove_prefix(std::min(rest.size(), end + 1));
    }
    return line.empty() ? "PROGRAM" : line;
}

} // namespace

std::string verify_command(const Report& report, const rules::Rule& rule) {
    const std::string command = command_of(report);
    if (!rule.act.empty())
        return fmt::format("umadvisor ab --act {} -- {}", rule.act, command);
    return fmt::format("umadvisor run -f -o changed.umtrace -- {} && umadvisor diff {} changed.umtrace",
                       command, text::shell_path(report.trace.file.source().opened()));
}

} // namespace umadvisor::advice
