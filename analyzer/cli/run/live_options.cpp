#include "analyzer/cli/run/live_options.hpp"

#include "analyzer/cli/live/duration.hpp"
#include "policy/trigger.hpp"
#include "trace/size_text.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fmt/core.h>
#include <iterator>
#include <optional>

namespace umadvisor::cli {
namespace {

bool ends_with_digit(const std::string& text) {
    return !text.empty() && std::isdigit(static_cast<unsigned char>(text.back())) != 0;
}

bool is_whole(const std::string& text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

std::optional<std::uint64_t> parse_seconds(const std::string& text) {
    return ends_with_digit(text) ? parse_duration(text) : std::nullopt;
}

/// Without the unit, which must be s; nothing for anything else.
std::optional<std::uint64_t> parse_ring_duration(const std::string& text) {
    return text.ends_with('s') ? parse_seconds(text.substr(0, text.size() - 1)) : std::nullopt;
}

std::string ring_trouble(const std::string& text) {
    constexpr std::uint64_t least_bytes = 4 << 20;
    if (parse_ring_duration(text))
        return {};
    std::uint64_t bytes = 0;
    if (is_whole(text))
        return fmt::format("--ring {0} has no unit: {0}s or {0}MiB", text);
    if (!trace::parse_size(text, bytes))
        return "--ring takes a duration such as 60s or a size such as 256MiB, not " + text;
    return bytes < least_bytes ? "--ring takes at least 4MiB, not " + text : std::string();
}

std::string condition_trouble(const std::string& conditions) {
    policy::Trigger read;
    policy::Misread misread;
    if (policy::parse(conditions, read, misread))
        return {};
    return fmt::format("--when: {} {}", misread.part, misread.why);
}

/// All of --when, as UMADVISOR_WHEN has them.
std::string joined_conditions(const Arguments& arguments) {
    std::string when;
    for (const std::string& condition : arguments.values("--when"))
        when += (when.empty() ? "" : "; ") + condition;
    return when;
}

/// As the shim reads them.
std::string seconds_text(std::uint64_t ns) {
    return fmt::format("{}.{:09}", ns / 1'000'000'000, ns % 1'000'000'000);
}

} // namespace

std::vector<OptionSpec> with_live_options(std::vector<OptionSpec> own) {
    const OptionSpec live[] = {
        {"--standby", "", "Record nothing until umadvisor attach asks for it"},
        {"--ring", "DURATION|SIZE", "Keep only the last part of the recording: 60s or 256MiB, at least 4MiB"},
        {"--when", "CONDITION",
         "Record for --when-duration once it holds, such as 'copy.h2d.bytes/s > 1GiB for 5s', and nothing "
         "before; with --ring, write what led to it; repeatable. docs/settings.md lists the metrics",
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
    if (arguments.has("--ring"))
        if (const std::string trouble = ring_trouble(ring); !trouble.empty())
            return trouble;
    if (arguments.has("--ring") && arguments.has("--standby"))
        return "--ring records from the start and --standby does not: give one of them";
    for (const std::string& condition : arguments.values("--when"))
        if (condition.find_first_not_of(' ') == std::string::npos)
            return "--when takes a condition such as 'copy.h2d.bytes/s > 1GiB for 5s'";
    if (const std::string trouble = condition_trouble(joined_conditions(arguments)); !trouble.empty())
        return trouble;
    for (const char* flag : {"--when-duration", "--when-limit"})
        if (arguments.has(flag) && !arguments.has("--when"))
            return fmt::format("{} goes with --when", flag);
    if (arguments.has("--when-duration") && !parse_seconds(duration))
        return "--when-duration takes a number of seconds such as 30, not " + duration;
    if (arguments.has("--when-limit") && (!is_whole(limit) || limit.size() > 9))
        return "--when-limit takes a number of recordings an hour, not " + limit;
    if (arguments.has("--control") && arguments.value("--control").empty())
        return "--control takes a folder, or off";
    return {};
}

bool records_on_request(const Arguments& arguments) {
    const auto given = [](const char* variable) {
        const char* const text = std::getenv(variable);
        return std::string(text != nullptr ? text : "");
    };
    if (arguments.has("--ring") || !given("UMADVISOR_RING").empty())
        return false;
    return arguments.has("--standby") || arguments.has("--when") || given("UMADVISOR_MODE") == "standby" ||
           !given("UMADVISOR_WHEN").empty();
}

void add_live_settings(Environment& environment, const Arguments& arguments) {
    if (arguments.has("--standby"))
        environment.emplace_back("UMADVISOR_MODE", "standby");
    // The program may change its working directory before it enters CUDA.
    if (const std::string folder = arguments.value("--control"); !folder.empty())
        environment.emplace_back(
            "UMADVISOR_CONTROL",
            folder == "off" ? "0" : std::filesystem::absolute(folder).lexically_normal().string());
    if (const std::string when = joined_conditions(arguments); !when.empty())
        environment.emplace_back("UMADVISOR_WHEN", when);
    const std::string ring = arguments.value("--ring");
    if (const auto length = parse_ring_duration(ring))
        environment.emplace_back("UMADVISOR_RING", seconds_text(*length) + "s");
    else if (!ring.empty())
        environment.emplace_back("UMADVISOR_RING", ring);
    if (const auto length = parse_seconds(arguments.value("--when-duration")))
        environment.emplace_back("UMADVISOR_WHEN_DURATION", seconds_text(*length));
    if (arguments.has("--when-limit"))
        environment.emplace_back("UMADVISOR_WHEN_LIMIT", arguments.value("--when-limit"));
}

} // namespace umadvisor::cli
