#include "interposer/record/python_table.hpp"

#include "interposer/base/text.hpp"
#include "interposer/record/python_text.hpp"
#include "interposer/record/recorder.hpp"
#include "interposer/record/slow_path.hpp"

#include <algorithm>

namespace umadvisor::record {

template <class Memory>
std::uint32_t PythonTable::stack(PythonReader<Memory>& reader, const PythonSight* sights, int count,
                                 trace::LineTable format) noexcept {
    const SlowPath slow;
    const Guard guard(mutex_);
    std::uint32_t id = 0;
    for (int i = count; i-- > 0;) {
        const std::uint32_t number = code(reader, sights[i].code, format);
        if (number == 0 || (id = frame(id, number, sights[i])) == 0)
            return 0;
    }
    return id;
}

template std::uint32_t PythonTable::stack(PythonReader<DirectMemory>&, const PythonSight*, int,
                                          trace::LineTable) noexcept;
template std::uint32_t PythonTable::stack(PythonReader<CheckedMemory>&, const PythonSight*, int,
                                          trace::LineTable) noexcept;

template <class Memory>
bool PythonTable::text(PythonReader<Memory>& reader, std::uintptr_t object, char* to,
                       std::size_t& size) noexcept {
    typename PythonReader<Memory>::Text text;
    if (!reader.text(object, text))
        return false;
    const std::size_t count = std::min(text.bytes / text.width, trace::max_text);
    if (!reader.copy(text.at, characters_, count * text.width))
        return false;
    size = to_utf8(characters_, count, text.width, to, trace::max_text);
    return true;
}

template <class Memory>
std::uint32_t PythonTable::code(PythonReader<Memory>& reader, std::uintptr_t object,
                                trace::LineTable format) noexcept {
    if (lines_ == nullptr)
        lines_ = static_cast<std::uint8_t*>(base::map_pages(most_lines));
    PythonCodeHead head;
    std::uintptr_t lines = 0;
    if (lines_ == nullptr || !reader.head(object, head) || !text(reader, head.file, file_, file_bytes_) ||
        !text(reader, head.name, name_, name_bytes_) || !reader.bytes(head.lines, lines, line_bytes_))
        return 0;
    line_bytes_ = std::min(line_bytes_, most_lines);
    if (!reader.copy(lines, lines_, line_bytes_))
        return 0;
    const auto first_line = static_cast<std::uint64_t>(std::max(head.first_line, 0));
    bool fresh = false;
    const std::uint32_t id =
        codes_.number(base::hash({file_, file_bytes_}) ^ first_line << 32,
                      base::hash({name_, name_bytes_}) << 1 ^ base::hash(all_lines()), fresh);
    if (fresh)
        define_code(id, first_line, format);
    return id;
}

void PythonTable::define_code(std::uint64_t id, std::uint64_t first_line, trace::LineTable format) noexcept {
    const std::string_view lines = all_lines();
    trace::PythonCode record;
    record.id = id;
    record.first_line = first_line;
    record.format = format;
    record.file = {file_, file_bytes_};
    record.function = {name_, name_bytes_};
    record.lines = base::first(lines, trace::max_text);
    define(record);
    for (std::size_t at = trace::max_text; at < lines.size(); at += trace::max_text) {
        trace::PythonLines more;
        more.code = id;
        more.offset = at;
        more.lines = base::first(base::after(lines, at), trace::max_text);
        define(more);
    }
}

std::uint32_t PythonTable::frame(std::uint32_t parent, std::uint32_t code, const PythonSight& sight) noexcept {
    bool fresh = false;
    const std::uint32_t id = frames_.number(std::uint64_t{parent} << 32 | code,
                                            std::uint64_t{sight.instruction} << 1 | sight.entered, fresh);
    if (fresh) {
        trace::PythonFrame record;
        record.id = id;
        record.parent = parent;
        record.code = code;
        record.instruction = sight.instruction;
        record.entered = sight.entered;
        define(record);
    }
    return id;
}

} // namespace umadvisor::record
