#include "analyzer/symbols/python_lines.hpp"

#include <cstddef>

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

/// Objects/lnotab_notes.txt of 3.9: steps of address and line; the last that does not lead past the instruction
/// counts.
std::int64_t increments(Bytes bytes, std::int64_t line, std::uint64_t offset) {
    std::uint64_t address = 0;
    while (bytes.more()) {
        address += bytes.byte();
        const std::int8_t step = bytes.signed_byte();
        if (address > offset)
            break;
        line += step;
    }
    return line;
}

/// Objects/lnotab_notes.txt of 3.10: how far each range goes, and its line against the one before.
std::int64_t ranges(Bytes bytes, std::int64_t line, std::uint64_t offset) {
    constexpr std::int8_t no_line = -128;
    std::uint64_t end = 0;
    while (bytes.more()) {
        end += bytes.byte();
        const std::int8_t step = bytes.signed_byte();
        if (step != no_line)
            line += step;
        if (offset < end)
            return step == no_line ? 0 : line;
    }
    return 0;
}

/// Objects/locations.md of 3.11: a byte with the kind of entry and how many instructions it is for, then what
/// the kind says of lines and columns.
std::int64_t locations(Bytes bytes, std::int64_t line, std::uint64_t offset) {
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
        if (offset < end)
            return kind == no_location ? 0 : line;
    }
    return 0;
}

std::int64_t look_up(trace::LineTable format, std::string_view table, int first_line, std::uint64_t offset) {
    switch (format) {
    case trace::LineTable::none:
        break;
    case trace::LineTable::increments:
        return increments(Bytes(table), first_line, offset);
    case trace::LineTable::ranges:
        return ranges(Bytes(table), first_line, offset);
    case trace::LineTable::locations:
        return locations(Bytes(table), first_line, offset);
    }
    return 0;
}

} // namespace

int python_line(trace::LineTable format, std::string_view table, int first_line, std::uint64_t offset) {
    constexpr std::int64_t last = 0x7fffffff;
    const std::int64_t line = look_up(format, table, first_line, offset);
    return line > 0 && line <= last ? static_cast<int>(line) : 0;
}

} // namespace umadvisor::symbols
