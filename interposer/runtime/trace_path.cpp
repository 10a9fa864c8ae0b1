#include "interposer/runtime/trace_path.hpp"

#include "interposer/record/process.hpp"
#include "interposer/runtime/options.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <unistd.h>

namespace umadvisor::runtime {

namespace {

/// Where the suffix of a file's name begins; its end without one.
std::size_t suffix_of(std::string_view name) {
    const std::size_t slash = name.rfind('/'), dot = name.rfind('.');
    return dot == std::string_view::npos || (slash != std::string_view::npos && dot < slash) ? name.size()
                                                                                             : dot;
}

} // namespace

bool trace_path(char* path, std::size_t bytes, int number) noexcept {
    const std::string_view given = options().output;
    if (!given.empty() && number == 1)
        return std::snprintf(path, bytes, "%s", given.data()) < static_cast<int>(bytes);
    const std::string_view rank = record::rank();
    const std::size_t suffix = suffix_of(given);
    const int programs = given.empty() ? number : number - 1; // that this process has been
    char process[32];
    std::snprintf(process, sizeof process, programs > 1 ? "%d-%d" : "%d", static_cast<int>(getpid()), programs);
    const int length =
        given.empty()
            ? std::snprintf(path, bytes, "%s.%.*s%s%s.umtrace", program_invocation_short_name,
                            static_cast<int>(rank.size()), rank.data(), rank.empty() ? "" : ".", process)
            : std::snprintf(path, bytes, "%.*s.%s%s", static_cast<int>(suffix), given.data(), process,
                            given.data() + suffix);
    return length < static_cast<int>(bytes);
}

} // namespace umadvisor::runtime
