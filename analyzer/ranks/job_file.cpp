#include "analyzer/ranks/job_file.hpp"

#include "analyzer/reader/error.hpp"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <functional>
#include <utility>
#include <vector>

namespace umadvisor::ranks {
namespace {

using Traits = std::ifstream::traits_type;

std::ifstream open(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw reader::Error(path + ": cannot be read");
    return file;
}

/// The next line, without its line feed; false at the end.
bool read_line(std::ifstream& file, const std::string& path, std::vector<char>& buffer,
               std::string_view& line) {
    if (file.peek() == Traits::eof())
        return false;
    file.getline(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    if (file.fail())
        throw reader::Error(path + ": a line is longer than a summary is; this is no file of summaries");
    const auto taken = static_cast<std::size_t>(file.gcount());
    line = {buffer.data(), taken - (file.eof() ? 0 : 1)};
    return true;
}

/// With room for the zero that getline() adds.
std::vector<char> line_buffer() {
    return std::vector<char>(most_summary_bytes + 1);
}

} // namespace

bool holds_summaries(const std::string& path) {
    std::error_code failed; // a pipe cannot be read twice
    return std::filesystem::is_regular_file(path, failed) &&
           std::ifstream(path, std::ios::binary).peek() == '{';
}

void for_each_line(const std::string& path, const std::function<void(std::string_view, std::uint64_t)>& visit) {
    std::ifstream file = open(path);
    std::vector<char> buffer = line_buffer();
    std::string_view line;
    for (std::uint64_t offset = 0; read_line(file, path, buffer, line); offset += line.size() + 1)
        if (!line.empty())
            visit(line, offset);
}

void Merged::add_file(const std::string& path) {
    files_.push_back(path);
    for_each_line(path, [&](std::string_view line, std::uint64_t offset) {
        add(from_line(line, path), {{}, files_.size() - 1, offset, std::hash<std::string_view>()(line)});
    });
}

void Merged::add(const Summary& summary) {
    std::string line = to_line(summary);
    line.pop_back(); // the line feed
    const std::size_t hash = std::hash<std::string_view>()(line);
    add(summary, {std::move(line), 0, 0, hash});
}

void Merged::add(const Summary& summary, Line line) {
    std::uint64_t number = 0;
    const char* const end = summary.rank.data() + summary.rank.size();
    const bool is_number =
        !summary.rank.empty() && std::from_chars(summary.rank.data(), end, number).ptr == end;
    Order order(summary.rank.empty() ? 2 : is_number ? 0 : 1, number, summary.rank, summary.key());
    const auto [entry, fresh] = lines_.try_emplace(std::move(order));
    if (fresh || line.hash < entry->second.hash) // of two of one process the same, whichever came first
        entry->second = std::move(line);
    if (fresh && summary.calls != 0)
        ++useful_;
    else if (fresh && !summary.complete)
        ++unknown_;
}

void Merged::write(const std::function<void(std::string_view)>& out) const {
    std::vector<char> buffer = line_buffer();
    std::ifstream file; // most lines stand one behind the other in one file
    std::size_t opened = files_.size();
    std::uint64_t at = 0;
    for (const auto& [order, line] : lines_) {
        if (!line.text.empty()) {
            out(line.text);
        } else {
            const std::string& path = files_[line.file];
            if (std::exchange(opened, line.file) != line.file) {
                file = open(path);
                at = 0;
            }
            if (at != line.offset)
                file.seekg(static_cast<std::streamoff>(line.offset));
            std::string_view text;
            if (!file || !read_line(file, path, buffer, text))
                throw reader::Error(path + ": has become shorter while it was read");
            out(text);
            at = line.offset + text.size() + 1;
        }
        out("\n");
    }
}

} // namespace umadvisor::ranks
