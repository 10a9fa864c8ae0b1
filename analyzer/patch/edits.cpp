#include "analyzer/patch/edits.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace umadvisor::patch {
namespace {

constexpr std::size_t context = 3; ///< unchanged lines around a change, as diff -u has them

/// With their ends; the last may have none.
std::vector<std::string_view> lines_of(std::string_view text) {
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

/// By the longest common subsequence of the lines between the first and the last that differ: few, for edits.
std::vector<Change> changes_of(const std::vector<std::string_view>& before,
                               const std::vector<std::string_view>& after) {
    const auto [from, to] = std::ranges::mismatch(before, after);
    const auto head = static_cast<std::size_t>(from - before.begin());
    std::size_t tail = 0;
    while (tail < std::min(before.size(), after.size()) - head &&
           before[before.size() - 1 - tail] == after[after.size() - 1 - tail])
        ++tail;
    const std::size_t rows = before.size() - tail - head, columns = after.size() - tail - head;
    std::vector<std::vector<std::size_t>> common(rows + 1, std::vector<std::size_t>(columns + 1));
    for (std::size_t i = rows; i-- > 0;)
        for (std::size_t j = columns; j-- > 0;)
            common[i][j] = before[head + i] == after[head + j] ? common[i + 1][j + 1] + 1
                                                               : std::max(common[i + 1][j], common[i][j + 1]);
    std::vector<Change> changes;
    bool open = false;
    for (std::size_t i = 0, j = 0; i < rows || j < columns;) {
        if (i < rows && j < columns && before[head + i] == after[head + j]) {
            open = false;
            ++i, ++j;
            continue;
        }
        if (!open)
            changes.push_back({head + i, head + i, head + j, head + j});
        open = true;
        if (j == columns || (i < rows && common[i + 1][j] >= common[i][j + 1]))
            changes.back().before_end = head + ++i;
        else
            changes.back().after_end = head + ++j;
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

bool overlap(const TextEdit& one, const TextEdit& other) {
    return one.begin == other.begin || (one.begin < other.end && other.begin < one.end);
}

std::string applied(std::string_view text, std::vector<TextEdit> edits) {
    std::ranges::sort(edits, {}, &TextEdit::begin);
    std::string result;
    std::size_t at = 0;
    for (const TextEdit& edit : edits) {
        result += text.substr(at, edit.begin - at);
        result += edit.text;
        at = edit.end;
    }
    return result + std::string(text.substr(at));
}

std::size_t changed_lines(std::string_view before, std::string_view after) {
    std::size_t count = 0;
    for (const Change& change : changes_of(lines_of(before), lines_of(after)))
        count += change.before_end - change.before + change.after_end - change.after;
    return count;
}

std::string unified_diff(std::string_view path, std::string_view before, std::string_view after) {
    const std::vector<std::string_view> old_lines = lines_of(before), new_lines = lines_of(after);
    const std::vector<Change> changes = changes_of(old_lines, new_lines);
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
    return diff.empty() ? diff : fmt::format("--- a/{0}\n+++ b/{0}\n", path) + diff;
}

} // namespace umadvisor::patch
