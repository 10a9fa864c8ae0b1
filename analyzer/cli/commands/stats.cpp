#include "analyzer/reports/stats/stats.hpp"
#include "analyzer/reports/text/text.hpp"

#include "analyzer/cli/command.hpp"
#include "analyzer/cli/losses.hpp"
#include "analyzer/cli/message.hpp"
#include "analyzer/cli/range_options.hpp"
#include "analyzer/cli/stack_options.hpp"
#include "analyzer/cli/terminal/pager.hpp"
#include "analyzer/cli/terminal/progress.hpp"
#include "analyzer/cli/terminal/terminal.hpp"
#include "analyzer/text/json_text.hpp"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

namespace umadvisor::cli {
namespace {

std::string known_tables() {
    std::string names;
    for (const std::string_view table : reports::stats_tables)
        names += (names.empty() ? "" : ", ") + std::string(table);
    return names;
}

void write_csv(const std::vector<text::Table>& tables, std::ostream& out) {
    for (const text::Table& table : tables) {
        out << (&table == tables.data() ? "" : "\n");
        write_csv(table, out);
    }
}

void write_text(const advice::Report& report, const std::vector<text::Table>& tables, text::Terminal terminal,
                std::ostream& out) {
    text::TerminalText text(terminal);
    text.stream() << reports::headline(report) << "\n\n";
    for (const text::Table& table : tables) {
        text.stream() << (&table == tables.data() ? "" : "\n");
        write_text(table, text.stream(), terminal.width);
    }
    text.print(out);
}

void write_document(const advice::Report& report, const std::vector<text::Table>& tables, std::ostream& out) {
    nlohmann::ordered_json document{{"schema", "umadvisor-stats-1"}, {"file", report.trace.file.path()}};
    for (const text::Table& table : tables)
        document["tables"][std::string(table.name)] = to_json(table);
    out << text::json_text(document, 2) << "\n";
}

int stats(const Arguments& arguments) {
    const std::string format = arguments.has("--format") ? arguments.value("--format") : "text";
    if (format != "text" && format != "csv" && format != "json") {
        say("--format takes text, csv or json, not " + format);
        return usage_error;
    }
    const std::optional<text::Terminal> shown_on = terminal(arguments);
    const std::optional<reader::RangeQuery> ranges = range_query(arguments);
    if (!shown_on || !ranges)
        return usage_error;
    std::vector<std::string> wanted = arguments.values("--table");
    for (const std::string& name : wanted)
        if (std::ranges::find(reports::stats_tables, name) == reports::stats_tables.end()) {
            say(fmt::format("there is no table {}; tables are: {}", name, known_tables()));
            return usage_error;
        }
    const bool chosen = !wanted.empty();
    if (!chosen)
        wanted.assign(reports::stats_tables.begin(), reports::stats_tables.end());

    advice::Report report(arguments.rest.front(), stack_options(arguments), true, {}, *ranges);
    std::vector<text::Table> tables;
    for (const std::string& name : wanted) {
        text::Table table = reports::stats_table(report, name);
        if (chosen || format == "json" || !table.rows.empty())
            tables.push_back(std::move(table));
    }
    end_progress();
    say_losses(report.trace);
    const Pager pager;
    if (format == "json")
        write_document(report, tables, std::cout);
    else if (format == "csv")
        write_csv(tables, std::cout);
    else
        write_text(report, tables, *shown_on, std::cout);
    return done;
}

} // namespace

const Command stats_command{
    "stats",
    "Tables: calls, copies, allocations, kernels, managed memory",
    "FILE",
    1,
    1,
    with_terminal_option(with_stack_options(with_range_options(
        {{"--format", "text|csv|json", "Output format; default: text (docs/stats.md)"},
         {"--table", "NAME",
          "Only this one of api, copies, copy-sizes, allocations, kernels, managed; may be given several times",
          true}}))),
    &stats};

} // namespace umadvisor::cli
