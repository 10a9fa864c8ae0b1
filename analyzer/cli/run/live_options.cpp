#include "analyzer/cli/run/live_options.hpp"

#include "analyzer/cli/live/duration.hpp"
#include "trace/size_text.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fmt/core.h>
#include <iterator>

namespace umadvisor::cli {
namespace {

bool ends_with_digit(const std::string& text) {
    return !text.empty() && std::isdigit(static_cast<unsigned char>(text.back())) != 0;
}

bool is_ring(const std::string& text) {
    std::uint64_t bytes = 0;
    return text.ends_with('s')
               ? ends_with_digit(text.substr(0, text.size() - 1)) && parse_duration(text).has_value()
               : trace::parse_size(text, bytes) && bytes != 0;
}

bool is_whole(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

} // namespace

std::vector<OptionSpec> with_live_options(std::vector<OptionSpec> own) {
    const OptionSpec live[] = {
        {"--standby", "", "Record nothing until umadvisor attach asks for it"},
        {"--ring", "DURATION|SIZE", "Keep only the last part of the recording: 60s or 256MiB"},
        {"--when", "CONDITION",
         "Record while it holds, such as 'copy.h2d.bytes/s > 1GiB for 5s', and nothing before; with --ring, "
         "keep what led "
         "to "
         "it; repeatable",
         true},
        {"--when-duration", "SECONDS", "Length of each such recording; default: 30"},
        {"--when-limit", "N", "Such recordings in an hour at most; default: 6"},
        {"--control", "DIR|off",
         "Folder of the socket that umadvisor attach and top connect to, for containers that share it; off: "
         "none. "
         "Default: umadvisor in XDG_RUNTIME_DIR, or without that variable no folder"},
    };
    own.insert(own.end(), std::begin(live), std::end(live));
    return own;
}

std::string live_trouble(const Arguments& arguments) {
    const std::string ring = arguments.value("--ring"), duration = arguments.value("--when-duration"),
                      limit = arguments.value("--when-limit");
    if (arguments.has("--ring") && !is_ring(ring))
        return "--ring takes a duration such as 60s or a size such as 256MiB, not " + ring;
    if (arguments.has("--ring") && arguments.has("--standby"))
        return "--ring records from the start and --standby does not: give one of them";
    for (const std::string& condition : arguments.values("--when"))
        if (condition.find_first_not_of(' ') == std::string::npos)
            return "--when takes a condition such as 'copy.h2d.bytes/s > 1GiB for 5s'";
    for (const char* flag : {"--when-duration", "--when-limit"})
        if (arguments.has(flag) && !arguments.has("--when"))
            return fmt::format("{} goes with --when", flag);
    if (arguments.has("--when-duration") && !(ends_with_digit(duration) && parse_duration(duration)))
        return "--when-duration takes a number of seconds such as 30, not " + duration;
    if (arguments.has("--when-limit") && !is_whole(limit))
        return "--when-limit takes a number of recordings an hour, not " + limit;
    if (arguments.has("--control") && arguments.value("--control").empty())
        return "--control takes a folder, or off";
    return {};
}

void add_live_settings(Environment& environment, const Arguments& arguments) {
    if (arguments.has("--standby"))
        environment.emplace_back("UMADVISOR_MODE", "standby");
    // The program may change its working directory before it enters CUDA.
    if (const std::string folder = arguments.value("--control"); !folder.empty())
        environment.emplace_back(
            "UMADVISOR_CONTROL",
            folder == "off" ? "0" : std::filesystem::absolute(folder).lexically_normal().string());
    std::string when;
    for (const std::string& condition : arguments.values("--when"))
        when += (when.empty() ? "" : "; ") + condition;
    if (!when.empty())
        environment.emplace_back("UMADVISOR_WHEN", when);
    for (const auto& [flag, variable] : {std::pair{"--ring", "UMADVISOR_RING"},
                                         {"--when-duration", "UMADVISOR_WHEN_DURATION"},
                                         {"--when-limit", "UMADVISOR_WHEN_LIMIT"}})
        if (arguments.has(flag))
            environment.emplace_back(variable, arguments.value(flag));
}

} // namespace umadvisor::cli
