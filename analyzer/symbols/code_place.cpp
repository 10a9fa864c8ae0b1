#include "analyzer/symbols/code_place.hpp"

#include "analyzer/reader/shown_name.hpp"

#include <cstdio>
#include <fmt/core.h>

namespace umadvisor::symbols {

namespace {
/// No file system has longer names (NAME_MAX); a trace may.
constexpr std::size_t longest_file_name = 255;
} // namespace

std::string CodePlace::text() const {
    std::string place;
    if (!file.empty()) {
        place = fmt::format("{}:{}", reader::shown_name(file.name(), longest_file_name), line);
    } else if (!module.empty() || offset != 0) {
        char number[32];
        std::snprintf(number, sizeof number, "0x%llx", static_cast<unsigned long long>(offset));
        place = module.empty() ? std::string(number)
                               : reader::shown_name(module.name(), longest_file_name) + "+" + number;
    } else {
        return "unknown place";
    }
    if (function.empty())
        return place;
    return fmt::format("{} in {}{}", place, reader::shown_name(function.view()),
                       function.view().starts_with('<') && language == Language::python ? "" : "()");
}

} // namespace umadvisor::symbols
