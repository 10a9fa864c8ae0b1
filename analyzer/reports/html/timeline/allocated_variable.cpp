#include "analyzer/reports/html/timeline/allocated_variable.hpp"

#include <algorithm>

namespace umadvisor::html {
namespace {

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_part(char c) {
    return is_letter(c) || c == '.' || c == '>' || c == '-' || c == '[' || c == ']';
}

/// Where the arguments of a call of CUDA that allocates begin; npos: the line has none.
std::size_t arguments_of(std::string_view source) {
    for (std::size_t at = source.find("cu"); at != std::string_view::npos; at = source.find("cu", at + 1)) {
        if (at > 0 && is_letter(source[at - 1]))
            continue;
        std::size_t end = at;
        while (end < source.size() && is_letter(source[end]))
            ++end;
        const std::string_view name = source.substr(at, end - at);
        if (name.find("lloc") != std::string_view::npos && end < source.size() &&
            (source[end] == '(' || source[end] == '<'))
            return source.find('(', end);
    }
    return std::string_view::npos;
}

} // namespace

std::string allocated_variable(std::string_view source) {
    if (const std::size_t open = arguments_of(source); open != std::string_view::npos) {
        // The variable behind & in the first argument, without its cast. A name before the call is that of
        // another pointer.
        const std::string_view first = source.substr(open, source.find(',', open) - open);
        std::size_t begin = first.find('&');
        if (begin == std::string_view::npos)
            return {};
        std::size_t end = ++begin;
        while (end < first.size() && is_part(first[end]))
            ++end;
        return std::string(first.substr(begin, end - begin));
    }
    const std::size_t equals = source.find(" = ");
    if (equals == std::string_view::npos || equals == 0)
        return {};
    std::size_t begin = equals;
    while (begin > 0 && is_part(source[begin - 1]))
        --begin;
    return std::string(source.substr(begin, equals - begin));
}

} // namespace umadvisor::html
