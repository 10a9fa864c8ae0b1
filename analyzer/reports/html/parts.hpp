/// The parts of the page that are there without its script.
#pragma once

#include "analyzer/reports/html/after.hpp"
#include "analyzer/reports/html/markup.hpp"
#include "analyzer/reports/html/page.hpp"
#include "analyzer/reports/html/timeline/bar.hpp"
#include "analyzer/reports/html/timeline/timeline.hpp"
#include "analyzer/text/table.hpp"

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace umadvisor::html {

/// Of each Cause: what the page calls it, and the name of its colour.
struct CauseWords {
    std::string_view name, brief, colour;
};
extern const std::array<CauseWords, causes> cause_words;

/// `document`: as reports::to_json has it.
void write_head(Markup& out, const nlohmann::ordered_json& document, const Timeline& timeline,
                const After& after);
void write_cards(Markup& out, const nlohmann::ordered_json& document, const PageOptions& options);
void write_tables(Markup& out, advice::Report& report);
void write_confidence(Markup& out, std::string_view confidence);
/// The button that opens all cards.
void write_open_all(Markup& out);
/// All of a table up to its headings: `</tr></thead>` and the rest are the caller's.
void begin_table(Markup& out, const std::string& name, std::string_view title, const std::string& words);
/// Under which a row of a table can be linked to: `name` is what it is of.
std::string row_id(std::string_view table, std::string_view name);
/// What calls take, what is left after the change and what that saves, with links to the rows of tables that
/// have the calls and the memory; nothing where the finding does not have these times.
void write_arithmetic(Markup& out, const nlohmann::ordered_json& document,
                      const nlohmann::ordered_json& finding);
/// Sorts, filters and copies by script. `more_in`: the command that shows rows which the page leaves out.
/// `compared`: rows are of two runs, and the column "change_ns" says which is slower.
void write_table(Markup& out, const text::Table& table, const std::string& more_in, bool compared = false);

} // namespace umadvisor::html
