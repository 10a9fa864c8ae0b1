#include "analyzer/text/shell_word.hpp"

#include <algorithm>

namespace umadvisor::text {
namespace {

std::string_view file_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

/// Takes the first word of a command line off it.
std::string_view take_word(std::string_view& words) {
    const std::string_view word = words.substr(0, words.find('\0'));
    words.remove_prefix(std::min(word.size() + 1, words.size()));
    return word;
}

/// "python", "python3", "python3.13t"
bool is_python(std::string_view executable) {
    return executable.starts_with("python") &&
           executable.substr(6).find_first_not_of("0123456789.td") == std::string_view::npos;
}

/// What an interpreter of Python runs (python(1)); empty: text of the command line or of stdin.
std::string_view python_program(std::string_view words) {
    take_word(words);
    while (!words.empty()) {
        std::string_view word = take_word(words);
        if (word == "--check-hash-based-pycs")
            take_word(words);
        if (word.starts_with("--"))
            continue;
        if (!word.starts_with('-'))
            return file_name(word);
        const std::size_t takes = word.find_first_of("cmWX");
        const char letter = takes == std::string_view::npos ? ' ' : word[takes];
        if (word == "-" || letter == 'c')
            break;
        const std::string_view value = letter == ' ' ? std::string_view() : word.substr(takes + 1);
        if (letter == 'm')
            return value.empty() ? take_word(words) : value;
        if (letter != ' ' && value.empty())
            take_word(words);
    }
    return {};
}

} // namespace

std::string program_name(std::string_view executable, std::string_view command_line) {
    const std::string_view name = file_name(executable);
    const std::string_view script = is_python(name) ? python_program(command_line) : std::string_view();
    return std::string(script.empty() ? name : script);
}

std::string shell_word(std::string_view word) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+%@";
    if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos)
        return std::string(word);
    std::string quoted = "'";
    for (const char c : word)
        quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

std::string shell_words(std::string_view words) {
    std::string line;
    while (!words.empty()) {
        const std::size_t end = std::min(words.find('\0'), words.size());
        line += (line.empty() ? "" : " ") + shell_word(words.substr(0, end));
        words.remove_prefix(std::min(end + 1, words.size()));
    }
    return line;
}

std::string shell_path(const std::string& path) {
    return shell_word(path.starts_with('-') ? "./" + path : path);
}

} // namespace umadvisor::text
