#include "analyzer/text/figures.hpp"

#include <cmath>
#include <cstdio>

namespace umadvisor::text {
namespace {

/// Three significant digits, without an exponent and without trailing zeros after the point.
std::string number(double value) {
    char text[64];
    const int decimals = value >= 100 ? 0 : value >= 10 ? 1 : 2;
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
    std::string result = text;
    if (result.find('.') != std::string::npos) {
        result.erase(result.find_last_not_of('0') + 1);
        if (result.back() == '.')
            result.pop_back();
    }
    return result;
}

} // namespace

std::string bytes_text(double bytes) {
    constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    std::size_t unit = 0;
    if (bytes < 1024)
        bytes = std::round(bytes);
    while (bytes >= 1024 && unit + 1 < std::size(units)) {
        bytes /= 1024;
        ++unit;
    }
    return number(bytes) + " " + units[unit];
}

std::string time_text(double nanoseconds) {
    const double size = std::fabs(nanoseconds);
    if (size >= 1e9)
        return number(nanoseconds / 1e9) + " s";
    if (size >= 1e6)
        return number(nanoseconds / 1e6) + " ms";
    if (size >= 1e3)
        return number(nanoseconds / 1e3) + " us";
    return number(nanoseconds) + " ns";
}

std::string percent_text(double share) {
    return number(std::round(share * 1000) / 10) + "%";
}

std::string rate_text(double bytes_per_second) {
    return number(bytes_per_second / 1e9) + " GB/s";
}

std::string saving_sentence(double nanoseconds, std::uint64_t bytes) {
    std::string text = std::string(saving_lead(nanoseconds, bytes)) + saving_text(nanoseconds, bytes);
    text.front() = static_cast<char>(text.front() - ('a' - 'A'));
    return text;
}

std::string_view saving_lead(double nanoseconds, std::uint64_t bytes) {
    return nanoseconds == 0 && bytes == 0 ? "" : "saves about ";
}

std::string saving_text(double nanoseconds, std::uint64_t bytes, double whole_ns) {
    if (nanoseconds == 0 && bytes == 0)
        return "fixes an error";
    const std::string memory = bytes == 0 ? "" : bytes_text(bytes) + " of memory";
    if (nanoseconds == 0 && bytes != 0)
        return memory;
    return time_text(nanoseconds) + (whole_ns > 0 ? " of " + time_text(whole_ns) : "") +
           (memory.empty() ? "" : " and " + memory);
}

std::string open_saving_text(double least_ns, double most_ns) {
    constexpr double widest = 3;
    if (least_ns <= 0)
        return "up to " + time_text(most_ns);
    if (most_ns > widest * least_ns)
        return "at least " + time_text(least_ns);
    return time_text(least_ns) + " to " + time_text(most_ns);
}

std::string count_text(std::uint64_t count, std::string_view noun) {
    std::string text = fmt::format("{} ", count);
    if (count != 1 && noun.ends_with("ch"))
        return text.append(noun).append("es");
    if (count != 1 && noun.ends_with('y'))
        return text.append(noun.substr(0, noun.size() - 1)).append("ies");
    return text.append(noun).append(count == 1 ? "" : "s");
}

} // namespace umadvisor::text
