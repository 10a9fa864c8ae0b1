#include "analyzer/symbols/python_lines.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace umadvisor::symbols {
namespace {

/// A line table from its beginning on; zeros behind its end.
class Bytes {
public:
    explicit Bytes(std::string_view table) : table_(table) {}

    bool more() const { return at_ < table_.size(); }
    std::uint8_t byte() { return more() ? static_cast<std::uint8_t>(table_[at_++]) : std::uint8_t{0}; }
    std::int8_t signed_byte() { return static_cast<std::int8_t>(byte()); }

    /// Six bits a byte, the lowest first; the seventh says that more follow.
    std::uint32_t varint() {
        std::uint32_t value = 0;
        std::uint8_t read = 0;
        int shift = 0;
        do {
            read = byte();
            if (shift < 32)
                value |= static_cast<std::uint32_t>(read & 0x3f) << shift;
            shift += 6;
        } while ((read & 0x40) != 0);
        return value;
    }
    /// The lowest bit is the sign.
    std::int32_t signed_varint() {
        const std::uint32_t value = varint();
        const auto magnitude = static_cast<std::int32_t>(value >> 1);
        return (value & 1) != 0 ? -magnitude : magnitude;
    }

private:
    std::string_view table_;
    std::size_t at_ = 0;
};

/// Ranges of a table, in the order of their addresses.
class Ranges {
public:
    /// Up to `end`, from where the one before ends. `line` 0: none.
    void add(std::uint64_t end, std::int64_t line) {
        constexpr std::int64_t last = 0x7fffffff;
        ranges_.push_back({end, line > 0 && line <= last ? static_cast<int>(line) : 0});
    }
    std::vector<LineRange> take() { return std::move(ranges_); }

private:
    std::vector<LineRange> ranges_;
};

/// Objects/lnotab_notes.txt of 3.9: steps of address and line; the last that does not lead past the instruction
/// counts.
void read_increments(Bytes bytes, std::int64_t line, Ranges& ranges) {
    std::uint64_t address = 0;
    while (bytes.more()) {
        address += bytes.byte();
        ranges.add(address, line);
        line += bytes.signed_byte();
    }
    ranges.add(std::numeric_limits<std::uint64_t>::max(), line);
}

/// Objects/lnotab_notes.txt of 3.10: how far each range goes, and its line against the one before.
void read_ranges(Bytes bytes, std::int64_t line, Ranges& ranges) {
    constexpr std::int8_t no_line = -128;
    std::uint64_t end = 0;
    while (bytes.more()) {
        end += bytes.byte();
        const std::int8_t step = bytes.signed_byte();
        if (step != no_line)
            line += step;
        ranges.add(end, step == no_line ? 0 : line);
    }
}

/// Objects/locations.md of 3.11: a byte with the kind of entry and how many instructions it is for, then what
/// the kind says of lines and columns.
void read_locations(Bytes bytes, std::int64_t line, Ranges& ranges) {
    constexpr unsigned first_one_line = 10, no_columns = 13, long_form = 14, no_location = 15;
    std::uint64_t end = 0;
    while (bytes.more()) {
        const std::uint8_t first = bytes.byte();
        const unsigned kind = first >> 3 & 15u;
        end += 2 * ((first & 7u) + 1);
        if (kind == long_form) {
            line += bytes.signed_varint();
            for (int i = 0; i < 3; ++i) // last line, both columns
                bytes.varint();
        } else if (kind == no_columns) {
            line += bytes.signed_varint();
        } else if (kind >= first_one_line && kind < no_columns) {
            line += kind - first_one_line;
            bytes.byte();
            bytes.byte();
        } else if (kind < first_one_line) {
            bytes.byte();
        }
        ranges.add(end, kind == no_location ? 0 : line);
    }
}

} // namespace

std::vector<LineRange> read_line_table(trace::LineTable format, std::string_view table, int first_line) {
    Ranges ranges;
    switch (format) {
    case trace::LineTable::none:
        break;
    case trace::LineTable::increments:
        read_increments(Bytes(table), first_line, ranges);
        break;
    case trace::LineTable::ranges:
        read_ranges(Bytes(table), first_line, ranges);
        break;
    case trace::LineTable::locations:
        read_locations(Bytes(table), first_line, ranges);
        break;
    }
    return ranges.take();
}

int line_at(std::span<const LineRange> ranges, std::uint64_t offset) {
    const auto found = std::ranges::upper_bound(ranges, offset, {}, &LineRange::end);
    return found == ranges.end() ? 0 : found->line;
}

} // namespace umadvisor::symbols
