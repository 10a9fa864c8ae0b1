#include "analyzer/symbols/source_files.hpp"

#include "analyzer/symbols/module_file.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <fcntl.h>
#include <fmt/core.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::symbols {
namespace {

constexpr std::size_t longest_line = 200;
constexpr std::size_t largest_source = 16 << 20, most_held = 64 << 20;

constexpr auto suffixes = std::to_array<std::string_view>(
    {"c",   "cc",  "cpp", "cxx", "c++", "C",   "cu",  "cuh", "h",   "hh",    "hpp", "hxx", "h++",
     "H",   "inl", "inc", "ipp", "tpp", "txx", "tcc", "hip", "cl",  "py",    "pyx", "pxd", "pxi",
     "f",   "F",   "for", "f77", "f90", "F90", "f95", "F95", "f03", "F03",   "f08", "F08", "cuf",
     "CUF", "rs",  "go",  "jl",  "d",   "m",   "mm",  "zig", "nim", "swift", "s",   "S",   "asm"});

bool has_source_suffix(std::string_view path) {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    const std::size_t dot = name.rfind('.');
    return dot != std::string_view::npos && dot != 0 &&
           std::ranges::find(suffixes, name.substr(dot + 1)) != suffixes.end();
}

class Descriptor {
public:
    explicit Descriptor(const std::string& path)
        : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
    ~Descriptor() {
        if (number_ >= 0)
            ::close(number_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int number() const { return number_; }

    /// The file that was opened, with all links resolved; empty where the system does not report it.
    std::string path() const {
        std::array<char, PATH_MAX> target{};
        const ssize_t length =
            ::readlink((fmt::format("/proc/self/fd/{}", number_)).c_str(), target.data(), target.size());
        return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : std::string();
    }

private:
    int number_;
};

std::int64_t nanoseconds(const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

} // namespace

std::string quoted(std::string_view line) {
    std::string text(line.substr(0, longest_line));
    std::ranges::replace_if(
        text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
    const std::size_t first = text.find_first_not_of(' ');
    return first == std::string::npos ? std::string() : text.substr(first);
}

std::string SourceFiles::read_text(const std::string& path) {
    if (!has_source_suffix(path))
        return {};
    const Descriptor file(path);
    struct stat status {};
    if (file.number() < 0 || ::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode) ||
        static_cast<std::size_t>(status.st_size) > largest_source || !has_source_suffix(file.path()))
        return {};
    if (!options_.source.shown) {
        withheld_ = true;
        return {};
    }
    if (options_.source.run_ended_ns != 0 && nanoseconds(status.st_mtim) > options_.source.run_ended_ns) {
        changed_.insert(path);
        return {};
    }
    std::string text(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t done = 0;
    for (ssize_t got = 1; got > 0 && done < text.size();
         done += static_cast<std::size_t>(std::max<ssize_t>(got, 0)))
        got = ::read(file.number(), text.data() + done, text.size() - done);
    text.resize(done);
    return text;
}

const SourceFiles::File& SourceFiles::read(const std::string& path) {
    if (held_ > most_held) {
        files_.clear();
        held_ = 0;
    }
    const auto [entry, fresh] = files_.try_emplace(path);
    File& file = entry->second;
    if (!fresh)
        return file;
    std::string found = file_path(path, options_);
    if (!is_plain_file(found)) // sources mostly stay where the program was built
        found = path;
    file.text = read_text(found);
    for (std::size_t at = 0; at < file.text.size();
         at = std::min(file.text.find('\n', at), file.text.size()) + 1)
        file.lines.push_back(at);
    held_ += file.text.size() + file.lines.size() * sizeof file.lines[0];
    return file;
}

std::string SourceFiles::line(const std::string& path, int number) {
    if (path.empty() || number <= 0)
        return {};
    const File& file = read(path);
    if (static_cast<std::size_t>(number) > file.lines.size())
        return {};
    std::string_view line(file.text);
    line.remove_prefix(file.lines[static_cast<std::size_t>(number) - 1]);
    return quoted(line.substr(0, line.find('\n')));
}

std::vector<std::string> SourceFiles::notes() const {
    if (withheld_)
        return {"the trace belongs to another user: lines of the source are not shown (report --source shows "
                "them)"};
    if (changed_.empty())
        return {};
    return {fmt::format("the source changed after the run: lines of {}{} are not shown", *changed_.begin(),
                        changed_.size() > 1 ? fmt::format(" and {} more", changed_.size() - 1) : "")};
}

} // namespace umadvisor::symbols
