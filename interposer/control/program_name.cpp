#include "interposer/control/program_name.hpp"

#include "interposer/base/small_file.hpp"
#include "interposer/base/text.hpp"

#include <cerrno>
#include <cstring>

namespace umadvisor::control {

namespace {

constinit base::SmallFile<4096> command_line{};
std::string_view name;

std::string_view without_folders(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : base::after(path, slash + 1);
}

std::string_view next_word(std::string_view& rest) {
    const std::size_t end = rest.find('\0');
    const std::string_view word = base::first(rest, end);
    rest = end == std::string_view::npos ? std::string_view() : base::after(rest, end + 1);
    return word;
}

/// Options of Python that take the next word.
bool takes_a_word(std::string_view option) {
    return option == "-W" || option == "-X" || option == "--check-hash-based-pycs";
}

} // namespace

std::string_view name_in(std::string_view rest) noexcept {
    const std::string_view file = without_folders(next_word(rest));
    if (!file.starts_with("python"))
        return file;
    while (!rest.empty()) {
        const std::string_view word = next_word(rest);
        if (word == "-m")
            return next_word(rest);
        if (word == "-c" || word == "-" || word.empty())
            break;
        if (!word.starts_with("-"))
            return without_folders(word);
        if (takes_a_word(word))
            next_word(rest);
    }
    return file;
}

void remember_program_name() noexcept {
    name = command_line.read("/proc/self/cmdline") ? name_in(command_line.view())
                                                   : std::string_view(program_invocation_short_name);
}

std::string_view program_name() noexcept {
    return name;
}

} // namespace umadvisor::control
