#include "analyzer/cli/prove/diff_file.hpp"

#include "analyzer/cli/message.hpp"
#include "analyzer/cli/run/child_process.hpp"
#include "analyzer/cli/run/program_file.hpp"
#include "analyzer/cli/run/run_results.hpp"
#include "analyzer/cli/run/working_directory.hpp"
#include "analyzer/reader/error.hpp"
#include "analyzer/reader/plain.hpp"
#include "analyzer/reader/whole_file.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace umadvisor::cli {
namespace {

constexpr std::uint64_t most_bytes = 64 << 20;
constexpr std::chrono::seconds allowed{60}; ///< to apply it

/// "b/src/a.cu", and a tab with a time behind it, is src/a.cu.
std::string file_name(const std::string& text) {
    const std::string name = text.substr(0, text.find('\t'));
    const std::size_t prefix = name.find('/');
    return prefix == std::string::npos ? name : name.substr(prefix + 1);
}

/// Throws reader::Error where the name leads out of the tree.
void check_inside(const std::string& diff, const std::string& name) {
    const std::filesystem::path path(name);
    const bool up = std::ranges::any_of(path, [](const std::filesystem::path& part) { return part == ".."; });
    if (name.empty() || path.is_absolute() || up)
        throw reader::Error(fmt::format("{} changes {}, which is not in the tree", diff,
                                        reader::plain(name.empty() ? "a file without a name" : name)));
}

/// Returns "UMA-407 ..." of the line "12. UMA-407 ..."; empty: the line names no finding.
std::string finding_name(const std::string& line) {
    const std::size_t digits = std::min(line.find_first_not_of("0123456789"), line.size());
    const bool named = digits != 0 && line.compare(digits, 6, ". UMA-") == 0;
    return named ? reader::plain(line.substr(digits + 2)) : "";
}

/// "12,3", or "12", which is one line, as it stands in the head of a hunk.
struct LineRange {
    long first = 0, count = 1;

    LineRange(const std::string& line, std::size_t at) {
        const char* const end = line.data() + line.size();
        const auto [next, error] = std::from_chars(line.data() + std::min(at, line.size()), end, first);
        if (next != end && *next == ',')
            std::from_chars(next + 1, end, count);
    }
    bool is_sane() const {
        constexpr long most = 1 << 30;
        return first >= 0 && count >= 0 && first < most && count < most;
    }
    /// The first line, or where there is none the one that would follow.
    long begin() const { return first + (count == 0); }
    long end() const { return begin() + count; }
};

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

} // namespace

DiffFile::DiffFile(const std::string& path) : path_(path), text_(reader::read_whole_file(path, most_bytes)) {
    parse();
}

void DiffFile::parse() {
    std::istringstream lines(text_);
    std::string old_name, name;
    for (std::string line; std::getline(lines, line);) {
        if (std::string finding = finding_name(line); !finding.empty())
            findings_.push_back(std::move(finding));
        if (line.starts_with("--- "))
            old_name = line.substr(4);
        if (line.starts_with("+++ ")) // of a file that goes, the old name
            name = line.starts_with("+++ /dev/null") ? old_name : line.substr(4);
        if (!line.starts_with("@@ -") || name.empty())
            continue;
        const std::string file = file_name(name);
        check_inside(path_, file);
        const LineRange before(line, 4), after(line, line.find('+') + 1);
        if (!before.is_sane() || !after.is_sane())
            throw reader::Error(fmt::format("{} has a hunk of lines that no file has", path_));
        Hunk hunk{before.begin(), before.end(), after.end() - before.end(), {}};
        long old_line = before.begin(), new_line = after.begin();
        while ((old_line < before.end() || new_line < after.end()) && std::getline(lines, line)) {
            const char mark = line.empty() ? ' ' : line.front();
            if (mark == ' ')
                hunk.kept[old_line] = new_line;
            old_line += mark == ' ' || mark == '-';
            new_line += mark == ' ' || mark == '+';
        }
        hunks_[file].push_back(std::move(hunk));
    }
}

std::vector<std::string> DiffFile::files() const {
    std::vector<std::string> names;
    for (const auto& [name, hunks] : hunks_)
        names.push_back(name);
    return names;
}

int DiffFile::moved(const symbols::CodePlace& place) const {
    const std::string file = place.file.string();
    long further = 0;
    for (const auto& [name, hunks] : hunks_) {
        if (file != name && !file.ends_with("/" + name))
            continue;
        for (const Hunk& hunk : hunks) {
            if (place.line < hunk.first)
                break;
            const auto kept = hunk.kept.find(place.line);
            if (place.line < hunk.end)
                return kept == hunk.kept.end() ? 0 : static_cast<int>(kept->second);
            further = hunk.further;
        }
        break;
    }
    return static_cast<int>(place.line + further);
}

void DiffFile::apply(const std::filesystem::path& root, const std::filesystem::path& kept) const {
    const WorkingDirectory there(root.string());
    std::vector<std::string> command{"git", "apply", "--whitespace=nowarn", kept.string()};
    ProgramFile tool = find_program("git");
    if (!tool.trouble.empty()) {
        command = {"patch", "-p1", "-f", "-F0", "-s", "-i", kept.string()};
        tool = find_program("patch");
    }
    if (!tool.trouble.empty())
        throw reader::Error("neither git nor patch is here to apply the diff; install one of them");
    // The folder for temporary files may lie in a working tree of git, which is no matter of the copy.
    const ChildResult result =
        run_child(tool.path, command, {{"GIT_CEILING_DIRECTORIES", root.parent_path().string()}}, allowed);
    if (!result.ended || result.status != 0) {
        std::string said = first_line(result.err.empty() ? result.out : result.err);
        if (said.empty())
            said = status_text(result.status);
        throw reader::Error(fmt::format("{} does not apply to the tree: {}: {}", path_, command.front(), said));
    }
}

} // namespace umadvisor::cli
