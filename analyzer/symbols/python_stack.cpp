#include "analyzer/symbols/python_stack.hpp"

#include "analyzer/reader/dictionary.hpp"
#include "analyzer/symbols/python_lines.hpp"

#include <algorithm>
#include <string>

namespace umadvisor::symbols {
namespace {

int line_of(const reader::Dictionary& dictionary, const trace::PythonCode& code, std::uint64_t instruction) {
    constexpr std::uint64_t last_line = 0x7fffffff;
    const int first_line = static_cast<int>(std::min(code.first_line, last_line));
    const auto more = dictionary.python_lines.find(code.id);
    if (more == dictionary.python_lines.end())
        return python_line(code.format, code.lines, first_line, instruction);
    std::string table(code.lines);
    for (const auto& [offset, lines] : more->second) {
        if (offset != table.size())
            break; // what lies between is lost, and the lines behind it with it
        table += lines;
    }
    return python_line(code.format, table, first_line, instruction);
}

} // namespace

int line_of(const reader::Dictionary& dictionary, const trace::PythonFrame& frame) {
    const auto code = dictionary.python_codes.find(frame.code);
    return code == dictionary.python_codes.end() ? 0 : line_of(dictionary, code->second, frame.instruction);
}

std::vector<PythonPlace> python_stack(const reader::Dictionary& dictionary, std::uint64_t innermost) {
    std::vector<PythonPlace> places;
    for (std::uint64_t id = innermost; id != 0 && places.size() < deepest;) {
        const auto frame = dictionary.python_frames.find(id);
        if (frame == dictionary.python_frames.end())
            break;
        PythonPlace& place = places.emplace_back();
        place.entered = frame->second.entered != 0;
        if (const auto code = dictionary.python_codes.find(frame->second.code);
            code != dictionary.python_codes.end()) {
            place.function = code->second.function;
            place.file = code->second.file;
            place.line = line_of(dictionary, code->second, frame->second.instruction);
        }
        id = frame->second.parent;
    }
    return places;
}

} // namespace umadvisor::symbols
