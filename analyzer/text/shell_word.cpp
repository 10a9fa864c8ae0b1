#include "analyzer/text/shell_word.hpp"

#include <algorithm>

namespace umadvisor::text {

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
