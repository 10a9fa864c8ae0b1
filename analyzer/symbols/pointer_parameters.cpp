#include "analyzer/symbols/pointer_parameters.hpp"

#include "analyzer/symbols/demangle.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace umadvisor::symbols {
namespace {

/// Types that hold no pointer. `long` has the size of one, but no kernel takes an address by it.
constexpr std::array<std::string_view, 19> numbers{"bool",
                                                   "char",
                                                   "double",
                                                   "float",
                                                   "int",
                                                   "long",
                                                   "long double",
                                                   "long long",
                                                   "short",
                                                   "signed char",
                                                   "unsigned char",
                                                   "unsigned int",
                                                   "unsigned long",
                                                   "unsigned long long",
                                                   "unsigned short",
                                                   "wchar_t",
                                                   "char16_t",
                                                   "char32_t",
                                                   "char8_t"};

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(' ');
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// What stands between the last parenthesis and the one that belongs to it; nothing: the text ends otherwise.
std::optional<std::string_view> parameter_list(std::string_view text) {
    if (!text.ends_with(')'))
        return std::nullopt;
    std::size_t open = 0;
    for (std::size_t at = text.size(); at-- != 0;) {
        open += text[at] == ')';
        if (text[at] == '(' && --open == 0)
            return text.substr(at + 1, text.size() - at - 2);
    }
    return std::nullopt;
}

std::vector<std::string_view> split(std::string_view list) {
    std::vector<std::string_view> types;
    std::size_t depth = 0, begin = 0;
    for (std::size_t at = 0; at < list.size(); ++at) {
        const char c = list[at];
        if (c == '<' || c == '(' || c == '[')
            ++depth;
        else if ((c == '>' || c == ')' || c == ']') && depth != 0)
            --depth;
        else if (c == ',' && depth == 0) {
            types.push_back(trimmed(list.substr(begin, at - begin)));
            begin = at + 1;
        }
    }
    types.push_back(trimmed(list.substr(begin)));
    return types;
}

/// A class that is known to hold one pointer: thrust::device_ptr<int>, std::span<float const,
/// 18446744073709551615ul>.
bool is_view(std::string_view type) {
    const std::size_t open = type.find('<');
    if (open == std::string_view::npos || !type.ends_with('>') || type.find('<', open + 1) != type.npos)
        return false;
    const std::string_view qualified = type.substr(0, open);
    const std::string_view name = qualified.substr(qualified.rfind(':') + 1);
    return name == "device_ptr" || name == "span" || name == "DevicePtr";
}

bool is_view_of_constants(std::string_view type) {
    const std::string_view element = type.substr(type.find('<') + 1);
    return element.substr(0, element.find_first_of(",>")).ends_with(" const");
}

/// The type without what holds for the pointer itself.
std::string_view without_restrict(std::string_view type) {
    for (const std::string_view word :
         {" __restrict__", " __restrict", " restrict", "__restrict__", "__restrict"})
        if (type.ends_with(word))
            return trimmed(type.substr(0, type.size() - word.size()));
    return type;
}

} // namespace

std::optional<std::vector<bool>> const_pointers(std::string_view symbol) {
    const std::string name = demangle(symbol);
    const auto list = parameter_list(name);
    if (!list || name == symbol)
        return std::nullopt;
    std::vector<bool> pointers;
    if (trimmed(*list).empty())
        return pointers;
    for (std::string_view type : split(*list)) {
        type = without_restrict(type);
        if (!type.ends_with('*')) {
            if (is_view(type))
                pointers.push_back(is_view_of_constants(type));
            else if (std::ranges::find(numbers, type) == numbers.end())
                return std::nullopt;
            continue;
        }
        const std::string_view pointee = trimmed(type.substr(0, type.size() - 1));
        if (pointee.find_first_of("*&(") != std::string_view::npos) // to pointers, and these to what they like
            return std::nullopt;
        pointers.push_back(pointee.ends_with(" const"));
    }
    return pointers;
}

} // namespace umadvisor::symbols
