/// A table as people, spreadsheets and programs read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace umadvisor::text {

struct Column {
    std::string_view key;   ///< in JSON, ends in its unit
    std::string_view title; ///< "Total Time (ns)"
    int decimals = 0;       ///< of numbers that are not whole
};

/// Nothing, where it is not known.
using Cell = std::variant<std::monostate, std::uint64_t, double, std::string>;

struct Table {
    std::string_view name;  ///< "api"
    std::string_view title; ///< "API calls"
    std::vector<Column> columns;
    std::vector<std::vector<Cell>> rows; ///< as many cells as there are columns
};

/// Numbers to the right, words to the left. In lines of so many columns (0: any), where that can be: the last
/// numbers are left out, and named below.
void write_text(const Table& table, std::ostream& out, std::size_t width = 0);
/// With a line of titles (RFC 4180, but for its line ends, which are those of this system).
void write_csv(const Table& table, std::ostream& out);
/// A list of objects.
nlohmann::ordered_json to_json(const Table& table);

} // namespace umadvisor::text
