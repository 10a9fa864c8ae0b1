#include "analyzer/cli/terminal/terminal.hpp"

#include "analyzer/cli/message.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>

namespace umadvisor::cli {
namespace {

std::string_view environment(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string_view() : value;
}

/// What COLUMNS says, else the terminal; 0: any.
std::size_t width_of_output() {
    const std::string_view wanted = environment("COLUMNS");
    std::size_t width = 0;
    if (const auto [end, failed] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), width);
        failed == std::errc() && end == wanted.data() + wanted.size())
        return width;
    winsize size{};
    return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

} // namespace

std::vector<OptionSpec> with_terminal_option(std::vector<OptionSpec> own) {
    own.push_back(
        {"--color", "auto|always|never",
         "Colour in the text; default: auto (on a terminal, unless NO_COLOR is set or TERM is dumb)"});
    return own;
}

std::optional<text::Terminal> terminal(const Arguments& arguments) {
    const std::string when = arguments.has("--color") ? arguments.value("--color") : "auto";
    if (when != "auto" && when != "always" && when != "never") {
        say("--color takes auto, always or never, not " + when);
        return std::nullopt;
    }
    const bool shown = ::isatty(STDOUT_FILENO) != 0;
    const bool welcome = environment("NO_COLOR").empty() && environment("TERM") != "dumb";
    text::Terminal terminal;
    terminal.colour = when == "always" || (when == "auto" && shown && welcome);
    if (shown || when == "always") // a pager's is the terminal's
        terminal.width = width_of_output();
    return terminal;
}

} // namespace umadvisor::cli
