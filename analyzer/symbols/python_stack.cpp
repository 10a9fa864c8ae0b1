#include "analyzer/symbols/python_stack.hpp"

#include "analyzer/reader/dictionary.hpp"
#include "analyzer/reader/shown_name.hpp"

#include <algorithm>
#include <string>

namespace umadvisor::symbols {
namespace {

std::vector<LineRange> lines_of(const reader::Dictionary& dictionary, const trace::PythonCode& code) {
    constexpr std::uint64_t last_line = 0x7fffffff;
    const int first_line = static_cast<int>(std::min(code.first_line, last_line));
    std::string table(code.lines);
    if (const auto more = dictionary.python_lines.find(code.id); more != dictionary.python_lines.end())
        for (const auto& [offset, lines] : more->second) {
            if (offset != table.size())
                break; // what lies between is lost, and the lines behind it with it
            table += lines;
        }
    return read_line_table(code.format, table, first_line);
}

} // namespace

PythonPlace PythonLines::of(const trace::PythonFrame& frame) {
    PythonPlace place;
    place.entered = frame.entered != 0;
    const auto code = dictionary_.python_codes.find(frame.code);
    if (code == dictionary_.python_codes.end())
        return place;
    const auto [entry, fresh] = codes_.try_emplace(frame.code);
    Code& known = entry->second;
    if (fresh)
        known = {reader::shown_name(code->second.function), code->second.file.substr(0, longest_path),
                 lines_of(dictionary_, code->second)};
    place.function = known.function;
    place.file = known.file;
    place.line = line_at(known.table, frame.instruction);
    return place;
}

std::vector<PythonPlace> python_stack(const reader::Dictionary& dictionary, PythonLines& lines,
                                      std::uint64_t innermost) {
    std::vector<PythonPlace> places;
    for (std::uint64_t id = innermost; id != 0 && places.size() < deepest;) {
        const auto frame = dictionary.python_frames.find(id);
        if (frame == dictionary.python_frames.end())
            break;
        places.push_back(lines.of(frame->second));
        id = frame->second.parent;
    }
    return places;
}

} // namespace umadvisor::symbols
