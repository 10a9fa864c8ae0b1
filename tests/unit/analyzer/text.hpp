/// What tests ask of texts.
#pragma once

#include <boost/test/tools/assertion_result.hpp>
#include <string_view>

namespace umadvisor::test {

/// Where it does not, the text is told.
inline boost::test_tools::assertion_result contains(std::string_view text, std::string_view part) {
    boost::test_tools::assertion_result result(text.find(part) != text.npos);
    if (!result)
        result.message() << '"' << part << "\" is not in: " << text;
    return result;
}

/// As !contains(), and where it does not hold, the text is told, too.
inline boost::test_tools::assertion_result lacks(std::string_view text, std::string_view part) {
    boost::test_tools::assertion_result result(text.find(part) == text.npos);
    if (!result)
        result.message() << '"' << part << "\" is in: " << text;
    return result;
}

/// How often `text` says `part`.
inline std::size_t times(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

} // namespace umadvisor::test
