#include "analyzer/cli/live/duration.hpp"

#include <charconv>
#include <string_view>
#include <utility>

namespace umadvisor::cli {

std::optional<std::uint64_t> parse_duration(const std::string& text) {
    constexpr std::pair<std::string_view, double> units[] = {{"", 1e9},   {"s", 1e9},    {"ms", 1e6},
                                                             {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
    constexpr double longest = 366 * 24 * 3600e9;
    double number = 0;
    const auto [end, failed] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    const std::string_view given(end, static_cast<std::size_t>(text.data() + text.size() - end));
    for (const auto& [unit, ns] : units)
        if (failed == std::errc() && given == unit && number * ns >= 1 && number * ns <= longest)
            return static_cast<std::uint64_t>(number * ns);
    return std::nullopt;
}

} // namespace umadvisor::cli
