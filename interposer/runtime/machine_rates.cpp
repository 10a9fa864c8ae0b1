#include "interposer/runtime/machine_rates.hpp"

#include "interposer/base/pages.hpp"
#include "interposer/base/text.hpp"
#include "interposer/record/quiet.hpp"
#include "interposer/record/recorder.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace umadvisor::runtime {

namespace {

/// A device needs about 1,500 bytes.
constexpr std::size_t most_bytes = 128 * 1024;

char path[4200]; ///< empty: none

bool is_of(std::string_view object, std::string_view device) noexcept {
    constexpr std::string_view key = "\"device\": \"";
    const std::size_t at = object.find(key);
    if (object.find("\"umadvisor-machine-1\"") == std::string_view::npos || at == std::string_view::npos)
        return false;
    const std::string_view name = base::after(object, at + key.size());
    return name.starts_with(device) && base::after(name, device.size()).starts_with('"');
}

/// The bytes read; 0 where there is no such file.
std::size_t read_file(char* to) noexcept {
    // O_NONBLOCK: opening a FIFO without a writer must not block the program.
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return 0;
    struct stat status;
    std::size_t bytes = 0;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode))
        while (bytes < most_bytes) {
            const ssize_t got = ::read(file, to + bytes, most_bytes - bytes);
            if (got <= 0 && !(got < 0 && errno == EINTR))
                break;
            bytes += got > 0 ? static_cast<std::size_t>(got) : 0;
        }
    close(file);
    return bytes;
}

} // namespace

void remember_rates_file() noexcept {
    // The environment of a set-user-ID program cannot be trusted (secure_getenv(3)).
    const char* const config = secure_getenv("XDG_CONFIG_HOME");
    const char* const home = secure_getenv("HOME");
    int length = 0;
    if (config != nullptr && *config == '/')
        length = std::snprintf(path, sizeof path, "%s/umadvisor/machine.json", config);
    else if (home != nullptr && *home == '/')
        length = std::snprintf(path, sizeof path, "%s/.config/umadvisor/machine.json", home);
    if (length < 0 || length >= static_cast<int>(sizeof path))
        path[0] = '\0';
}

void define_machine_rates(std::string_view device) noexcept {
    const record::Quiet quiet;
    auto* const text = path[0] == '\0' ? nullptr : static_cast<char*>(base::map_pages(most_bytes));
    if (text == nullptr)
        return;
    trace::MachineRates record;
    record.rates = rates_of_device({text, read_file(text)}, device);
    if (!record.rates.empty() && record.rates.size() <= trace::max_text)
        record::define(record);
    base::unmap_pages(text, most_bytes);
}

std::string_view rates_of_device(std::string_view file, std::string_view device) noexcept {
    std::size_t begin = 0, depth = 0;
    bool quoted = false;
    for (std::size_t at = 0; at < file.size(); ++at) {
        const char c = file[at];
        if (c == '"')
            quoted = !quoted;
        else if (quoted)
            at += c == '\\' ? 1 : 0;
        else if (c == '{' && depth++ == 0)
            begin = at;
        else if (c == '}' && depth != 0 && --depth == 0) {
            const std::string_view object = base::first(base::after(file, begin), at + 1 - begin);
            if (is_of(object, device))
                return object;
        }
    }
    return {};
}

} // namespace umadvisor::runtime
