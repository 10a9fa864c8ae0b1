#include "analyzer/patch/edits.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace umadvisor::patch {
namespace {

constexpr std::size_t context = 3; ///< unchanged lines around a change, as diff -u has them

/// Lines have their ends with them; the last may have none.
std::vector<std::string_view> split_lines(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return lines;
}

/// Lines `before` to `before_end` became `after` to `after_end`.
struct Change {
    std::size_t before = 0, before_end = 0, after = 0, after_end = 0;
};

/// The changes of a few lines, by their longest common subsequence. The first of the lines has these numbers.
void add_changes(std::vector<Change>& changes, const std::vector<std::string_view>& before,
                 const std::vector<std::string_view>& after, std::size_t first_before,
                 std::size_t first_after) {
    const std::size_t rows = before.size(), columns = after.size();
    std::vector<std::vector<std::size_t>> common(rows + 1, std::vector<std::size_t>(columns + 1));
    for (std::size_t i = rows; i-- > 0;)
        for (std::size_t j = columns; j-- > 0;)
            common[i][j] =
                before[i] == after[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
    bool open = false;
    for (std::size_t i = 0, j = 0; i < rows || j < columns;) {
        if (i < rows && j < columns && before[i] == after[j]) {
            open = false;
            ++i, ++j;
            continue;
        }
        if (!open)
            changes.push_back({first_before + i, first_before + i, first_after + j, first_after + j});
        open = true;
        if (j == columns || (i < rows && common[i + 1][j] >= common[i][j + 1]))
            changes.back().before_end = first_before + ++i;
        else
            changes.back().after_end = first_after + ++j;
    }
}

/// Behind the last line that the edit changes: where it ends at the beginning of a line, that line only if the
/// edit leaves no end of a line before it.
std::size_t end_of_lines(std::string_view text, const TextEdit& edit) {
    const bool ends_line =
        edit.text.empty() ? edit.begin == line_begin(text, edit.begin) : edit.text.ends_with('\n');
    if (edit.end == text.size() || (edit.end == line_begin(text, edit.end) && ends_line))
        return edit.end;
    return std::min(text.find('\n', edit.end), text.size() - 1) + 1;
}

/// Edits of lines that touch are compared together; no other line is looked at.
std::vector<Change> changes_of(std::string_view before, std::vector<TextEdit> edits) {
    std::ranges::stable_sort(edits, {}, &TextEdit::begin);
    std::vector<Change> changes;
    std::size_t line = 0, counted = 0, added = 0; ///< `added`: lines, modulo 2^64
    for (std::size_t first = 0, last = 0; first < edits.size(); first = last) {
        const std::size_t begin = line_begin(before, edits[first].begin);
        std::size_t end = end_of_lines(before, edits[first]);
        for (last = first + 1; last < edits.size() && line_begin(before, edits[last].begin) <= end; ++last)
            end = std::max(end, end_of_lines(before, edits[last]));
        std::vector<TextEdit> here(edits.begin() + static_cast<std::ptrdiff_t>(first),
                                   edits.begin() + static_cast<std::ptrdiff_t>(last));
        for (TextEdit& edit : here) {
            edit.begin -= begin;
            edit.end -= begin;
        }
        const std::string_view old_text = before.substr(begin, end - begin);
        const std::string new_text = applied(old_text, here);
        line += static_cast<std::size_t>(std::ranges::count(before.substr(counted, begin - counted), '\n'));
        counted = begin;
        const std::vector<std::string_view> old_lines = split_lines(old_text),
                                            new_lines = split_lines(new_text);
        add_changes(changes, old_lines, new_lines, line, line + added);
        added += new_lines.size() - old_lines.size();
    }
    return changes;
}

/// "12,3" as a hunk's head has it.
std::string range_text(std::size_t first, std::size_t count) {
    return count == 1 ? fmt::format("{}", first + 1)
                      : fmt::format("{},{}", count == 0 ? first : first + 1, count);
}

void add_line(std::string& diff, char mark, std::string_view line) {
    diff += mark;
    diff += line;
    if (!line.ends_with('\n'))
        diff += "\n\\ No newline at end of file\n";
}

} // namespace

std::size_t line_begin(std::string_view text, std::size_t byte) {
    const std::size_t end = byte == 0 ? std::string_view::npos : text.rfind('\n', byte - 1);
    return end == std::string_view::npos ? 0 : end + 1;
}

std::size_t line_end(std::string_view text, std::size_t byte) {
    const std::size_t end = text.find('\n', byte);
    return end == std::string_view::npos ? text.size() : end + 1;
}

std::string indent_at(std::string_view text, std::size_t byte) {
    const std::size_t begin = line_begin(text, byte);
    const std::size_t first = std::min(text.find_first_not_of(" \t", begin), text.size());
    return std::string(text.substr(begin, first - begin));
}

bool overlap(const TextEdit& one, const TextEdit& other) {
    const bool insertions = one.begin == one.end && other.begin == other.end;
    return (one.begin == other.begin && !insertions) || (one.begin < other.end && other.begin < one.end);
}

std::string applied(std::string_view text, std::vector<TextEdit> edits) {
    std::ranges::stable_sort(edits, {}, &TextEdit::begin);
    std::string result;
    std::size_t at = 0;
    for (const TextEdit& edit : edits) {
        result += text.substr(at, edit.begin - at);
        result += edit.text;
        at = edit.end;
    }
    return result + std::string(text.substr(at));
}

std::size_t changed_lines(std::string_view before, const std::vector<TextEdit>& edits) {
    std::size_t removed = 0, added = 0;
    for (const Change& change : changes_of(before, edits)) {
        removed += change.before_end - change.before;
        added += change.after_end - change.after;
    }
    return std::max(removed, added);
}

std::string unified_diff(std::string_view path, std::string_view before, const std::vector<TextEdit>& edits) {
    const std::string after = applied(before, edits);
    const std::vector<std::string_view> old_lines = split_lines(before), new_lines = split_lines(after);
    const std::vector<Change> changes = changes_of(before, edits);
    std::string diff;
    for (std::size_t first = 0, last = 0; first < changes.size(); first = last + 1) {
        for (last = first;
             last + 1 < changes.size() && changes[last + 1].before - changes[last].before_end <= 2 * context;
             ++last) {
        }
        const std::size_t lead = std::min(context, changes[first].before);
        const std::size_t begin = changes[first].before - lead,
                          end = std::min(changes[last].before_end + context, old_lines.size()),
                          new_begin = changes[first].after - lead,
                          new_end = changes[last].after_end + (end - changes[last].before_end);
        diff += fmt::format("@@ -{} +{} @@\n", range_text(begin, end - begin),
                            range_text(new_begin, new_end - new_begin));
        std::size_t at = begin;
        for (std::size_t i = first; i <= last; ++i) {
            for (; at < changes[i].before; ++at)
                add_line(diff, ' ', old_lines[at]);
            for (; at < changes[i].before_end; ++at)
                add_line(diff, '-', old_lines[at]);
            for (std::size_t line = changes[i].after; line < changes[i].after_end; ++line)
                add_line(diff, '+', new_lines[line]);
        }
        for (; at < end; ++at)
            add_line(diff, ' ', old_lines[at]);
    }
    const std::string_view end_of_name =
        path.find(' ') == std::string_view::npos ? "" : "\t"; // as GNU diff has it
    return diff.empty() ? diff : fmt::format("--- a/{0}{1}\n+++ b/{0}{1}\n", path, end_of_name) + diff;
}

} // namespace umadvisor::patch
