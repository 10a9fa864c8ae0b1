#include "interposer/control/request.hpp"

#include "interposer/base/text.hpp"

namespace umadvisor::control {

namespace {

bool is_control_character(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

bool is_one_of(std::string_view word, std::string_view words) {
    while (!words.empty()) {
        const std::size_t end = words.find(' ');
        if (base::first(words, end) == word)
            return true;
        words = end == std::string_view::npos ? std::string_view() : base::after(words, end + 1);
    }
    return false;
}

const char* add_value(std::string_view word, Request& to) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos || equals == 0)
        return "the words behind the command must be key=value";
    const std::string_view key = base::first(word, equals);
    for (std::size_t i = 0; i < to.count; ++i)
        if (to.values[i].key == key)
            return "a key stands there twice";
    if (to.count == Request::most_values)
        return "there are too many words";
    to.values[to.count++] = {key, base::after(word, equals + 1)};
    return nullptr;
}

} // namespace

std::string_view Request::value(std::string_view key) const noexcept {
    for (std::size_t i = 0; i < count; ++i)
        if (values[i].key == key)
            return values[i].text;
    return {};
}

const char* Request::check(std::string_view allowed) const noexcept {
    for (std::size_t i = 0; i < count; ++i)
        if (!is_one_of(values[i].key, allowed))
            return "the command does not have such a key";
    return nullptr;
}

const char* parse(char* line, std::size_t bytes, Request& to) noexcept {
    to = {};
    for (std::size_t i = 0; i < bytes; ++i)
        if (is_control_character(line[i]) && line[i] != '\t')
            return "the request has a control character";
    const std::string_view text(line, bytes);
    for (std::size_t begin = 0; begin <= bytes;) {
        const std::size_t tab = text.find('\t', begin);
        const std::size_t end = tab == std::string_view::npos ? bytes : tab;
        const std::string_view word(line + begin, end - begin);
        line[end] = '\0';
        if (begin == 0)
            to.command = word;
        else if (const char* const why = add_value(word, to))
            return why;
        begin = end + 1;
    }
    return to.command.empty() ? "the request is empty" : nullptr;
}

bool parse_number(std::string_view text, std::uint64_t& number) noexcept {
    if (text.empty() || text.size() > 19)
        return false;
    number = 0;
    for (const char digit : text) {
        if (digit < '0' || digit > '9')
            return false;
        number = number * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    return true;
}

bool parse_flag(std::string_view text, bool& flag) noexcept {
    flag = text == "1";
    return flag || text == "0";
}

} // namespace umadvisor::control
