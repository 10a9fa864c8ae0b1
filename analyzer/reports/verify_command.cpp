#include "analyzer/reports/verify_command.hpp"

#include "analyzer/reports/shell_word.hpp"

#include <algorithm>
#include <string_view>

namespace umadvisor::reports {
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
        line += (line.empty() ? "" : " ") + shell_word(rest.substr(0, end));
        rest.remove_prefix(std::min(rest.size(), end + 1));
    }
    return line.empty() ? "PROGRAM" : line;
}

/// The action of umadvisor that does what the rule advises; empty: none does.
std::string_view action_for(const findings::Rule& rule) {
    struct Action {
        std::string_view rule, act;
    };
    constexpr Action actions[] = {{"UMA-101", "stage"},    {"UMA-102", "stage"},    {"UMA-201", "prefetch"},
                                  {"UMA-202", "prefetch"}, {"UMA-203", "prefetch"}, {"UMA-204", "prefetch"},
                                  {"UMA-205", "prefetch"}, {"UMA-211", "prefetch"}};
    const auto* const found = std::ranges::find(actions, rule.id, &Action::rule);
    return found == std::end(actions) ? "" : found->act;
}

} // namespace

std::string verify_command(const Report& report, const findings::Rule& rule) {
    const std::string command = command_of(report);
    if (const std::string_view act = action_for(rule); !act.empty())
        return "umadvisor ab --act " + std::string(act) + " -- " + command;
    return "umadvisor run -f -o changed.umtrace -- " + command + " && umadvisor diff " +
           shell_path(report.trace.file.source().opened()) + " changed.umtrace";
}

} // namespace umadvisor::reports
