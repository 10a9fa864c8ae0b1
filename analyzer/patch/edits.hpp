/// Changes of a text, and the unified diff that shows them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace umadvisor::patch {

/// Bytes `begin` to `end` become `text`.
struct TextEdit {
    std::size_t begin = 0, end = 0;
    std::string text{};

    bool operator==(const TextEdit&) const = default;
};

/// Returns where the line of this byte begins.
std::size_t line_begin(std::string_view text, std::size_t byte);
/// Returns where the next line begins.
std::size_t line_end(std::string_view text, std::size_t byte);
/// Returns the spaces and tabs that the line of this byte begins with.
std::string indent_at(std::string_view text, std::size_t byte);

/// Returns whether both change the same bytes, or one inserts where the other begins to remove.
bool overlap(const TextEdit& one, const TextEdit& other);

/// `edits` do not overlap. Of insertions at the same place, the earlier of the list comes first.
std::string applied(std::string_view text, std::vector<TextEdit> edits);

/// How many lines the edits remove or add, the larger of both: a line that is moved or replaced counts once.
std::size_t changed_lines(std::string_view before, const std::vector<TextEdit>& edits);

/// As `diff -u` writes it, with `a/` and `b/` before `path`; empty where nothing differs.
std::string unified_diff(std::string_view path, std::string_view before, const std::vector<TextEdit>& edits);

} // namespace umadvisor::patch
