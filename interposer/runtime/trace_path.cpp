#include "interposer/runtime/trace_path.hpp"

#include "interposer/record/process.hpp"
#include "interposer/runtime/options.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <unistd.h>

namespace umadvisor::runtime {

bool trace_path(char* path, std::size_t bytes) noexcept {
    const char* const given = options().output;
    if (*given != '\0')
        return std::snprintf(path, bytes, "%s", given) < static_cast<int>(bytes);
    const std::string_view number = record::rank();
    return std::snprintf(path, bytes, "%s.%.*s%s%d.umtrace", program_invocation_short_name,
                         static_cast<int>(number.size()), number.data(), number.empty() ? "" : ".",
                         static_cast<int>(getpid())) < static_cast<int>(bytes);
}

bool trace_path_with_pid(char* path, std::size_t bytes) noexcept {
    const std::string_view given = options().output;
    const std::size_t slash = given.rfind('/');
    std::size_t dot = given.rfind('.');
    if (dot == std::string_view::npos || (slash != std::string_view::npos && dot < slash))
        dot = given.size();
    return std::snprintf(path, bytes, "%.*s.%d%.*s", static_cast<int>(dot), given.data(),
                         static_cast<int>(getpid()), static_cast<int>(given.size() - dot),
                         given.data() + dot) < static_cast<int>(bytes);
}

} // namespace umadvisor::runtime
