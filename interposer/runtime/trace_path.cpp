#include "interposer/runtime/trace_path.hpp"

#include "interposer/base/text.hpp"
#include "interposer/runtime/options.hpp"
#include "trace/rank.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <unistd.h>

namespace umadvisor::runtime {

bool trace_path(char* path, std::size_t bytes, int number) noexcept {
    const std::string_view given = options().output;
    const std::string_view rank = trace::launch_rank();
    const int programs = given.empty() ? number : number - 1; // that this process has been
    char process[32] = "";
    if (programs > 0)
        std::snprintf(process, sizeof process, programs > 1 ? ".%d-%d" : ".%d", static_cast<int>(getpid()),
                      programs);
    const bool ranked = given.empty() ? !rank.empty() : trace::needs_rank(given, rank);
    const std::string_view begin = given.empty() ? std::string_view(program_invocation_short_name)
                                                 : base::first(given, trace::suffix_of(given));
    const std::string_view end = given.empty() ? ".umtrace" : base::after(given, trace::suffix_of(given));
    const int length =
        std::snprintf(path, bytes, "%.*s%s%.*s%s%.*s", static_cast<int>(begin.size()), begin.data(),
                      ranked ? "." : "", ranked ? static_cast<int>(rank.size()) : 0, rank.data(), process,
                      static_cast<int>(end.size()), end.data());
    return length < static_cast<int>(bytes);
}

} // namespace umadvisor::runtime
